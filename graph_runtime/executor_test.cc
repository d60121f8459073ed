// The executor by itself; that it computes what programs mean is shown by tests/exec.
#include "graph_runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "runtime/compare.h"

namespace relay::graph_runtime {
namespace {

using kernel::native::parse_target;

std::unique_ptr<Executor> executor_of(std::string_view program, unsigned threads = 1) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed = parse("test", std::string(program), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, passes::default_pipeline(2), {}, diagnostics)
             : Result<Module>(kReported);
  Result<passes::Plan> plan =
      lowered ? passes::plan_memory(*lowered, "main", diagnostics) : Result<passes::Plan>(kReported);
  EXPECT_TRUE(plan.ok()) << diagnostics.render(parsing.into.context().sources());
  if (!plan) return nullptr;
  ExecutorOptions options;
  options.threads = threads;
  EXPECT_EQ(parse_target("sse2", options.compile.target), "");
  auto made = Executor::create(std::move(*plan), lowered->shared_context(), options, diagnostics);
  EXPECT_TRUE(made.ok()) << diagnostics.render({});
  return made ? std::move(*made) : nullptr;
}

std::vector<Tensor> run(Executor& e, const std::vector<Tensor>& inputs) { return e.run(inputs); }

Tensor counting(const Shape& shape, DType dtype = kFloat32) {
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i % 17) / 4 - 2);
  return t;
}

// The message of the trap that `f` ends in, or "none".
template <class F>
std::string trap_of(F&& f) {
  try {
    f();
  } catch (const Trap& trap) {
    return trap.what();
  }
  return "none";
}

constexpr std::string_view kSoftmaxes = R"(
def @main(%x: Tensor[(64, 128), float32]) {
  (nn.softmax(%x), nn.softmax(nn.softmax(transpose(%x))))
}
)";

TEST(Executor, ARunDoesNotDependOnTheOneBefore) {
  const auto e = executor_of(kSoftmaxes);
  ASSERT_NE(e, nullptr);
  const Tensor x = counting({64, 128}), y = counting({64, 128}).converted(kFloat16).converted(kFloat32);
  const std::vector<Tensor> first = run(*e, {x});
  run(*e, {y});
  const std::vector<Tensor> again = run(*e, {x});
  ASSERT_EQ(first.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(first[i].data(), again[i].data()) << "results must not share memory: users keep them";
    EXPECT_TRUE(compare_exact(first[i], again[i]).ok);
  }
}

// Large enough for parallel loops, and one small network.
constexpr std::string_view kParallel[] = {
    kSoftmaxes, R"(def @main(%x: Tensor[(128, 512), float32]) { nn.softmax(nn.relu(%x)) })",
    R"(def @main(%x: Tensor[(192, 256), float32]) { (nn.matmul(%x, transpose(%x)), sum(%x, axis=[1]), sum(%x, axis=[0])) })",
    R"(def @main(%x: Tensor[(1, 32, 40, 40), float32]) {
      let %w = ones(shape=[48, 32, 3, 3], dtype="float32") * 0.125f;
      let %y = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));
      let %z = nn.max_pool2d(%y, pool_size=[2, 2], strides=[2, 2]);
      nn.softmax(nn.dense(nn.batch_flatten(%z), ones(shape=[10, 19200], dtype="float32") * 0.0009765625f))
    })"};

TEST(Executor, EveryNumberOfThreadsGivesTheSameBits) {
  for (std::string_view program : kParallel) {
    std::vector<Tensor> alone;
    for (unsigned threads : {1u, 2u, 3u, 7u}) {
      const auto e = executor_of(program, threads);
      ASSERT_NE(e, nullptr) << program;
      const Tensor x = counting(*e->plan().inputs[0].type->static_shape());
      const std::vector<Tensor> results = run(*e, {x});
      if (threads == 1) alone = results;
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(compare_exact(alone[i], results[i]).ok) << threads << " threads: " << program;
    }
  }
}

// The threads of this process.
size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Executor, OneThreadStartsNoOther) {
  const size_t before = thread_count();
  const auto e = executor_of(kParallel[1], 1);
  ASSERT_NE(e, nullptr);
  std::thread([&] { run(*e, {counting({128, 512})}); }).join();
  EXPECT_EQ(thread_count(), before);
}

// Both have the threads of one pool, which has as many as the process has cores.
TEST(Executor, ModelsOfOneProcessShareItsThreads) {
  const unsigned cores = kernel::native::usable_cores();
  const auto one = executor_of(kParallel[1], cores), two = executor_of(kParallel[1], cores);
  ASSERT_TRUE(one && two);
  const size_t before = thread_count();
  std::atomic<size_t> most{0};
  const auto work = [&](Executor& e) {
    const Tensor x = counting({128, 512});
    for (int i = 0; i < 50; ++i) {
      run(e, {x});
      most = std::max<size_t>(most, thread_count());
    }
  };
  std::thread first([&] { work(*one); }), second([&] { work(*two); });
  first.join();
  second.join();
  // The two that call; a test before this one may have started the pool.
  EXPECT_LE(most, before + 2 + cores - 1);
}

TEST(Executor, RefusesOtherInputs) {
  const auto e = executor_of(kSoftmaxes);
  ASSERT_NE(e, nullptr);
  EXPECT_NE(trap_of([&] { run(*e, {}); }).find("1 input"), std::string::npos)
      << trap_of([&] { run(*e, {}); });
  for (const Tensor& wrong : {counting({64, 127}), counting({64, 128}, kFloat64), counting({128, 64})}) {
    const std::string why = trap_of([&] { run(*e, {wrong}); });
    EXPECT_NE(why.find("`x`"), std::string::npos) << why;
    EXPECT_NE(why.find("float32"), std::string::npos) << why;
  }
}

TEST(Executor, ATrapLeavesItUsable) {
  const auto e =
      executor_of("def @main(%a: Tensor[(4), int32], %b: Tensor[(4), int32]) { floor_divide(%a, %b) }");
  ASSERT_NE(e, nullptr);
  const Tensor zero(kInt32, {4});
  Tensor four(kInt32, {4});
  for (int64_t i = 0; i < 4; ++i) four.set_int(i, 4);
  EXPECT_NE(trap_of([&] { run(*e, {four, zero}); }).find("division by zero"), std::string::npos);
  EXPECT_EQ(run(*e, {four, four})[0].get_int(3), 1);
}

TEST(Executor, AnObserverSeesEachStepWithItsTensors) {
  const auto e = executor_of(kSoftmaxes);
  ASSERT_NE(e, nullptr);
  size_t steps = 0;
  Tensor last;
  e->set_observer([&](const passes::PlanStep& step, std::span<const Tensor> inputs,
                      std::span<const Tensor> outputs, double seconds) {
    ++steps;
    EXPECT_EQ(inputs.size(), step.inputs.size());
    EXPECT_GE(seconds, 0);
    last = outputs[0].converted(kFloat64);  // a copy: the contents end with the call
  });
  const std::vector<Tensor> results = run(*e, {counting({64, 128})});
  EXPECT_EQ(steps, e->plan().steps.size());
  const bool first = compare_exact(last, results[0].converted(kFloat64)).ok;
  EXPECT_TRUE(first ||
              (last.shape() == results[1].shape() && compare_exact(last, results[1].converted(kFloat64)).ok));
}

}  // namespace
}  // namespace relay::graph_runtime
