// The executor by itself; that it computes what programs mean is shown by tests/exec.
#include "graph_runtime/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/cat.h"
#include "base/parallel.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "runtime/compare.h"

namespace relay::graph_runtime {
namespace {

std::shared_ptr<const Program> program_of(std::string_view text) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed = parse("test", std::string(text), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, passes::default_pipeline(2), {}, diagnostics)
             : Result<Module>(kReported);
  Result<passes::Plan> plan =
      lowered ? passes::plan_memory(*lowered, "main", diagnostics) : Result<passes::Plan>(kReported);
  EXPECT_TRUE(plan.ok()) << diagnostics.render(parsing.into.context().sources());
  if (!plan) return nullptr;
  ProgramOptions options;
  options.compile.target = target::baseline(target::kHere);
  auto made = Program::create(std::move(*plan), lowered->shared_context(), options, diagnostics);
  EXPECT_TRUE(made.ok()) << diagnostics.render({});
  return made ? *made : nullptr;
}

std::unique_ptr<Executor> executor_of(std::string_view text, unsigned threads = 1) {
  const std::shared_ptr<const Program> program = program_of(text);
  return program ? std::make_unique<Executor>(program, threads) : nullptr;
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
  const unsigned cores = usable_cores();
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

// --- memory of the caller ------------------------------------------------------------------------

constexpr std::string_view kTwoInputs = R"(
def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(4, 8), float32]) {
  (nn.softmax(add(%x, %y)), %y)
}
)";

TEST(Bound, NothingIsCopied) {
  const auto e = executor_of(kTwoInputs);
  ASSERT_NE(e, nullptr);
  Tensor x = counting({4, 8}), y = counting({4, 8});
  const Tensor out(kFloat32, {4, 8}), same(kFloat32, {4, 8});
  e->bind_input(*e->input("x"), x);
  e->bind_input(*e->input("y"), y);
  e->bind_output(*e->output("output_0"), out);
  e->bind_output(*e->output("output_1"), same);
  for (int change = 0; change < 3; ++change) {
    x.set(change, 5.0 * change);  // seen without binding again
    e->run();
    EXPECT_TRUE(compare_exact(out, run(*e, {x, y})[0]).ok) << change;
    EXPECT_TRUE(compare_exact(same, y).ok);
  }
  EXPECT_FALSE(e->input("z") || e->output("x"));
}

TEST(Bound, OneTensorMayBeTwoInputs) {
  const auto e = executor_of(kTwoInputs);
  ASSERT_NE(e, nullptr);
  const Tensor x = counting({4, 8}), out(kFloat32, {4, 8}), same(kFloat32, {4, 8});
  for (size_t i = 0; i < 2; ++i) e->bind_input(i, x);
  e->bind_output(0, out);
  e->bind_output(1, same);
  e->run();
  EXPECT_TRUE(compare_exact(out, run(*e, {x, x})[0]).ok);
}

TEST(Bound, WhatDoesNotFitIsRefused) {
  const auto e = executor_of(kTwoInputs);
  ASSERT_NE(e, nullptr);
  const Tensor x = counting({4, 8}), out(kFloat32, {4, 8});
  EXPECT_NE(trap_of([&] { e->bind_input(0, counting({8, 4})); }).find("input `x` must be"),
            std::string::npos);
  EXPECT_NE(trap_of([&] { e->bind_output(0, Tensor(kFloat64, {4, 8})); }).find("output `output_0` must be"),
            std::string::npos);
  e->bind_input(0, x);
  EXPECT_EQ(trap_of([&] { e->run(); }), "input `y` is not bound to memory");
  e->bind_input(1, out);
  e->bind_output(0, out);
  e->bind_output(1, Tensor(kFloat32, {4, 8}));
  EXPECT_EQ(trap_of([&] { e->run(); }), "output `output_0` shares memory with input `y`");
  e->bind_input(1, x);
  e->bind_output(1, out);
  EXPECT_EQ(trap_of([&] { e->run(); }), "output `output_1` shares memory with output `output_0`");
}

// --- one program, many executors -----------------------------------------------------------------

constexpr std::string_view kWeights = R"(
def @main(%x: Tensor[(2, 64), float32]) {
  let %w = cumsum(ones(shape=[64, 64], dtype="float32"), axis=1) * 0.015625f;
  nn.softmax(nn.relu(nn.dense(%x, %w)))
}
)";

TEST(Shared, WeightsAreThereOnce) {
  const auto program = program_of(kWeights);
  ASSERT_NE(program, nullptr);
  ASSERT_FALSE(program->plan().constants.empty());
  Executor a(program), b(program);
  EXPECT_EQ(a.plan().constants[0].data(), b.plan().constants[0].data());
  const Tensor x = counting({2, 64});
  EXPECT_TRUE(compare_exact(run(a, {x})[0], run(b, {x})[0]).ok);
}

TEST(Shared, ThreadsAgreeToTheBit) {
  const auto program = program_of(kWeights);
  ASSERT_NE(program, nullptr);
  constexpr size_t kThreads = 8, kRuns = 50;
  Executor alone(program);
  std::vector<Tensor> inputs, wanted;
  for (size_t i = 0; i < kThreads; ++i) {
    inputs.push_back(counting({2, 64}));
    inputs.back().set(static_cast<int64_t>(i), 3.5);
    wanted.push_back(run(alone, {inputs.back()})[0]);
  }
  std::atomic<size_t> right{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Executor own(program);
      for (size_t k = 0; k < kRuns; ++k) right += compare_exact(run(own, {inputs[i]})[0], wanted[i]).ok;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, kThreads * kRuns);
}

// --- a part of a program -------------------------------------------------------------------------

// Two softmaxes that do not need each other; the second has two steps.
TEST(RunTo, GivesWhatTheWholeRunComputed) {
  const auto e = executor_of(kSoftmaxes);
  ASSERT_NE(e, nullptr);
  const Tensor x = counting({64, 128});
  std::vector<std::vector<Tensor>> whole;
  e->set_observer([&](const passes::PlanStep&, auto, std::span<const Tensor> outputs, double) {
    whole.emplace_back();
    for (const Tensor& t : outputs) whole.back().push_back(t.copy());
  });
  run(*e, {x});
  const size_t steps = e->plan().steps.size();
  ASSERT_EQ(whole.size(), steps);
  size_t skipped = 0;
  for (size_t i = 0; i < steps; ++i) {
    size_t ran = 0;
    e->set_observer([&](const passes::PlanStep&, auto, auto, double) { ++ran; });
    const std::vector<Tensor> part = e->run_to(i, std::vector<Tensor>{x});
    const std::vector<bool> needed = steps_needed(e->plan(), i);
    EXPECT_EQ(ran, static_cast<size_t>(std::count(needed.begin(), needed.end(), true)));
    skipped += i + 1 - ran;
    ASSERT_EQ(part.size(), whole[i].size());
    for (size_t k = 0; k < part.size(); ++k) EXPECT_TRUE(compare_exact(part[k], whole[i][k]).ok) << i;
  }
  EXPECT_GT(skipped, 0u) << "the softmaxes do not need each other";
}

}  // namespace
}  // namespace relay::graph_runtime
