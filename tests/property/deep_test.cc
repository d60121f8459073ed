// Programs that nest ten thousand deep in every form, and chains of a hundred thousand: each goes
// the whole way, from the module through its text, the type check, the interpreter and the passes,
// on an ordinary stack.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>

#include "aot/emit.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/ops.h"
#include "passes/runner.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

constexpr int kDeep = 10'000, kLong = 100'000;

// One program for each place where an expression can stand in another one.
struct Nest {
  const char* name;
  Expr (*start)(Builder& b, Module& m);
  Expr (*wrap)(Builder& b, Module& m, Expr e);
  int times = kDeep;
  bool has_code = true;  // ahead of time, at -O0; else that ends with a limit (aot/limits.h)
};

const Constructor& constructor(Module& m, std::string_view name) {
  if (const Constructor* known = m.constructor(name)) return *known;
  Context& c = m.context();
  std::vector<const Constructor*> ctors;
  for (const char* ctor : {"Zero", "Succ"}) {
    std::vector<Type> fields;
    if (!ctors.empty()) fields.push_back(c.data_type("Nat", {}));
    ctors.push_back(c.arena().make<Constructor>(Constructor{
        c.symbol(ctor), c.symbol("Nat"), static_cast<uint32_t>(ctors.size()), c.arena().list(fields), {}}));
  }
  m.set_data_type(c.arena().make<DataTypeDef>(DataTypeDef{c.symbol("Nat"), {}, c.arena().list(ctors)}));
  return constructor(m, name);
}

Expr one(Builder& b) { return b.scalar(kFloat32, 1); }
Expr truth(Builder& b) { return b.scalar(kBool, 1); }
Expr number(Builder& b, Module&) { return one(b); }
Expr condition(Builder& b, Module&) { return truth(b); }
Expr cell(Builder& b, Module&) { return b.ref_new(one(b)); }
Expr function(Builder& b, Module&) { return b.fn({}, one(b)); }
Expr zero(Builder& b, Module& m) { return b.call(b.ctor(constructor(m, "Zero")), {}); }

Expr in_operator(Builder& b, Module&, Expr e) { return b.call(b.op(op::kMaximum), {e, one(b)}); }
Expr in_second_operand(Builder& b, Module&, Expr e) { return b.call(b.op(op::kMaximum), {one(b), e}); }
Expr in_argument(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.call(b.fn(std::vector<const Var*>{x}, x), {e});
}
Expr in_callee(Builder& b, Module&, Expr e) { return b.fn({}, b.call(e, {})); }
Expr in_curried_callee(Builder& b, Module&, Expr e) { return b.call(b.fn({}, e), {}); }
Expr in_field(Builder& b, Module& m, Expr e) { return b.call(b.ctor(constructor(m, "Succ")), {e}); }
Expr in_tuple(Builder& b, Module&, Expr e) { return b.tuple({e}); }
Expr in_shared_tuple(Builder& b, Module&, Expr e) { return b.proj(b.tuple({e, e}), 1); }  // 2^depth paths
Expr in_function(Builder& b, Module&, Expr e) { return b.fn({}, e); }
Expr in_let_value(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, e, x);
}
Expr in_let_body(Builder& b, Module&, Expr e) { return b.let(b.var("x"), one(b), e); }
Expr in_let_function(Builder& b, Module&, Expr e) {
  const Var* f = b.var("f");
  return b.let(f, b.fn({}, e), b.call(f, {}));
}
Expr in_condition(Builder& b, Module&, Expr e) { return b.if_(e, truth(b), b.scalar(kBool, 0)); }
Expr in_then(Builder& b, Module&, Expr e) { return b.if_(truth(b), e, one(b)); }
Expr in_else(Builder& b, Module&, Expr e) { return b.if_(b.scalar(kBool, 0), one(b), e); }
Expr in_matched(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.match(b.tuple({e}), std::vector<Arm>{{b.tuple_pattern(std::vector<Pattern>{b.bind(x)}), x}}, true);
}
Expr in_arm(Builder& b, Module&, Expr e) {
  return b.match(one(b), std::vector<Arm>{{b.wildcard(), e}}, true);
}
Expr in_cell(Builder& b, Module&, Expr e) { return b.ref_new(e); }
Expr in_read(Builder& b, Module&, Expr e) { return b.ref_read(b.ref_new(e)); }
Expr in_written_cell(Builder& b, Module&, Expr e) { return b.proj(b.tuple({b.ref_write(e, one(b)), e}), 1); }
Expr in_written_value(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, b.ref_new(one(b)), b.proj(b.tuple({b.ref_write(x, e), b.ref_read(x)}), 1));
}

class Deep : public testing::TestWithParam<Nest> {
 protected:
  static Module make() {
    Module m;
    Builder b(m.context());
    Expr e = GetParam().start(b, m);
    for (int i = 0; i < GetParam().times; ++i) e = GetParam().wrap(b, m, e);
    m.set_function("main", b.fn({}, e));
    return m;
  }
};

// What the program gives, its layers taken off: all of them end in the number 1, True, a
// function or Zero.
std::string inside(Value v) {
  while (!v.is_tensor() && v.kind() != ValueKind::kClosure) {
    if (v.kind() == ValueKind::kCell) {
      v = Value(v.contents());
    } else if (v.fields().empty()) {
      return "Zero";
    } else {
      v = Value(v.fields()[v.fields().size() - 1]);
    }
  }
  return v.is_tensor() ? (v.tensor().get(0) == 1 ? "1" : "another number") : "function";
}

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

  std::vector<std::string> pipelines;
  for (const passes::Pass* pass : passes::all_passes()) pipelines.emplace_back(pass->name);
  pipelines.push_back(passes::default_pipeline(2));
  for (const std::string& pipeline : pipelines) {
    passes::RunnerOptions runner;
    runner.verify = passes::Verify::kTypes;
    const Result<Module> passed = passes::run_pipeline(*typed, pipeline, runner, diagnostics);
    ASSERT_TRUE(passed) << pipeline << ": " << diagnostics.render(m.context().sources()).substr(0, 2000);
    if (!passed->same(*typed)) {
      EXPECT_EQ(inside(run(*passed)), expected) << "after " << pipeline;
    }
  }
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

// At -O2 most branches are decided before.
TEST_P(Deep, HasCodeAheadOfTimeOrALimit) {
  std::string wrong;
  const Result<Module> typed = checked(make(), wrong);
  ASSERT_TRUE(typed) << wrong.substr(0, 2000);
  for (const int level : {0, 2}) {
    Diagnostics diagnostics;
    const Result<Module> lowered =
        passes::run_pipeline(*typed, passes::default_pipeline(level), {}, diagnostics);
    ASSERT_TRUE(lowered) << diagnostics.render(typed->context().sources()).substr(0, 2000);
    const Result<aot::Program> program = aot::make_program(*lowered, "main", diagnostics);
    if (level == 0) {
      EXPECT_EQ(program.ok(), GetParam().has_code)
          << diagnostics.render(typed->context().sources()).substr(0, 2000);
    }
    if (!program) {
      const std::string_view slug = diagnostics.all().front().slug().name();
      // Functions and cells are no results of artifacts.
      EXPECT_TRUE(slug == "nesting-too-deep" || slug == "function-too-large" || slug == "not-ahead-of-time")
          << slug;
      continue;
    }
    aot::Variant variant{&*program, {}};
    ASSERT_EQ(kernel::native::parse_target("sse2", variant.target), "");
    EXPECT_FALSE(aot::emit(variant, {}).files.empty());
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
    m.set_function(i == 0 ? "main" : cat("f", i),
                   b.fn(std::vector<const Var*>{x}, b.call(b.op(op::kAdd), {next, one(b)}), scalar));
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

INSTANTIATE_TEST_SUITE_P(
    Forms, Deep,
    testing::Values(Nest{"operand", number, in_operator}, Nest{"second_operand", number, in_second_operand},
                    Nest{"argument", number, in_argument}, Nest{"callee", function, in_callee, kDeep, false},
                    Nest{"curried_callee", number, in_curried_callee}, Nest{"field", zero, in_field},
                    Nest{"tuple", number, in_tuple}, Nest{"shared_tuple", number, in_shared_tuple},
                    Nest{"function", number, in_function, kDeep, false},
                    Nest{"let_value", number, in_let_value}, Nest{"let_body", number, in_let_body},
                    Nest{"let_function", number, in_let_function},
                    Nest{"condition", condition, in_condition, kDeep, false},
                    Nest{"then_branch", number, in_then, kDeep, false},
                    Nest{"else_branch", number, in_else, kDeep, false},
                    Nest{"matched", number, in_matched, kDeep, false},
                    Nest{"arm", number, in_arm, kDeep, false}, Nest{"cell", number, in_cell, kDeep, false},
                    Nest{"read", number, in_read}, Nest{"written_cell", cell, in_written_cell, kDeep, false},
                    Nest{"written_value", number, in_written_value, kDeep, false},
                    Nest{"long_chain_of_operators", number, in_operator, kLong},
                    Nest{"long_chain_of_lets", number, in_let_body, kLong},
                    Nest{"long_chain_of_shared_tuples", number, in_shared_tuple, kLong}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::property
