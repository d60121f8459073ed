// Pixels to channels and back.
//
//   nn.depth_to_space(data)[n, c, y*b + u, x*b + v] = data[n, k, y, x]
//   where k = (u*b + v)*C + c for mode "DCR", and (c*b + u)*b + v for "CRD"; b is block_size, C the
//   result's channels
//   (Tensor[(n, c * b * b, h, w), d]) -> Tensor[(n, c, h * b, w * b), d]
//
//   nn.space_to_depth(data)[n, (u*b + v)*C + c, y, x] = data[n, c, y*b + u, x*b + v]
//   where b is block_size, C the data's channels
//   (Tensor[(n, c, h * b, w * b), d]) -> Tensor[(n, c * b * b, h, w), d]
//
//   C1: data has rank 4.   C2: the layout is an order of NCHW.
//   C3: block_size is positive and not above 65536.
//   C4: mode is "DCR", or "CRD" for nn.depth_to_space.
//   C5: block_size * block_size divides the channels, block_size height and width.
#include "base/cat.h"
#include "op/nn/split_axes.h"
#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct SubPixelAttrs {
  int64_t block_size = 1;
  std::string layout = "NCHW", mode = "DCR";
  static constexpr auto kFields = fields(
      field("block_size", &SubPixelAttrs::block_size, "height and width of the blocks"),
      field("layout", &SubPixelAttrs::layout, "an order of the letters NCHW"),
      field("mode", &SubPixelAttrs::mode, "where a block's pixels stand among the channels: DCR or CRD"));
};

constexpr int64_t kMostBlock = 65536;

std::vector<Dim> read(Relation& r, const SubPixelAttrs& a, Layout& layout) {
  r.require_rank(0, 4);                             // C1
  layout = read_order("layout", a.layout, "NCHW");  // C2
  r.require(a.block_size >= 1 && a.block_size <= kMostBlock, kAttributes,
            cat("block_size must be in [1, ", kMostBlock, "], not ", a.block_size));  // C3
  return layout.extents(r.tensor(0).dims);
}

Type relate_to_space(Relation& r, const SubPixelAttrs& a) {
  Layout layout;
  std::vector<Dim> x = read(r, a, layout);  // C1, C2, C3
  r.require(a.mode == "DCR" || a.mode == "CRD", kAttributes,
            cat("mode must be DCR or CRD, not `", a.mode, "`"));                      // C4
  x[1] = divided(r, x[1], a.block_size * a.block_size, 0, "the number of channels");  // C5
  for (size_t axis = 2; axis < 4; ++axis) x[axis] = x[axis] * a.block_size;
  return r.tensor_of(layout.shape(x), r.tensor(0).dtype);
}

Type relate_to_depth(Relation& r, const SubPixelAttrs& a) {
  Layout layout;
  std::vector<Dim> x = read(r, a, layout);                                                    // C1, C2, C3
  r.require(a.mode == "DCR", kAttributes, cat("mode must be DCR here, not `", a.mode, "`"));  // C4
  x[1] = x[1] * (a.block_size * a.block_size);
  for (size_t axis = 2; axis < 4; ++axis)
    x[axis] = divided(r, x[axis], a.block_size, 0, cat("the ", name_of_axis(axis - 2, 2)));  // C5
  return r.tensor_of(layout.shape(x), r.tensor(0).dtype);
}

Expr expand_to_space(Builder& b, const SubPixelAttrs& a, const Site& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const Dim block = a.block_size;
  Expr x = transposed(b, c.args[0], axes_to_plain(layout));
  if (a.mode == "DCR") {
    x = split_axis(b, split_axis(b, x, 1, block * block, -1), 1, block, block);  // N, u, v, C, H, W
    x = transposed(b, x, {0, 3, 4, 1, 5, 2});
  } else {
    x = split_axis(b, split_axis(b, x, 1, -1, block * block), 2, block, block);  // N, C, u, v, H, W
    x = transposed(b, x, {0, 1, 4, 2, 5, 3});
  }
  x = merge_axes(b, merge_axes(b, x, 4), 2);
  return transposed(b, x, axes_from_plain(layout));
}

Expr expand_to_depth(Builder& b, const SubPixelAttrs& a, const Site& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const Dim block = a.block_size;
  Expr x = transposed(b, c.args[0], axes_to_plain(layout));
  x = split_axis(b, split_axis(b, x, 3, -1, block), 2, -1, block);  // N, C, H, u, W, v
  x = transposed(b, x, {0, 3, 5, 1, 2, 4});
  x = merge_axes(b, merge_axes(b, x, 1), 1);
  return transposed(b, x, axes_from_plain(layout));
}

}  // namespace

const OpDef kDepthToSpace = define<SubPixelAttrs>({
    .name = "nn.depth_to_space",
    .doc = "Images with fewer channels and more pixels: channels become the pixels of small blocks.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kInjective,
    .relate = relate_to_space,
    .expand = expand_to_space,
});

const OpDef kSpaceToDepth = define<SubPixelAttrs>({
    .name = "nn.space_to_depth",
    .doc = "Images with more channels and fewer pixels: the pixels of small blocks become channels.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kInjective,
    .relate = relate_to_depth,
    .expand = expand_to_depth,
});

}  // namespace relay::op
