// Axes that become two, and two that become one: for operators that move blocks of elements between
// axes, written out in `reshape` and `transpose`. They work for extents that are not known.
#pragma once

#include <string_view>

#include "op/define.h"
#include "op/relation.h"

namespace relay::op {

// An axis in two, of which one may be -1: whatever the other leaves.
Expr split_axis(Builder& b, Expr x, size_t axis, Dim first, Dim second);
// The axis and the next one as one.
Expr merge_axes(Builder& b, Expr x, size_t axis);
// x, whose extent along the axis has to be this one. If that is not proved, a run compares them.
Expr with_extent(Builder& b, Expr x, size_t axis, Dim extent);
// The extent in parts of so many elements; fails if it is known and they do not divide it.
Dim divided(Relation& r, Dim extent, int64_t by, int arg, std::string_view what);

}  // namespace relay::op
