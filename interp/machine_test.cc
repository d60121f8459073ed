// The machine one step at a time; what programs mean is in tests/exec.
#include "interp/machine.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "base/diagnostics.h"
#include "ir/text/parser.h"
#include "op/op_def.h"
#include "op/operators.h"

namespace relay::interp {
namespace {

Module module_of(const std::string& text) {
  Diagnostics diagnostics;
  const Result<Module> m = parse("p.relay", text, diagnostics, op::operators(), {});
  if (!m) throw std::runtime_error(diagnostics.all().front().message());
  return *m;
}

constexpr const char* kEveryForm = R"(
type Option { Some(int32), None }
def @main() {
  let %r = ref(1);
  %0 = add(ref_read(%r), 2);
  let %u = ref_write(%r, multiply(%0, %0));
  let %f = fn (%x: int32) -> int32 { if (greater(%x, 8)) { (%x, 1).0 } else { 0 } };
  match (Some(%f(ref_read(%r)))) { Some(%v) => add(%v, %0), None => 0 }
}
)";

TEST(Stepping, IsTheSameRun) {
  const Module m = module_of(kEveryForm);
  Machine whole(m), stepped(m);
  const Value expected = whole.call("main", {});
  stepped.start("main", {});
  while (stepped.advance()) {
  }
  ASSERT_NE(stepped.now().value, nullptr);
  EXPECT_EQ(show(*stepped.now().value), show(expected));
  EXPECT_EQ(show(expected), "Tensor[(), int32] 12");
  EXPECT_EQ(stepped.steps(), whole.steps());
}

TEST(Stepping, WhatReturnsIsTheOperandThatIsWaitedFor) {
  const Module m = module_of(kEveryForm);
  Machine machine(m);
  machine.start("main", {});
  std::set<ExprKind> waited;
  do {
    const Machine::Now now = machine.now();
    if (machine.depth() == 0) continue;
    const Machine::Waiting k = machine.waiting(machine.depth() - 1);
    ASSERT_NE(k.operand, nullptr);
    ASSERT_NE(k.env, nullptr);
    waited.insert(k.e->kind);
    if (now.value) {
      EXPECT_EQ(now.e, k.e);
    }
    // An operand that descends in the activation that waits for it is what is waited for, or
    // ends in its place.
    if (now.e == k.operand && !now.value) {
      EXPECT_EQ(*now.env, *k.env);
    }
  } while (machine.advance());
  for (ExprKind kind : {ExprKind::kLet, ExprKind::kCall, ExprKind::kIf, ExprKind::kMatch, ExprKind::kProj,
                        ExprKind::kTuple, ExprKind::kRefNew, ExprKind::kRefRead, ExprKind::kRefWrite})
    EXPECT_TRUE(waited.contains(kind)) << static_cast<int>(kind);
  EXPECT_EQ(machine.depth(), 0u);
  EXPECT_EQ(machine.now().e, nullptr);
}

TEST(Stepping, WithItsLastOperandAnExpressionDoesWhatItDoes) {
  const Module m = module_of(kEveryForm);
  Machine machine(m);
  machine.start("main", {});
  std::multiset<ExprKind> did;
  std::optional<size_t> without;  // depth when nothing of the expression waits any more
  do {
    if (without) {
      EXPECT_EQ(machine.depth(), *without);
    }
    without.reset();
    const Machine::Now now = machine.now();
    if (!now.last) continue;
    ASSERT_NE(now.value, nullptr);
    did.insert(now.e->kind);
    without = machine.depth() - 1;
  } while (machine.advance());
  // add, multiply, %f, greater, Some, and add in the arm; the other forms once each
  // but for two reads.
  EXPECT_EQ(did, (std::multiset<ExprKind>{ExprKind::kTuple, ExprKind::kProj, ExprKind::kCall, ExprKind::kCall,
                                          ExprKind::kCall, ExprKind::kCall, ExprKind::kCall, ExprKind::kCall,
                                          ExprKind::kRefNew, ExprKind::kRefRead, ExprKind::kRefRead,
                                          ExprKind::kRefWrite}));
}

TEST(Stepping, ATailCallLeavesNothingBehind) {
  Machine machine(
      module_of("def @main() { @loop(1000) } def @loop(%i: int32) -> int32 "
                "{ if (equal(%i, 0)) { 7 } else { @loop(subtract(%i, 1)) } }"));
  machine.start("main", {});
  size_t deepest = 0;
  do deepest = std::max(deepest, machine.depth());
  while (machine.advance());
  EXPECT_LE(deepest, 4u);
}

TEST(Stepping, AfterATrapTheContextsAreThereAndAnotherRunMayStart) {
  Machine machine(module_of("def @main(%d: int32) { add(1, floor_divide(6, %d)) }"));
  machine.start("main", {Value(Tensor::scalar_int(kInt32, 0))});
  EXPECT_THROW(
      {
        while (machine.advance()) {
        }
      },
      Trap);
  ASSERT_EQ(machine.depth(), 1u);
  EXPECT_EQ(machine.waiting(0).e->kind, ExprKind::kCall);
  EXPECT_EQ(show(machine.call("main", {Value(Tensor::scalar_int(kInt32, 3))})), "Tensor[(), int32] 3");
}

TEST(Stepping, FramesKnowTheirFunction) {
  const Module m = module_of("def @main() { @f(2) } def @f(%x: int32) { add(%x, 1) }");
  Machine machine(m);
  machine.start("main", {});
  std::set<const Fn*> seen;
  do {
    if (!machine.now().value) seen.insert((*machine.now().env)->fn);
  } while (machine.advance());
  EXPECT_EQ(seen, (std::set<const Fn*>{m.function("main"), m.function("f")}));
}

// A program that serves for days calls the same function for days.
TEST(Calls, LeaveNothingInTheContext) {
  const Module m = module_of(kEveryForm);
  Machine(m).call("main", {});
  const uint32_t before = m.context().node_count();
  for (int i = 0; i < 3; ++i) Machine(m).call("main", {});
  EXPECT_EQ(m.context().node_count(), before);
}

TEST(Elsewhere, OperatorsMayBeComputedByOtherMeans) {
  const Module m = module_of(kEveryForm);
  Options options;
  std::vector<std::string> asked;
  options.run_operator = [&](const op::OpDef& def, std::span<const Value> args,
                             const Attrs&) -> std::optional<Value> {
    asked.push_back(def.name);
    if (def.name != "multiply") return std::nullopt;
    EXPECT_EQ(args.size(), 2u);
    return Value(Tensor::scalar_int(kInt32, 100));
  };
  // 1 + 2 = 3; the product is said to be 100, which is above 8, so that the closure gives
  // it back; 100 + 3.
  EXPECT_EQ(show(Machine(m, options).call("main", {})), "Tensor[(), int32] 103");
  EXPECT_EQ(asked, (std::vector<std::string>{"add", "multiply", "greater", "add"}));
}

}  // namespace
}  // namespace relay::interp
