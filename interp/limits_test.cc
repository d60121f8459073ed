// What bounds a run, and what is promised to have no bound: loops.
#include "interp/limits.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/diagnostics.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "kernel/builder.h"
#include "kernel/limits.h"
#include "op/operators.h"

namespace relay::interp {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasurable = false;  // a sanitizer takes memory and time of its own
#else
constexpr bool kMeasurable = true;
#endif

using namespace std::chrono_literals;

constexpr const char* kLoop =
    "def @loop(%i: int32) -> int32 { if (equal(%i, 0)) { 0 } else { @loop(subtract(%i, 1)) } }\n"
    // The same as a loop of two functions, through a match, a let, a closure and a branch.
    "type Option { Some(int32), None }\n"
    "def @even(%i: int32) -> int32 {\n"
    "  let %n = if (equal(%i, 0)) { None } else { Some(subtract(%i, 1)) };\n"
    "  match (%n) { None => 0, Some(%m) => { let %f = fn () -> int32 { @odd(%m) }; %f() } }\n"
    "}\n"
    "def @odd(%i: int32) -> int32 { match_shape %x: int32 = %i; if (equal(%x, 0)) { 1 } else { "
    "@even(subtract(%x, 1)) } }\n"
    "def @deep(%i: int32) -> int32 { if (equal(%i, 0)) { 0 } else { add(1, @deep(subtract(%i, 1))) } }\n"
    "def @forever(%i: int32) -> int32 { @forever(%i) }\n"
    "type List { Cons(Tensor[(1000000), float32], List), Nil }\n"
    "def @hoard(%l: List) -> List { @hoard(Cons(zeros(shape=[1000000], dtype=\"float32\"), %l)) }\n"
    "def @grow() -> List { @hoard(Nil) }\n"
    "def @endless(%i: int32) -> int32 { add(1, @endless(subtract(%i, 1))) }\n"
    "def @local(%i: int32) -> int32 {\n"
    "  let %again = fn (%j: int32) -> int32 { add(1, %again(%j)) };\n"
    "  %again(%i)\n"
    "}\n"
    "def @product(%x: Tensor[(1200, 1200), float32]) { nn.matmul(%x, %x) }\n"
    "def @sum(%x: Tensor[(1200, 1200), float32]) { add(%x, %x) }\n";

// A kernel is one step.
constexpr const char* kLongKernel = R"(
kernel @sum(x: float32[1]) -> (y: float32[1]) {
  for i in 1099511627776 {
    block y {
      reduction v in 1099511627776 = i;
      reads x[0], y[0];
      writes y[0];
      init { y[0] = 0f; }
      y[0] = y[0] + x[0];
    }
  }
}
def @main(%x: Tensor[(1), float32]) { @sum(%x) }
)";

Module program(const char* text = kLoop) {
  Diagnostics diagnostics;
  const Result<Module> m = parse("p.relay", text, diagnostics, op::operators(), {});
  if (!m) throw std::runtime_error(diagnostics.all().front().message());
  return *m;
}

std::string exhausted(const char* function, std::vector<Value> args, const Limits& limits,
                      const char* text = kLoop) {
  try {
    Machine(program(text), {limits, {}}).call(function, std::move(args));
  } catch (const Exhausted& e) {
    return e.what();
  }
  return "nothing was exhausted";
}

Value number(int64_t n) { return Value(Tensor::scalar_int(kInt32, n)); }

TEST(Limits, FuelIsCounted) {
  EXPECT_EQ(exhausted("forever", {number(1)}, {.fuel = 1000}),
            "the program took more than 1000 steps (--fuel), in @forever at p.relay:9:14");
}

TEST(Limits, DepthIsOfPendingContexts) {
  EXPECT_EQ(exhausted("deep", {number(100000)}, {.max_depth = 1000}),
            "evaluation is nested more than 1000 deep (--max-depth), in @deep at p.relay:8:77");
}

TEST(Limits, TimeEndsWhatNeverEnds) {
  const auto began = std::chrono::steady_clock::now();
  const std::string said = exhausted("forever", {number(1)}, {.max_time = 50ms});
  EXPECT_TRUE(
      said.starts_with("the program ran for more than 0.05 s (--max-time), in @forever at p.relay:9:"))
      << said;
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(Limits, EndALongKernel) {
  const Value x(Tensor(kFloat32, {1}));
  const auto said = [&](const Limits& limits) { return exhausted("main", {x}, limits, kLongKernel); };
  EXPECT_EQ(
      said({.fuel = 1000}).find("the program took more than 1000 steps (--fuel), in @main at p.relay:13:"),
      0u);
  EXPECT_EQ(said({.max_time = 50ms}).find("the program ran for more than 0.05 s (--max-time), in @main at "),
            0u);
  std::atomic<bool> cancel = false;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    cancel = true;
  });
  EXPECT_EQ(said({.cancel = &cancel}).find("the run was cancelled, in @main at "), 0u);
  other.join();
}

TEST(Limits, MemoryIsLookedAtBeforeItIsGone) {
  const uint64_t limit = resident_bytes() + (uint64_t{400} << 20);
  const std::string said = exhausted("grow", {}, {.max_bytes = limit});
  EXPECT_NE(said.find("MiB of memory (--max-memory), in @"), std::string::npos) << said;
  EXPECT_LT(resident_bytes(), limit + (uint64_t{16} << 20));
}

// One operator: its result and its lists, here copies in double and indices, are taken
// within a single step.
TEST(Limits, MemoryIsLookedAtBeforeAnOperatorTakesIt) {
  const Value x(Tensor(kFloat32, {1200, 1200}));  // 5.8 MB, and 11.5 MB in double
  return_freed_memory();
  const uint64_t before = resident_bytes();
  EXPECT_EQ(exhausted("product", {x}, {.max_bytes = before + (uint64_t{24} << 20)})
                .find("the program needs more than"),
            0u);
  if (kMeasurable) {
    EXPECT_EQ(exhausted("sum", {x}, {.max_bytes = before + (uint64_t{48} << 20)}), "nothing was exhausted");
  }
  EXPECT_EQ(
      exhausted("sum", {x}, {.max_bytes = before + (uint64_t{5} << 20)}).find("the program needs more than"),
      0u);
}

TEST(Limits, MemoryThatIsTakenAlreadyCounts) {
  EXPECT_EQ(exhausted("loop", {number(0)}, {.max_bytes = 4096}),
            "the program needs more than 4 KiB of memory (--max-memory)");
}

TEST(Limits, EndlessRecursionEndsByDefault) {
  const auto began = std::chrono::steady_clock::now();
  const uint64_t before = resident_bytes();
  uint64_t most = 0;
  Machine machine(program());
  machine.start("endless", {number(1)});
  const std::string said = [&] {
    try {
      for (uint64_t steps = 0; machine.advance(); ++steps) {
        if (steps % (1 << 20) == 0) most = std::max(most, resident_bytes());
      }
    } catch (const Exhausted& e) {
      most = std::max(most, resident_bytes());
      return std::string(e.what());
    }
    return std::string("it ended");
  }();
  EXPECT_EQ(said, "evaluation is nested more than 1048576 deep (--max-depth)");
  if (!kMeasurable) return;
  EXPECT_LT(most - before, uint64_t{1000} << 20);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);  // 2 s on an idle machine
}

// Only spans of the program's own text have a place; a local function has the name that it
// calls itself by.
TEST(Limits, ALocalFunctionIsNamed) {
  EXPECT_EQ(exhausted("local", {number(1)}, {.max_depth = 1000}),
            "evaluation is nested more than 1000 deep (--max-depth), in %again at p.relay:15:49");
}

TEST(Limits, UsableMemoryIsSomeOfTheMachines) {
  EXPECT_GT(usable_bytes(), uint64_t{1} << 26);
  EXPECT_GT(resident_bytes(), 0u);
  EXPECT_LT(resident_bytes(), usable_bytes());
}

TEST(Limits, SomebodyElseMayEndTheRun) {
  std::atomic<bool> cancel = false;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    cancel = true;
  });
  EXPECT_EQ(
      exhausted("forever", {number(1)}, {.cancel = &cancel}).find("the run was cancelled, in @forever at "),
      0u);
  other.join();
}

// A step may take long, so each of them looks.
TEST(Limits, ACancelledRunEndsAtItsNextStep) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(exhausted("deep", {number(3)}, {.cancel = &cancel}).find("the run was cancelled"), 0u);
}

TEST(Limits, TheMachineRunsAgainAfterwards) {
  Machine machine(program(), {{.max_depth = 1000}, {}});
  EXPECT_THROW(machine.call("deep", {number(100000)}), Exhausted);
  EXPECT_EQ(machine.call("deep", {number(10)}).tensor().get_int(0), 10);
}

// Constant space: not a context more, and memory that does not grow with the number of iterations.
TEST(TailCalls, LeaveNothingBehind) {
  for (const char* function : {"loop", "even"}) {
    Machine machine(program(), {{.max_depth = 16}, {}});
    machine.call(function, {number(10000)});
    const uint64_t before = resident_bytes();
    machine.call(function, {number(300000)});
    if (kMeasurable) {
      EXPECT_LT(resident_bytes(), before + (uint64_t{4} << 20)) << function;
    }
  }
}

TEST(Depth, AMillionPendingCallsRun) {
  EXPECT_EQ(Machine(program()).call("deep", {number(1000000)}).tensor().get_int(0), 1000000);
}

// Modules that are built, not read, may have kernels of any depth.
TEST(Limits, DeepKernelsAreExhausted) {
  Module m;
  kernel::Builder k(m.context().pool());
  const kernel::Tensor x = k.input("x", kFloat32, {k.index(4)});
  const kernel::Kernel deep =
      k.finish("k", "", {k.compute("y", kFloat32, {k.index(4)}, [&](kernel::Indices i) {
                 kernel::Expr e = x.at(i);
                 for (int depth = 0; depth < 100'000; ++depth) e = kernel::exp(e);
                 return e;
               })});
  m.set_kernel("k", m.context().arena().make<kernel::Kernel>(deep));
  try {
    Machine(m).call("k", {Value(Tensor(kFloat32, {4}))});
    FAIL() << "it ran";
  } catch (const Exhausted& e) {
    EXPECT_NE(std::string(e.what()).find("nested more than"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace relay::interp
