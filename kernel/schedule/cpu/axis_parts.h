// An axis in parts: a stage with two axes in the place of one, for operands that neighbours along
// the axis share. Convolutions in groups have such: the channels of a group share their data.
//
//   y[c] = sum over r of x[c // 8 * 8 + r] * f[c, r]           c < 32
//   y[8*p + q] = sum over r of x[8*p + r] * f[8*p + q, r]      p < 4, q < 8
//
// Along q, x is one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/schedule/anchored_stage.h"

namespace relay::kernel::schedule::cpu {

struct AxisParts {
  // The same stages, but for the axes of the reduction.
  AnchoredStage anchored;
  int64_t width = 1;               // of a part
  std::vector<Expr> element = {};  // of the output, in terms of the stage's axes
};

// The last axis, a channel block, in the widest parts of at most `lanes` lanes in which each
// operand is contiguous or one element. The axis of the parts comes in front of the two axes before
// the lanes (height and width). Returns nullopt if no parts of two lanes or more are such, if whole
// blocks are, or if no operand becomes one element: columns in panels have a rule of their own.
std::optional<AxisParts> lane_parts(const AnchoredStage& anchored, int64_t lanes);

// The first axis but the last that the stage divides by a constant, in parts of that width, each a
// row of the axis of the parts. Returns nullopt if there is none.
std::optional<AxisParts> row_parts(const AnchoredStage& anchored);

}  // namespace relay::kernel::schedule::cpu
