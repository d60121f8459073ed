// layout_transform(x, src_layout, dst_layout): the same elements, with the axes in another order
// or cut into blocks.
//
//   (Tensor[s in src_layout, d]) -> Tensor[s in dst_layout, d]
//   C1: both layouts have the same axes, named by upper-case letters.   C2: data fits src_layout.
//
// From NCHW to NCHW16c, element (n, c, h, w) goes to (n, c // 16, h, w, c % 16). Where blocks
// do not divide an axis, the last one is filled up with zeros; they stay where the blocks are
// taken apart again.
#include <algorithm>

#include "op/layout.h"
#include "op/nn/fit.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct LayoutTransformAttrs {
  std::string src_layout, dst_layout;
  static constexpr auto kFields = fields(
      field("src_layout", &LayoutTransformAttrs::src_layout, "of the data, like NCHW").required(),
      field("dst_layout", &LayoutTransformAttrs::dst_layout, "of the result, like NCHW16c").required());
};

struct Layouts {
  Layout from, to;
};

Layouts read_layouts(const LayoutTransformAttrs& a) {
  std::string axes;
  for (char c : a.src_layout) {
    if (c >= 'A' && c <= 'Z') axes += c;
  }
  return {read_layout("src_layout", a.src_layout, axes), read_layout("dst_layout", a.dst_layout, axes)};
}

Type relate(Relation& r, const LayoutTransformAttrs& a) {
  const TensorType& x = r.tensor(0);
  const Layouts l = read_layouts(a);                                                       // C1
  if (const std::string wrong = misfit(l.from, x.dims); !wrong.empty()) r.fail(0, wrong);  // C2
  require_blocks(r, l.from, 0);                                                            // C2
  return r.tensor_of(l.to.shape(l.from.extents(x.dims)), x.dtype);
}

// Where each coordinate along an axis lies: the sum over all axes is the element's offset. -1:
// there is no such element.
std::vector<std::vector<int64_t>> offsets(const Layout& layout, const Shape& shape) {
  std::vector<std::vector<int64_t>> out(layout.axes());
  for (size_t axis = 0; axis < layout.axes(); ++axis) {
    for (int64_t c = 0;; ++c) {
      std::vector<int64_t> at(layout.axes(), 0);
      at[axis] = c;
      const std::vector<int64_t> index = layout.index(at);
      bool exists = true;
      for (size_t d = 0; d < index.size(); ++d) exists = exists && index[d] < shape[d];
      if (!exists) break;
      out[axis].push_back(offset_of(shape, index));
    }
  }
  return out;
}

// Elements as bits. Weights of networks go through here when programs are compiled: offsets are
// looked up, and a row of the result, which lies along one axis, is a loop of its own.
template <class Bits>
void transform(const Layouts& l, const Tensor& x, Tensor& y) {
  const size_t axes = l.from.axes();
  const std::vector<std::vector<int64_t>> from = offsets(l.from, x.shape());
  const std::span<const Layout::Part> parts = l.to.parts();
  const Layout::Part& last = parts.back();
  const std::vector<int64_t>& along = from[last.axis];
  const std::span<const Bits> source = x.as<Bits>();
  std::span<Bits> to = y.as<Bits>();  // all zero
  const auto row = static_cast<size_t>(y.shape().back());
  std::vector<int64_t> at(axes);
  for_each_index(Shape(y.shape().begin(), y.shape().end() - 1), [&](const std::vector<int64_t>& i) {
    std::fill(at.begin(), at.end(), 0);
    for (size_t d = 0; d < i.size(); ++d) at[parts[d].axis] += i[d] * parts[d].step;
    int64_t offset = 0;
    bool exists = true;
    for (size_t axis = 0; axis < axes && exists; ++axis) {
      if (axis == last.axis) continue;
      const auto c = static_cast<size_t>(at[axis]);
      exists = c < from[axis].size();
      if (exists) offset += from[axis][c];
    }
    auto c = static_cast<size_t>(at[last.axis]);
    for (size_t j = 0; exists && j < row && c < along.size(); ++j, c += static_cast<size_t>(last.step))
      to[j] = source[static_cast<size_t>(offset + along[c])];
    to = to.subspan(row);
  });
}

void evaluate(const LayoutTransformAttrs& a, Args in, Results out) {
  const Layouts l = read_layouts(a);
  if (out[0].size() == 0) return;
  if (l.to.rank() == 0) return copy_element(in[0], 0, out[0], 0);
  switch (in[0].dtype().bytes()) {
    case 1: return transform<uint8_t>(l, in[0], out[0]);
    case 2: return transform<uint16_t>(l, in[0], out[0]);
    case 4: return transform<uint32_t>(l, in[0], out[0]);
    default: return transform<uint64_t>(l, in[0], out[0]);
  }
}

std::vector<Expr> differentiate(Builder& b, const LayoutTransformAttrs& a, const Site& c) {
  Expr dx = call(b, kLayoutTransform, {c.dy}, {{"src_layout", a.dst_layout}, {"dst_layout", a.src_layout}});
  const TensorType& x = c.tensor(0);
  for (size_t d = 0; d < x.rank(); ++d) {  // less what was filled up
    if (prove_equal(tensor_type_of(dx).dims[d], x.dims[d]) != kernel::Proof::kProved)
      dx = sliced(b, dx, static_cast<int64_t>(d), 0, x.dims[d]);
  }
  return {dx};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const LayoutTransformAttrs& a, const Lowering& c) {
  const Layouts l = read_layouts(a);
  const kernel::Tensor& x = c.in[0];
  const std::vector<Dim> whole = l.from.shape(l.to.extents(c.out_types[0]->dims));
  return {k.compute("layout_transform", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> from = l.from.index(l.to.coordinates(i));
    kernel::Expr exists = k.constant(kBool, 1);
    for (size_t d = 0; d < from.size(); ++d) {
      if (prove_equal(whole[d], c.arg_types[0]->dims[d]) != kernel::Proof::kProved)
        exists = logical_and(exists, less(from[d], x.dim(d)));
    }
    return exists.is_int(1) ? x.at(from) : select(exists, x.at(from), k.constant(x.dtype(), 0));
  })};
}

}  // namespace

const OpDef kLayoutTransform = define<LayoutTransformAttrs>({
    .name = "layout_transform",
    .doc = "The same elements, with the axes in another order or cut into blocks.",
    .params = {{"data", "any tensor in src_layout"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
