#include "analysis/recursion.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::analysis {
namespace {

// Names of the global functions, and `fn` for literals.
std::string branching(std::string_view program) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("test", std::string(program), diagnostics, op::operators(), options);
  EXPECT_TRUE(m.ok()) << diagnostics.render(options.into.context().sources());
  if (!m) return "";
  std::vector<std::string> names;
  for (const Fn* fn : branching_functions(*m)) {
    names.emplace_back("fn");
    for (const auto& [name, global] : m->functions()) {
      if (global == fn) names.back() = name.str();
    }
  }
  return join(names, " ");
}

constexpr std::string_view kTypes = R"(
type List[A] { Cons(A, List[A]), Nil }
type Tree { Node(float32, List[Tree]) }
)";

TEST(Recursion, LoopsDoNotBranch) {
  EXPECT_EQ(branching(cat(kTypes, R"(
def @sum(%l: List[float32], %so_far: float32) -> float32 {
  match (%l) { Nil => %so_far, Cons(%x, %rest) => @sum(%rest, %so_far + %x) }
}
def @count(%n: int32) -> int32 { if (%n == 0) { 0 } else { if (%n == 1) { @count(0) } else { @count(%n - 1) } } }
def @map(%f: fn(float32) -> float32, %l: List[float32]) -> List[float32] {
  match (%l) { Nil => Nil, Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)) }
}
def @main(%l: List[float32]) { @sum(@map(fn (%x: float32) { %x }, %l), 0f) + @sum(%l, 0f) }
)")),
            "");
}

TEST(Recursion, TreesDoEvenIfTheirFunctionsCallEachOther) {
  EXPECT_EQ(branching(cat(kTypes, R"(
def @node(%t: Tree) -> float32 { match (%t) { Node(%x, %below) => %x + @below(%below, 0f) } }
def @below(%l: List[Tree], %so_far: float32) -> float32 {
  match (%l) { Nil => %so_far, Cons(%t, %rest) => @below(%rest, %so_far + @node(%t)) }
}
def @main(%t: Tree) { @node(%t) }
)")),
            "below node");
  EXPECT_EQ(
      branching("def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }"),
      "fib");
}

TEST(Recursion, AFunctionThatIsPassedOnMayBeCalledAgainAndAgain) {
  EXPECT_EQ(branching(cat(kTypes, R"(
def @map(%f: fn(Tree) -> float32, %l: List[Tree]) -> List[float32] {
  match (%l) { Nil => Nil, Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)) }
}
def @first(%l: List[float32]) -> float32 { match (%l) { Nil => 0f, Cons(%x, _) => %x } }
def @value(%t: Tree) -> float32 { match (%t) { Node(%x, %below) => %x + @first(@map(@value, %below)) } }
def @main(%t: Tree) {
  let %inner = fn (%t: Tree) -> float32 {
    match (%t) { Node(%x, %below) => %x + @first(@map(fn (%b: Tree) { %inner(%b) }, %below)) }
  };
  %inner(%t) + @value(%t)
}
)")),
            "fn value");
}

}  // namespace
}  // namespace relay::analysis
