// Program passes on request: that they keep answers and effects, that their conditions find what
// they mend, and what they say of programs that they leave.
#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "passes/continuation_passing.h"
#include "passes/function_values.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;

Module after(const Module& m, std::string_view passes, std::string* reason = nullptr) {
  Diagnostics diagnostics;
  RunnerOptions options;
  options.verify = Verify::kTypes;
  if (reason) options.on_reason = [&](const Pass&, std::string_view text) { *reason = text; };
  const Result<Module> out = run_pipeline(m, passes, options, diagnostics);
  EXPECT_TRUE(out) << diagnostics.render(m.context().sources());
  return out ? *out : m;
}

Tensor number(int64_t n) {
  Tensor out(kInt32, {});
  out.set_int(0, n);
  return out;
}

int64_t answer(const Module& m, int64_t n) {
  return interp::Machine(m).call("main", {Value(number(n))}).tensor().get_int(0);
}

// Effects in an order that the result tells, a function in a cell that mentions itself through it,
// functions in lists and tuples, and a generic one.
constexpr std::string_view kFunctions = R"(
type List[A] { Nil, Cons(A, List[A]) }
type Box { Box(fn(int32) -> int32, int32) }
def @fold[A, B](%f: fn(B, A) -> B, %b: B, %l: List[A]) -> B {
  match (%l) { Nil => %b, Cons(%h, %t) => @fold(%f, %f(%b, %h), %t) }
}
def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) -> fn(A) -> C { fn (%x: A) { %f(%g(%x)) } }
def @run(%b: Box) -> int32 { match (%b) { Box(%f, %n) => %f(%n) } }
def @main(%n: int32) {
  let %log = ref(1);
  let %tell = fn (%i: int32) { let %w = ref_write(%log, add(multiply(ref_read(%log), 7), %i)); %i };
  let %knot = ref(fn (%i: int32) -> int32 { %i });
  let %tie = ref_write(%knot, fn (%i: int32) -> int32 {
    if (less(%i, 1)) { %tell(%n) } else { add(%tell(%i), ref_read(%knot)(subtract(%i, 1))) }
  });
  let %twice = @compose(%tell, fn (%i: int32) { add(%tell(%i), %i) });
  let %sum = @fold(fn (%s: int32, %f: fn(int32) -> int32) { add(%s, %f(%s)) }, %n,
                   Cons(%twice, Cons(ref_read(%knot), Nil)));
  let %pair = (@run(Box(%twice, 2)), @compose(negative, %tell)(%n));
  add(multiply(%sum, 1000003), add(ref_read(%log), subtract(%pair.0, %pair.1)))
})";

TEST(ProgramPasses, KeepTheAnswerAndTheOrderOfEffects) {
  const Module m = checked(kFunctions);
  for (const char* pass : {"defunctionalise", "closure-conversion", "continuation-passing",
                           "continuation-passing,defunctionalise", "defunctionalise,continuation-passing",
                           "continuation-passing,closure-conversion", "closure-conversion,defunctionalise"}) {
    const Module now = after(m, pass);
    EXPECT_FALSE(now.same(m)) << pass;
    for (int64_t n : {0, 1, 3, 5}) EXPECT_EQ(answer(now, n), answer(m, n)) << pass;
  }
}

TEST(ProgramPasses, KeepTheirPromises) {
  const Module m = checked(kFunctions);
  EXPECT_NE(breaks_defunctionalisation(m), "");
  EXPECT_NE(breaks_closure_conversion(m), "");
  EXPECT_NE(breaks_continuation_passing(m), "");
  EXPECT_EQ(breaks_defunctionalisation(after(m, "defunctionalise")), "");
  EXPECT_EQ(breaks_closure_conversion(after(m, "closure-conversion")), "");
  EXPECT_EQ(breaks_continuation_passing(after(m, "continuation-passing")), "");
  // Closures hold the codes of global functions.
  EXPECT_NE(breaks_defunctionalisation(after(m, "closure-conversion")), "");
}

// Each has nothing more to do on what it made.
TEST(ProgramPasses, AreDoneAfterOnce) {
  const Module m = checked(kFunctions);
  for (const char* pass : {"defunctionalise", "closure-conversion", "continuation-passing"}) {
    const Module once = after(m, pass);
    EXPECT_TRUE(after(once, pass).same(once)) << pass;
  }
}

TEST(ProgramPasses, FindCallsThatAreNotLast) {
  const auto program = [](std::string_view body) {
    return checked(cat("def @f(%x: int32) -> int32 { %x }\ndef @main(%x: int32) { ", body, " }"));
  };
  EXPECT_EQ(breaks_continuation_passing(program("if (less(%x, 2)) { @f(%x) } else { @f(add(%x, 1)) }")), "");
  EXPECT_EQ(breaks_continuation_passing(program("let %y = add(%x, 1); @f(%y)")), "");
  EXPECT_NE(breaks_continuation_passing(program("let %y = @f(%x); %y")), "");
  EXPECT_NE(breaks_continuation_passing(program("add(@f(%x), 1)")), "");
  EXPECT_NE(breaks_continuation_passing(program("%0 = @f(%x); if (less(%x, 2)) { %0 } else { %0 }")), "");
  // A literal that is called where it is written is a part of the function around it.
  EXPECT_EQ(breaks_continuation_passing(program("fn (%y: int32) { @f(%y) } (%x)")), "");
  EXPECT_NE(breaks_continuation_passing(program("add(fn (%y: int32) { @f(%y) } (%x), 1)")), "");
}

TEST(ProgramPasses, SayWhyAProgramStays) {
  const auto reason = [](std::string_view program, std::string_view pass) {
    const Module m = checked(program);
    std::string said;
    EXPECT_TRUE(after(m, pass, &said).same(m)) << pass;
    return said;
  };
  const auto says = [&](std::string_view program, std::string_view pass, std::string_view text) {
    const std::string said = reason(program, pass);
    EXPECT_NE(said.find(text), std::string::npos) << pass << ": " << said;
  };
  constexpr std::string_view kGives =
      "def @f(%x: int32) { %x }\n"
      "def @main(%x: int32) { let %y = @f(%x); fn (%z: int32) { add(%y, %z) } }";
  for (const char* pass : {"defunctionalise", "closure-conversion", "continuation-passing"}) {
    says(kGives, pass, "@main takes or gives functions");
    says("def @f(%x: int32) { let %g = fn (%y: int32) { %y }; add(%g(%x), 1) }", pass, "there is no @main");
  }
  for (const char* pass : {"defunctionalise", "closure-conversion"}) {
    says(
        "def @main(%x: Tensor[(n), float32]) { let %f = fn (%y: Tensor[(n), float32]) { add(%x, %y) }; "
        "%f(%x) }",
        pass, "has shape variables");
    says("def @main(%x: Tensor[(n), float32]) { let %f = fn (%y: float32) { sum(add(%x, %y)) }; %f(2f) }",
         pass, "a function captures %x of type Tensor[(n), float32]");
    says(
        "type Pair[A] { Pair(fn(A) -> A, A) }\n"
        "def @main(%x: int32) { match (Pair(fn (%y: int32) { %y }, %x)) { Pair(%f, %a) => %f(%a) } }",
        pass, "a function value is generic");
  }
}

}  // namespace
}  // namespace relay::passes
