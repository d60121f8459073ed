#include "analysis/left_out.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/testing.h"

namespace relay::analysis {
namespace {

// Names that begin with `ends` are of functions whose calls always give a value.
TEST(LeftOut, KnowsFunctionsThatAlwaysGiveAValue) {
  const Module m = testing::checked(R"(
    type Tree { Leaf, Node(Tree, int32, Tree) }
    type Nat { Zero, Next(Nat) }
    def @ends_plain(%x: int32) { multiply(%x, %x) }
    def @ends_calls(%x: int32) { @ends_plain(@ends_plain(%x)) }
    def @ends_fits(%x: Tensor[(n), float32], %y: Tensor[(3, n), float32]) { (%x, %y) }
    def @ends_calls_fitting(%x: Tensor[(m), float32], %y: Tensor[(3, m), float32]) { @ends_fits(%x, %y) }
    def @ends_names(%x: Tensor[(?), float32]) { @ends_takes_any(%x) }
    def @ends_takes_any(%x: Tensor[(n), float32]) { %x }
    def @ends_reads(%c: ref(int32)) { ref_read(%c) }
    def @ends_on_parts(%t: Tree) -> int32 {
      match (%t) { Leaf => 0, Node(%l, %x, %r) => add(%x, add(@ends_on_parts(%l), @ends_on_parts(%r))) }
    }
    def @ends_on_second(%sum: int32, %n: Nat) -> int32 {
      match (%n) { Zero => %sum, Next(%m) => match (%m) { Zero => %sum, Next(%k) => @ends_on_second(add(%sum, 1), %k) } }
    }
    def @writes(%c: ref(int32)) { ref_write(%c, 1) }
    def @divides(%x: int32) { divide(1, %x) }
    def @calls_it(%x: int32) { @divides(%x) }
    def @counts(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { @counts(subtract(%n, 1)) } }
    def @same(%n: Nat) -> int32 { match (%n) { Zero => 0, Next(_) => @same(%n) } }
    def @alias(%n: Nat) -> int32 { match (%n) { %m => @alias(%m) } }
    def @rebuilt(%n: Nat) -> int32 { match (%n) { Zero => 0, Next(%m) => @rebuilt(Next(%m)) } }
    def @one_of_two(%n: Nat) -> int32 {
      match (%n) { Zero => 0, Next(%m) => add(@one_of_two(%m), @one_of_two(%n)) }
    }
    def @circle_a(%n: Nat) -> int32 { match (%n) { Zero => 0, Next(%m) => @circle_b(%m) } }
    def @circle_b(%n: Nat) -> int32 { @circle_a(%n) }
    def @unknown(%f: fn(int32) -> int32) { %f(1) }
    def @partial(%n: Nat) { match? (%n) { Zero => 0 } }
    def @asks_three(%x: Tensor[(?), float32]) { @ends_three(%x) }
    def @ends_three(%x: Tensor[(3), float32]) { %x }
    def @asks_same(%x: Tensor[(?), float32], %y: Tensor[(3, ?), float32]) { @ends_fits(%x, %y) }
    def @matches_shape(%x: Tensor[(?), float32]) { match_shape %y: Tensor[(3), float32] = %x; %y }
    def @recurs_unfitting(%n: Nat, %x: Tensor[(?), float32], %y: Tensor[(3), float32]) -> Tensor[(?), float32] {
      match (%n) { Zero => %y, Next(%m) => @recurs_unfitting(%m, %x, %x) }
    }
    def @compares(%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { add(%x, %y) }
  )");
  LeftOut left_out(m);
  for (const auto& [name, fn] : m.functions())
    EXPECT_EQ(left_out.total_functions().contains(name), name.text().starts_with("ends_")) << name.text();
}

}  // namespace
}  // namespace relay::analysis
