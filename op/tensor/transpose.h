// The attributes of transpose.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "op/define.h"

namespace relay::op {

struct TransposeAttrs {
  std::optional<std::vector<int64_t>> axes = {};
  static constexpr auto kFields =
      fields(field("axes", &TransposeAttrs::axes,
                   "the axis of the argument that each axis of the result is; None or []: reversed"));
};

// The axis of the argument that each axis of the result is, counted from the front. `rank` is that
// of the argument, and the attributes are those of a typed call.
std::vector<size_t> transposed_axes(const TransposeAttrs& a, size_t rank);

}  // namespace relay::op
