// The mean and the largest element of each channel of an image.
//
//   nn.global_avg_pool2d(data)[n, c, 0, 0] = mean over y, x of data[n, c, y, x]
//   nn.global_max_pool2d(data)[n, c, 0, 0] = max over y, x of data[n, c, y, x]
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, 1, 1), d]
//   C1: data has rank 4 and a numeric dtype, for the mean a floating-point one.
//   C2: the layout is an order of NCHW.
#include "op/nn/global_pool2d.h"

#include "op/domain.h"
#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

template <Domain domain>
Type relate(Relation& r, const GlobalPoolAttrs& a) {
  r.require_rank(0, 4);                                          // C1
  require(r, 0, domain);                                         // C1
  const Layout layout = read_order("layout", a.layout, "NCHW");  // C2
  require_same_layout(a.out_layout, a.layout);                   // C2
  std::vector<Dim> dims = dims_of(r.tensor(0));
  dims[layout.place(2)] = dims[layout.place(3)] = 1;
  return r.tensor_of(dims, r.tensor(0).dtype);
}

Expr expand(Builder& b, const OpDef& reduction, const GlobalPoolAttrs& a, const Site& c) {
  std::vector<int64_t> axes = axes_to_plain(read_order("layout", a.layout, "NCHW"));
  axes.erase(axes.begin(), axes.begin() + 2);
  return call(b, reduction, {c.args[0]}, {{"axis", axes}, {"keepdims", true}});
}

int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const Layout layout = read_order("layout", read_attrs<GlobalPoolAttrs>(attrs).layout, "NCHW");
  const std::array<Dim, 4> dims = parts(layout, args[0]->as<TensorType>()->dims);
  return (dims[2].is_const() ? dims[2].value() : 1) * (dims[3].is_const() ? dims[3].value() : 1);
}

}  // namespace

const OpDef kGlobalAvgPool2d = define<GlobalPoolAttrs>({
    .name = "nn.global_avg_pool2d",
    .doc = "The mean of each channel of an image.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kReduction,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate<Domain::kFloat>,
    .expand = [](Builder& b, const GlobalPoolAttrs& a, const Site& c) { return expand(b, kMean, a, c); },
});

const OpDef kGlobalMaxPool2d = define<GlobalPoolAttrs>({
    .name = "nn.global_max_pool2d",
    .doc = "The largest element of each channel of an image.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kReduction,
    .relate = relate<Domain::kNumber>,
    .expand = [](Builder& b, const GlobalPoolAttrs& a, const Site& c) { return expand(b, kMax, a, c); },
});

}  // namespace relay::op
