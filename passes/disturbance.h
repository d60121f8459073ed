// Disturbance: what another honest engine may make of an operator's result.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::passes {

// An error may be small by luck, and the largest of so many is not.
inline constexpr int64_t kFewestErrors = 8;

// Draws results that are slightly off, the same ones for the same seed.
class Disturbance {
 public:
  explicit Disturbance(uint32_t seed) : random_(seed) {}

  // `made`, the operator's result, with other numbers in the place of some elements. Bits that an
  // operator moves stay, and so do sums, products, quotients and roots that need no rounding.
  //
  // Most elements become a neighbouring number. Two kinds of sums differ by more.
  //   * Nothing is wider than float64, so no run tells what another order of the terms of such a
  //     sum does. It is off by up to a quarter of its operator's bound: a program's bound is four
  //     times its error, and so that of the operator where it is all of the program.
  //   * Other sums are measured, but fewer than `kFewestErrors` of them may be right by luck: all
  //     runs add in one order. They are off by up to one rounding in float32 of the sum of |terms|.
  Value of(Context& context, const op::OpDef& def, std::span<const Value> args, const Attrs& attrs,
           const Value& made);

 private:
  std::minstd_rand random_;
};

}  // namespace relay::passes
