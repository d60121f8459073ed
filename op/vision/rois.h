// Regions of interest: what pooling over them shares.
//
//   C1: data has rank 4 and a floating-point dtype.
//   C2: the layout is an order of NCHW.   C3: pooled_size is one or two positive extents.
//   C4: rois has rank 2, five columns and a floating-point dtype.
//   C5: the image has at least one pixel.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "op/define.h"
#include "op/layout.h"
#include "op/real.h"
#include "op/relation.h"

namespace relay::op {

// Requires C1 to C5. Returns the type of the result: data's, with a region for an image and the
// pooled size for its height and width.
Type relate_rois(Relation& r, std::string_view layout, std::span<const Dim> pooled_size);

// A region is (batch index, x1, y1, x2, y2). The columns of its sides along an axis: 0 is the
// height, 1 the width.
inline int64_t low_side(size_t axis) { return axis == 0 ? 2 : 1; }
inline int64_t high_side(size_t axis) { return axis == 0 ? 4 : 3; }

// Calls f(element of the result, its index, the image, the region) in order; traps where a
// region has no image.
void for_each_pooled(const Layout& layout, Args in, const Tensor& out,
                     const std::function<void(int64_t number, const std::array<int64_t, 4>& at, int64_t image,
                                              const std::function<double(int64_t column)>& roi)>& f);

// To lower: returns the image of each region, of data with these extents in the order NCHW.
// Requires here, once for each region, that the image exists and has pixels. So the sums that read
// it need not ask.
kernel::Tensor images_of(kernel::Builder& k, const kernel::Tensor& rois,
                         const std::array<kernel::Expr, 4>& data);

}  // namespace relay::op
