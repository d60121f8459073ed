// The attributes of strided_slice, and what they take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "op/define.h"

namespace relay::op {

struct StridedSliceAttrs {
  std::vector<Dim> begin = {}, end = {};
  std::optional<std::vector<int64_t>> strides = {};
  std::string slice_mode = "end";
  std::optional<std::vector<int64_t>> axes = {};
  static constexpr auto kFields = fields(
      field("begin", &StridedSliceAttrs::begin, "first position along each axis").required(),
      field("end", &StridedSliceAttrs::end,
            "position after the last; for slice_mode \"size\" the number of elements, -1: all that follow")
          .required(),
      field("strides", &StridedSliceAttrs::strides, "steps; None or []: 1; not used by slice_mode \"size\""),
      field("slice_mode", &StridedSliceAttrs::slice_mode, "\"end\" or \"size\""),
      field("axes", &StridedSliceAttrs::axes,
            "the axes that are sliced, from the end if negative; None: the first ones"));
};

// What is taken along one axis.
struct SliceRange {
  size_t axis;
  Dim begin, size;
  int64_t stride;
};

// For each axis that is sliced. `extents` are the argument's; the call was type checked before.
std::vector<SliceRange> slice_ranges(const StridedSliceAttrs& a, std::span<const Dim> extents);

}  // namespace relay::op
