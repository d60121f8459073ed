// Adaptive pooling: equal parts of lines, images and volumes, of each its mean or its largest
// element. Part i of m along an axis of n elements is those from floor(i*n / m) to before
// ceil((i+1)*n / m).
//
//   nn.adaptive_avg_pool1d(data)[n, c, x] = mean of part x of data[n, c, :]
//   (Tensor[(n, c, w), d]) -> Tensor[(n, c, w'), d]
//
//   nn.adaptive_max_pool1d(data)[n, c, x] = max of part x of data[n, c, :]
//   (Tensor[(n, c, w), d]) -> Tensor[(n, c, w'), d]
//
//   nn.adaptive_avg_pool2d(data)[n, c, y, x] = mean of part (y, x) of data[n, c, :, :]
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//
//   nn.adaptive_max_pool2d(data)[n, c, y, x] = max of part (y, x) of data[n, c, :, :]
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//
//   nn.adaptive_avg_pool3d(data)[n, c, z, y, x] = mean of part (z, y, x) of data[n, c, :, :, :]
//   (Tensor[(n, c, l, h, w), d]) -> Tensor[(n, c, l', h', w'), d]
//
//   nn.adaptive_max_pool3d(data)[n, c, z, y, x] = max of part (z, y, x) of data[n, c, :, :, :]
//   (Tensor[(n, c, l, h, w), d]) -> Tensor[(n, c, l', h', w'), d]
//
//   C1: data has rank 3 for lines, 4 for images, 5 for volumes, and a floating-point dtype for
//       means, a numeric one for the largest element.
//   C2: the layout is an order of NCW, NCHW, NCDHW.
//   C3: output_size is empty (the data stay), or one known positive extent, or one for each spatial
//       axis, not above 4096.
//   C4: an extent of the data is known unless that of the result is 1.
//
// Of no elements the mean is NaN and the largest one the least value of the dtype.
#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct AdaptivePoolAttrs {
  std::string spatial;  // the letters of the spatial axes: no attribute, but what the operator is about
  std::vector<int64_t> output_size = {};
  std::string layout, out_layout = {};

  explicit AdaptivePoolAttrs(const std::string& letters) : spatial(letters), layout("NC" + letters) {}

  static constexpr auto kFields =
      fields(field("output_size", &AdaptivePoolAttrs::output_size,
                   "of the result: one extent, or one for each spatial axis"),
             field("layout", &AdaptivePoolAttrs::layout, "an order of the letters of the default"),
             field("out_layout", &AdaptivePoolAttrs::out_layout, "the data's layout, which \"\" stands for"));
};

struct LineAttrs : AdaptivePoolAttrs {
  LineAttrs() : AdaptivePoolAttrs("W") {}
};
struct ImageAttrs : AdaptivePoolAttrs {
  ImageAttrs() : AdaptivePoolAttrs("HW") {}
};
struct VolumeAttrs : AdaptivePoolAttrs {
  VolumeAttrs() : AdaptivePoolAttrs("DHW") {}
};

constexpr int64_t kMost = 4096;  // the expansion has an expression for each row and column

Layout layout_of(const AdaptivePoolAttrs& a) { return read_order("layout", a.layout, cat("NC", a.spatial)); }

template <class A, const OpDef& reduction>
Type relate(Relation& r, const A& a) {
  const size_t axes = a.spatial.size();
  r.require_rank(0, 2 + axes);                                             // C1
  require(r, 0, &reduction == &kMean ? Domain::kFloat : Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  const Layout layout = layout_of(a);           // C2
  require_same_layout(a.out_layout, a.layout);  // C2
  if (a.output_size.empty()) return &x;
  const std::vector<int64_t> size = read_sizes("output_size", a.output_size, axes);  // C3
  std::vector<Dim> dims = layout.extents(x.dims);
  for (size_t axis = 0; axis < axes; ++axis) {
    r.require(size[axis] <= kMost, kAttributes, cat("output_size must not be above ", kMost));  // C3
    r.require(dims[2 + axis].is_const() || size[axis] == 1, 0,
              cat("the ", name_of_axis(axis, axes), " of the data must be known"));  // C4
    dims[2 + axis] = size[axis];
  }
  return r.tensor_of(layout.shape(dims), x.dtype);
}

// Axis by axis: the mean of a rectangle is the mean of the means of its rows.
template <class A, const OpDef& reduction>
Expr expand(Builder& b, const A& a, const Site& c) {
  const Layout layout = layout_of(a);
  Expr x = c.args[0];
  if (a.output_size.empty()) return call(b, kCopy, {x});
  const std::vector<int64_t> size = read_sizes("output_size", a.output_size, a.spatial.size());
  for (size_t axis = 0; axis < size.size(); ++axis) {
    const auto place = static_cast<int64_t>(layout.place(2 + axis));
    const int64_t to = size[axis];
    const auto reduced = [&](Expr part) {
      return call(b, reduction, {part}, {{"axis", std::vector<int64_t>{place}}, {"keepdims", true}});
    };
    if (to == 1) {
      x = reduced(x);
      continue;
    }
    const int64_t from = tensor_type_of(x).dims[static_cast<size_t>(place)].value();
    if (from == to) continue;
    std::vector<Expr> parts;
    // i * from / to, which stays in range for any extent.
    const auto at = [&](int64_t i, int64_t up) { return Dim(i * (from / to) + (i * (from % to) + up) / to); };
    for (int64_t i = 0; i < to; ++i)
      parts.push_back(reduced(sliced(b, x, place, at(i, 0), at(i + 1, to - 1))));
    x = call(b, kConcatenate, {b.tuple(parts)}, {{"axis", place}});
  }
  return x == c.args[0] ? call(b, kCopy, {x}) : x;
}

int64_t length(std::span<const Type> args, const Attrs&) {
  std::vector<Dim> dims = dims_of(*args[0]->as<TensorType>());
  dims.push_back(4);
  return constant_part(dims);
}

template <class A>
Spec<A> mean_of_parts(std::string name, std::string_view data) {
  return {.name = std::move(name),
          .doc = "The means of equal parts of the data, so that the result has a given size.",
          .params = {{"data", data}},
          .fusion = Fusion::kReduction,
          .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
          .relate = relate<A, kMean>,
          .expand = expand<A, kMean>};
}

template <class A>
Spec<A> most_of_parts(std::string name, std::string_view data) {
  return {.name = std::move(name),
          .doc = "The largest elements of equal parts of the data, so that the result has a given size.",
          .params = {{"data", data}},
          .fusion = Fusion::kReduction,
          .relate = relate<A, kMax>,
          .expand = expand<A, kMax>};
}

}  // namespace

const OpDef kAdaptiveAvgPool1d =
    define(mean_of_parts<LineAttrs>("nn.adaptive_avg_pool1d", "a batch of lines"));
const OpDef kAdaptiveMaxPool1d =
    define(most_of_parts<LineAttrs>("nn.adaptive_max_pool1d", "a batch of lines"));
const OpDef kAdaptiveAvgPool2d =
    define(mean_of_parts<ImageAttrs>("nn.adaptive_avg_pool2d", "a batch of images"));
const OpDef kAdaptiveMaxPool2d =
    define(most_of_parts<ImageAttrs>("nn.adaptive_max_pool2d", "a batch of images"));
const OpDef kAdaptiveAvgPool3d =
    define(mean_of_parts<VolumeAttrs>("nn.adaptive_avg_pool3d", "a batch of volumes"));
const OpDef kAdaptiveMaxPool3d =
    define(most_of_parts<VolumeAttrs>("nn.adaptive_max_pool3d", "a batch of volumes"));

}  // namespace relay::op
