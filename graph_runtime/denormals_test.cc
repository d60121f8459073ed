// The executor and denormals: kernels flush them on every thread, observers see the caller's
// control word, and so does who comes after a run.
#include <gtest/gtest.h>

#include "graph_runtime/executor.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::graph_runtime {
namespace {

constexpr double kTiny = 0x1p-140;

std::unique_ptr<Executor> executor_of(std::string_view text, Denormals denormals, unsigned threads) {
  Diagnostics diagnostics;
  const Result<Module> parsed = parse("test", std::string(text), diagnostics, op::operators(), {});
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, passes::default_pipeline(2), {}, diagnostics)
             : Result<Module>(kReported);
  Result<passes::Plan> plan =
      lowered ? passes::plan_memory(*lowered, "main", diagnostics) : Result<passes::Plan>(kReported);
  EXPECT_TRUE(plan.ok()) << diagnostics.render({});
  ProgramOptions options;
  options.compile.target = target::baseline(target::kHere);
  options.denormals = denormals;
  const auto program = Program::create(std::move(*plan), lowered->shared_context(), options, diagnostics);
  EXPECT_TRUE(program.ok()) << diagnostics.render({});
  return std::make_unique<Executor>(*program, threads);
}

Tensor filled(double value) {
  Tensor t(kFloat32, {64, 4096});
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, value);
  return t;
}

TEST(ExecutorDenormals, AreFlushedOnEveryThreadUnlessKept) {
  for (const unsigned threads : {1u, 3u}) {
    for (const Denormals said : {Denormals::kFlush, Denormals::kKeep}) {
      const auto e = executor_of("def @main(%x: Tensor[(64, 4096), float32]) { add(%x, %x) }", said, threads);
      const Tensor out = e->run(std::vector<Tensor>{filled(kTiny)})[0];
      const double want = said == Denormals::kFlush ? 0 : 2 * kTiny;
      for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.get(i), want) << threads << " threads, " << i;
    }
  }
}

TEST(ExecutorDenormals, TheControlWordIsTheCallersAgain) {
  const auto e =
      executor_of("def @main(%x: Tensor[(64, 4096), int32]) { divide(6, %x) }", Denormals::kFlush, 3);
  const uint64_t before = control_word();
  uint64_t seen = ~uint64_t{0};
  e->set_observer([&](const passes::PlanStep&, std::span<const Tensor>, std::span<const Tensor>, double) {
    seen = control_word();
  });
  Tensor x(kInt32, {64, 4096});
  EXPECT_THROW(e->run(std::vector<Tensor>{x}), Trap);
  EXPECT_EQ(control_word(), before) << "after a trap";
  for (int64_t i = 0; i < x.size(); ++i) x.set_int(i, 2);
  EXPECT_EQ(e->run(std::vector<Tensor>{x})[0].get_int(0), 3);
  EXPECT_EQ(control_word(), before);
  EXPECT_EQ(seen, before);
}

}  // namespace
}  // namespace relay::graph_runtime
