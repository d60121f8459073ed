// What bounds a run, and what is promised to have no bound: loops.
#include "interp/limits.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/diagnostics.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::interp {
namespace {

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
    "def @grow() -> List { @hoard(Nil) }\n";

Module program() {
  Diagnostics diagnostics;
  const Result<Module> m = parse("p.relay", kLoop, diagnostics, op::operators(), {});
  if (!m) throw std::runtime_error(diagnostics.all().front().message());
  return *m;
}

std::string exhausted(const char* function, std::vector<Value> args, const Limits& limits) {
  try {
    Machine(program(), {limits, {}}).call(function, std::move(args));
  } catch (const Exhausted& e) {
    return e.what();
  }
  return "nothing was exhausted";
}

Value number(int64_t n) { return Value(Tensor::scalar_int(kInt32, n)); }

TEST(Limits, FuelIsCounted) {
  EXPECT_EQ(exhausted("forever", {number(1)}, {.fuel = 1000}),
            "the program took more than 1000 steps (--fuel)");
}

TEST(Limits, DepthIsOfPendingContexts) {
  EXPECT_EQ(exhausted("deep", {number(100000)}, {.max_depth = 1000}),
            "evaluation is nested more than 1000 deep (--max-depth)");
}

TEST(Limits, TimeEndsWhatNeverEnds) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(exhausted("forever", {number(1)}, {.max_time = 50ms}),
            "the program ran for more than 0.05 s (--max-time)");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(Limits, MemoryIsLookedAtBeforeItIsGone) {
  const uint64_t limit = resident_bytes() + (uint64_t{400} << 20);
  const std::string said = exhausted("grow", {}, {.max_bytes = limit});
  EXPECT_NE(said.find("MiB of memory (--max-memory)"), std::string::npos) << said;
  EXPECT_LT(resident_bytes(), limit + (uint64_t{400} << 20));
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
  EXPECT_EQ(exhausted("forever", {number(1)}, {.cancel = &cancel}), "the run was cancelled");
  other.join();
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
    EXPECT_LT(resident_bytes(), before + (uint64_t{4} << 20)) << function;
  }
}

TEST(Depth, AMillionPendingCallsRun) {
  EXPECT_EQ(Machine(program()).call("deep", {number(1000000)}).tensor().get_int(0), 1000000);
}

}  // namespace
}  // namespace relay::interp
