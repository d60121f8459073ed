// nn.adaptive_avg_pool2d(data)[n, c, y, x]: the mean of rows floor(y*h / h') to ceil((y+1)*h / h')
// of the image, and of columns likewise
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//   C1: data is a floating-point tensor of rank 4.   C2: the layout is an order of NCHW.
//   C3: output_size is empty (the image stays), or one or two known positive
//       extents, not above 4096.
//   C4: an extent of the image is known unless that of the result is 1.
#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct AdaptivePoolAttrs {
  std::vector<int64_t> output_size = {};
  std::string layout = "NCHW", out_layout = {};
  static constexpr auto kFields =
      fields(field("output_size", &AdaptivePoolAttrs::output_size, "height and width of the result"),
             field("layout", &AdaptivePoolAttrs::layout, "an order of the letters NCHW"),
             field("out_layout", &AdaptivePoolAttrs::out_layout, "the data's layout, which \"\" stands for"));
};

constexpr int64_t kMost = 4096;  // the expansion has an expression for each row and column

Type relate(Relation& r, const AdaptivePoolAttrs& a) {
  r.require_rank(0, 4);           // C1
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const Layout layout = read_order("layout", a.layout, "NCHW");  // C2
  require_same_layout(a.out_layout, a.layout);                   // C2
  if (a.output_size.empty()) return &x;
  const std::array<int64_t, 2> size = read_sizes("output_size", a.output_size);  // C3
  std::array<Dim, 4> dims = parts(layout, x.dims);
  for (size_t axis = 0; axis < 2; ++axis) {
    r.require(size[axis] <= kMost, kAttributes, cat("output_size must not be above ", kMost));  // C3
    r.require(dims[2 + axis].is_const() || size[axis] == 1, 0,
              cat("the ", axis == 0 ? "height" : "width", " of the image must be known"));  // C4
    dims[2 + axis] = size[axis];
  }
  return r.tensor_of(layout.shape(dims), x.dtype);
}

// Axis by axis: the mean of a rectangle is the mean of the means of its rows.
Expr expand(Builder& b, const AdaptivePoolAttrs& a, const Site& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  Expr x = c.args[0];
  if (a.output_size.empty()) return call(b, kCopy, {x});
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto place = static_cast<int64_t>(layout.place(2 + axis));
    const int64_t to = axis == 0 ? a.output_size.front() : a.output_size.back();
    const auto mean = [&](Expr part) {
      return call(b, kMean, {part}, {{"axis", std::vector<int64_t>{place}}, {"keepdims", true}});
    };
    if (to == 1) {
      x = mean(x);
      continue;
    }
    const int64_t from = tensor_type_of(x).dims[static_cast<size_t>(place)].value();
    if (from == to) continue;
    std::vector<Expr> parts;
    // i * from / to, which stays in range for any extent.
    const auto at = [&](int64_t i, int64_t up) { return Dim(i * (from / to) + (i * (from % to) + up) / to); };
    for (int64_t i = 0; i < to; ++i) parts.push_back(mean(sliced(b, x, place, at(i, 0), at(i + 1, to - 1))));
    x = call(b, kConcatenate, {b.tuple(parts)}, {{"axis", place}});
  }
  return x == c.args[0] ? call(b, kCopy, {x}) : x;
}

int64_t length(std::span<const Type> args, const Attrs&) {
  std::vector<Dim> dims = dims_of(*args[0]->as<TensorType>());
  dims.push_back(4);
  return constant_part(dims);
}

}  // namespace

const OpDef kAdaptiveAvgPool2d = define<AdaptivePoolAttrs>({
    .name = "nn.adaptive_avg_pool2d",
    .doc = "The means of equal parts of an image, so that the result has a given size.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kReduction,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
