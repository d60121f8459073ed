// Blocks along spatial axes, which come right behind the batch, as examples of the batch and back.
//
//   nn.space_to_batch_nd(data)[(u.., n), i.., c..] = padded[n, (i*b + u).., c..]
//   where padded is data with `paddings` along the spatial axes, b is block_shape, and u.. counts the
//   places in a block in row-major order
//   (Tensor[(n, s.., c..), d]) -> Tensor[(n * product of b, (s + before + after) / b.., c..), d]
//
//   nn.batch_to_space_nd(data)[n, (i*b + u - crop).., c..] = data[(u.., n), i.., c..]
//   where b is block_shape, crop is how many elements are cut off before each spatial axis, and u..
//   counts the places in a block in row-major order
//   (Tensor[(n * product of b, s.., c..), d]) -> Tensor[(n, s * b - before - after.., c..), d]
//
//   C1: data has the batch and as many axes behind it as block_shape has extents, at least one.
//   C2: the extents of block_shape are positive and hold at most 2^31 elements together.
//   C3: paddings and crops have a pair for each spatial axis, of known extents that
//       are not negative.
//   C4: the blocks divide the padded data, and the batch.
//   C5: no more is cut off than there is, and what is cut is known, if only by a name.
#include "op/nn/batch_space.h"

#include "base/cat.h"
#include "op/nn/split_axes.h"
#include "op/requirements.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;

// Checks what both have in common. Returns the number of elements of a block.
int64_t read_blocks(Relation& r, const std::vector<int64_t>& block, const PadWidth& around,
                    std::string_view name) {
  const size_t axes = block.size();
  r.require(axes > 0, kAttributes, "block_shape must not be empty");  // C1
  if (r.tensor(0).rank() <= axes)
    r.fail(0, cat("expected a tensor of rank ", axes + 1, " or more, found rank ", r.tensor(0).rank()),
           "wrong-rank");  // C1
  int64_t elements = 1;
  for (const int64_t extent : block) {
    r.require(extent >= 1, kAttributes, cat("block_shape must be positive, not ", extent));  // C2
    r.require(extent <= kMost / elements, kAttributes,
              cat("the blocks must have at most ", kMost, " elements"));  // C2
    elements *= extent;
  }
  r.require(around.axes.size() == axes, kAttributes,
            cat(name, " must have ", axes, " pairs, not ", around.axes.size()));  // C3
  for (const auto& [before, after] : around.axes) {
    for (const Dim d : {before, after}) {
      r.require(d.is_const() && d.value() >= 0 && d.value() <= kMost, kAttributes,
                cat(name, " must be known and in [0, ", kMost, "]"));  // C3
    }
  }
  return elements;
}

Type relate_to_batch(Relation& r, const SpaceToBatchAttrs& a) {
  const int64_t elements = read_blocks(r, a.block_shape, a.paddings, "paddings");  // C1, C2, C3
  std::vector<Dim> dims = dims_of(r.tensor(0));
  dims[0] = dims[0] * elements;
  for (size_t axis = 0; axis < a.block_shape.size(); ++axis) {
    const auto& [before, after] = a.paddings.axes[axis];
    dims[1 + axis] = divided(r, dims[1 + axis] + before + after, a.block_shape[axis], 0,
                             cat("the padded axis ", 1 + axis));  // C4
  }
  return r.tensor_of(dims, r.tensor(0).dtype);
}

Type relate_to_space(Relation& r, const BatchToSpaceAttrs& a) {
  const int64_t elements = read_blocks(r, a.block_shape, a.crops, "crops");  // C1, C2, C3
  std::vector<Dim> dims = dims_of(r.tensor(0));
  dims[0] = divided(r, dims[0], elements, 0, "the batch");  // C4
  for (size_t axis = 0; axis < a.block_shape.size(); ++axis) {
    const auto& [before, after] = a.crops.axes[axis];
    r.require(!dims[1 + axis].is_unknown() || (before == Dim(0) && after == Dim(0)), 0,
              cat("axis ", 1 + axis, ", which is cut, must be known"));  // C5
    const Dim whole = dims[1 + axis] * a.block_shape[axis];
    dims[1 + axis] = whole - before - after;
    require_at_least(
        r, dims[1 + axis], 0, kAttributes,
        cat("crops cut more off than the ", relay::show(whole), " elements of axis ", 1 + axis));  // C5
  }
  return r.tensor_of(dims, r.tensor(0).dtype);
}

Expr expand_to_batch(Builder& b, const SpaceToBatchAttrs& a, const Site& c) {
  const TensorType& t = c.tensor(0);
  const size_t axes = a.block_shape.size(), rank = t.rank();
  std::vector<std::pair<Dim, Dim>> around(rank, {Dim(0), Dim(0)});
  for (size_t axis = 0; axis < axes; ++axis) around[1 + axis] = a.paddings.axes[axis];
  Expr x = call(b, kPad, {c.args[0], scalar_of(b, t.dtype, a.pad_value)},
                {{"pad_width", pad_width(b.context(), around)}});
  for (size_t axis = axes; axis-- > 0;)  // n, i, u, i, u, .., c..
    x = split_axis(b, x, 1 + axis, -1, a.block_shape[axis]);
  std::vector<int64_t> order;
  for (size_t axis = 0; axis < axes; ++axis) order.push_back(static_cast<int64_t>(2 + 2 * axis));
  order.push_back(0);
  for (size_t axis = 0; axis < axes; ++axis) order.push_back(static_cast<int64_t>(1 + 2 * axis));
  for (size_t d = 1 + 2 * axes; d < rank + axes; ++d) order.push_back(static_cast<int64_t>(d));
  x = transposed(b, x, order);
  for (size_t axis = 0; axis < axes; ++axis) x = merge_axes(b, x, 0);
  return x;
}

Expr expand_to_space(Builder& b, const BatchToSpaceAttrs& a, const Site& c) {
  const size_t axes = a.block_shape.size(), rank = c.tensor(0).rank();
  int64_t elements = 1;
  for (const int64_t extent : a.block_shape) elements *= extent;
  Expr x = split_axis(b, c.args[0], 0, elements, -1);
  for (size_t axis = 0; axis + 1 < axes; ++axis)  // u.., n, i.., c..
    x = split_axis(b, x, axis, a.block_shape[axis], -1);
  std::vector<int64_t> order{static_cast<int64_t>(axes)};
  for (size_t axis = 0; axis < axes; ++axis) {
    order.push_back(static_cast<int64_t>(axes + 1 + axis));
    order.push_back(static_cast<int64_t>(axis));
  }
  for (size_t d = 2 * axes + 1; d < rank + axes; ++d) order.push_back(static_cast<int64_t>(d));
  x = transposed(b, x, order);
  for (size_t axis = 0; axis < axes; ++axis) x = merge_axes(b, x, 1 + axis);
  for (size_t axis = 0; axis < axes; ++axis) {
    const auto& [before, after] = a.crops.axes[axis];
    if (before == Dim(0) && after == Dim(0)) continue;
    const Dim end = tensor_type_of(x).dims[1 + axis] - after;
    x = with_extent(b, sliced(b, x, static_cast<int64_t>(1 + axis), before, end), 1 + axis, end - before);
  }
  return x;
}

}  // namespace

const OpDef kSpaceToBatchNd = define<SpaceToBatchAttrs>({
    .name = "nn.space_to_batch_nd",
    .doc = "Padded data in blocks: each place in a block is an example of its own.",
    .params = {{"data", "a batch, its spatial axes behind it"}},
    .fusion = Fusion::kInjective,
    .relate = relate_to_batch,
    .expand = expand_to_batch,
});

const OpDef kBatchToSpaceNd = define<BatchToSpaceAttrs>({
    .name = "nn.batch_to_space_nd",
    .doc = "Examples put between each other, block by block, and cut: the inverse of nn.space_to_batch_nd.",
    .params = {{"data", "a batch, its spatial axes behind it"}},
    .fusion = Fusion::kInjective,
    .relate = relate_to_space,
    .expand = expand_to_space,
});

}  // namespace relay::op
