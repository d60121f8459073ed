// Deep and long programs (nests.h) go the whole way, from the module through its text, the type
// check, the interpreter and the passes, on an ordinary stack. deep_engines_test.cc runs them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>

#include "base/cat.h"
#include "driver/emitted.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/ops.h"
#include "passes/runner.h"
#include "tests/property/nests.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

class Deep : public testing::TestWithParam<Nest> {
 protected:
  static Module make() { return program_of(GetParam(), GetParam().times); }
};

Value run(const Module& m) { return interp::Machine(m).call("main", {}); }

// Memory is linear in the program; these need a tenth of this, and quadratic would be more
// than twice as much.
constexpr long kMostKilobytes = 2L << 20;

long peak_kilobytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

TEST_P(Deep, GoesTheWholeWay) {
  const Module m = make();
  const std::string text = text_of(m);
  Diagnostics diagnostics;
  ParseOptions options;
  options.max_nesting = 40 * kDeep;
  const Result<Module> read = parse("printed.relay", text, diagnostics, op::operators(), options);
  ASSERT_TRUE(read) << diagnostics.render(options.into.context().sources()).substr(0, 2000);
  EXPECT_TRUE(alpha_equal(m, *read));
  EXPECT_TRUE(text_of(*read) == text);

  std::string wrong;
  const Result<Module> typed = checked(*read, wrong);
  ASSERT_TRUE(typed) << wrong.substr(0, 2000);
  const Value value = run(*typed);
  const std::string expected = inside(value);
  EXPECT_NE(expected, "another number");
  EXPECT_FALSE(interp::show(value).empty());

  std::vector<passes::Pipeline> pipelines;
  for (const passes::Pass* pass : passes::all_passes()) {
    // What they make means something else (passes/gradient_test.cc has deep programs of its own).
    if (pass != &passes::kGradient && pass != &passes::kForwardGradient)
      pipelines.push_back({passes::step(*pass)});
  }
  for (const int level : {2, 3}) pipelines.push_back(passes::default_pipeline(level));
  for (const passes::Pipeline& pipeline : pipelines) {
    passes::RunnerOptions runner;
    runner.verify = passes::Verify::kTypes;
    const Result<Module> passed = passes::run_pipeline(*typed, pipeline, runner, diagnostics);
    ASSERT_TRUE(passed) << passes::show(pipeline) << ": "
                        << diagnostics.render(typed->context().sources()).substr(0, 2000);
    if (!passed->same(*typed)) {
      EXPECT_EQ(inside(run(*passed)), expected) << "after " << passes::show(pipeline);
    }
  }
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

// At -O2 most branches are decided before. CUDA is of a tenth of the length: C++ and CUDA have one
// printer, which takes half a minute for ten thousand closures in each other.
TEST_P(Deep, HasCodeAheadOfTimeOrALimit) {
  std::string wrong;
  const Result<Module> whole = checked(make(), wrong),
                       part = checked(program_of(GetParam(), GetParam().times / 10), wrong);
  ASSERT_TRUE(whole && part) << wrong.substr(0, 2000);
  struct Way {
    const Module& typed;
    driver::Emitted (*emit)(const Module& m, std::string_view function, const driver::Options& options);
    const char* target;
    int level;
  };
  for (const Way& way :
       {Way{*whole, driver::emit_aot, "sse2", 0}, Way{*whole, driver::emit_aot, "sse2", 2},
        Way{*whole, driver::emit_aot, "sse2", 3}, Way{*part, driver::emit_aot_cuda, "cuda:sm_90", 0}}) {
    driver::Options options;
    options.opt_level = way.level;
    options.target = target::target_of(way.target);
    const driver::Emitted emitted = way.emit(way.typed, "main", options);
    // What is shorter may be within the limits.
    if (way.level == 0 && (&way.typed == &*whole || GetParam().has_code)) {
      EXPECT_EQ(emitted.program.has_value(), GetParam().has_code)
          << way.target << ": " << emitted.refusal.render(way.typed.context().sources()).substr(0, 2000);
    }
    if (emitted.program) {
      EXPECT_FALSE(emitted.sources.files.empty()) << way.target;
      continue;
    }
    ASSERT_FALSE(emitted.refusal.all().empty()) << way.target << ": " << emitted.skipped;
    const std::string_view slug = emitted.refusal.all().front().slug().name();
    // Functions and cells are no results of artifacts.
    EXPECT_TRUE(slug == "nesting-too-deep" || slug == "function-too-large" || slug == "not-ahead-of-time")
        << way.target << ": " << slug;
  }
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

// Each function calls the next one, so that all of them become one.
TEST(Long, ChainOfFunctions) {
  Module m;
  Builder b(m.context());
  const Type scalar = m.context().scalar_type(kFloat32);
  for (int i = 0; i < kDeep; ++i) {
    const Var* x = b.var("x", scalar);
    const Expr next = i + 1 < kDeep ? b.call(b.global(cat("f", i + 1)), {x}) : Expr(x);
    m.set_function(
        i == 0 ? "main" : cat("f", i),
        b.fn(std::vector<const Var*>{x}, b.call(b.op(op::kAdd), {next, b.scalar(kFloat32, 1)}), scalar));
  }
  std::string wrong;
  const Result<Module> typed = checked(m, wrong);
  ASSERT_TRUE(typed) << wrong.substr(0, 2000);
  Diagnostics diagnostics;
  const std::clock_t start = std::clock();
  const Result<Module> passed = passes::run_pipeline(*typed, passes::default_pipeline(2), {}, diagnostics);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(passed) << diagnostics.render(m.context().sources()).substr(0, 2000);
  EXPECT_LT(seconds, 10);  // a tenth of it is needed; quadratic time would be minutes
  EXPECT_EQ(passed->functions().size(), 1u);
  const Value x = Value(Tensor::scalar(kFloat32, 1));
  EXPECT_EQ(interp::Machine(*passed).call("main", {x}).tensor().get(0), kDeep + 1);
}

// Products, normalisations and element-wise work in turn: a hundred thousand of them, of which
// kernels are made.
TEST(Long, NetworkThroughTheLevels) {
  Module m;
  Builder b(m.context());
  const Type matrix = m.context().tensor_type(std::vector<Dim>{Dim(4), Dim(4)}, kFloat32);
  const Var *x = b.var("x", matrix), *w = b.var("w", matrix);
  Expr e = x;
  for (int i = 0; i < kLong / 5; ++i) {
    e = b.call(b.op(op::kRelu), {b.call(b.op(op::kDense), {e, w})});
    e = b.call(b.op(op::kSoftmax), {b.call(b.op(op::kAdd), {e, x})});
    e = b.call(b.op(op::kTranspose), {e});
  }
  m.set_function("main", b.fn(std::vector<const Var*>{x, w}, e, matrix));
  std::string wrong;
  const Result<Module> typed = checked(m, wrong);
  ASSERT_TRUE(typed) << wrong.substr(0, 2000);
  for (const int level : {1, 2, 3}) {
    Diagnostics diagnostics;
    const std::clock_t start = std::clock();
    const Result<Module> passed =
        passes::run_pipeline(*typed, passes::default_pipeline(level), {}, diagnostics);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ASSERT_TRUE(passed) << diagnostics.render(m.context().sources()).substr(0, 2000);
    EXPECT_LT(seconds, 10) << level;  // a fifth of it is needed; quadratic time would be minutes
    EXPECT_FALSE(passed->kernels().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Deep, testing::ValuesIn(nests()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::property
