// nn.lrn(x)[.., i, ..] = x[.., i, ..] / (bias + alpha / size * sum of x[.., j, ..]^2)^beta
// over |i - j| <= size // 2, where i and j are indices along `axis`
//
//   (Tensor[s, d]) -> Tensor[s, d]
//   C1: d is floating.   C2: axis is in [-rank, rank).   C3: size is positive and odd.
//   C4: not more than one of the numbers of elements before, along and behind the axis is unknown.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "kernel/simplify.h"
#include "op/domain.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct LrnAttrs {
  int64_t size = 5;
  int64_t axis = 1;
  double bias = 2;
  double alpha = 0.0001;
  double beta = 0.75;
  static constexpr auto kFields =
      fields(field("size", &LrnAttrs::size, "how many neighbours count"),
             field("axis", &LrnAttrs::axis, "along which they lie"),
             field("bias", &LrnAttrs::bias, "is added to the mean of the squares"),
             field("alpha", &LrnAttrs::alpha, "the weight of the squares"),
             field("beta", &LrnAttrs::beta, "the exponent"));
};

// The elements before, along and behind the axis.
std::vector<Dim> parts(const TensorType& x, size_t axis) {
  const std::vector<Dim> dims = dims_of(x);
  return {product(std::span(dims).first(axis)), dims[axis], product(std::span(dims).subspan(axis + 1))};
}

Type relate(Relation& r, const LrnAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const std::vector<Dim> p = parts(x, r.axis(a.axis, x.rank()));  // C2
  r.require(a.size > 0 && a.size % 2 == 1 && a.size < INT32_MAX, kAttributes,
            cat("size must be positive and odd, not ", a.size));  // C3
  r.require(p[0].is_unknown() + p[1].is_unknown() + p[2].is_unknown() < 2, 0,
            "too many extents are unknown, `?`");  // C4
  return &x;
}

bool may_be_empty(Dim extent) {
  if (!extent.is_symbolic()) return extent.is_unknown();
  const std::optional<int64_t> least = kernel::Bounds().of(extent.symbolic()).low;
  return !least || *least < 1;
}

// The mean of the squares is that of a window which moves along one axis of an image; what lies
// behind the axis are its channels.
Expr expand(Builder& b, const LrnAttrs& a, const Site& c) {
  const TensorType& type = c.tensor(0);
  const Term x(b, c.args[0]);
  std::vector<Dim> p = parts(type, from_front(a.axis, type.rank()));
  if (p[1] == Dim(0)) return x;
  // No window fits into an axis without elements. Where there may be none, one more of padding
  // makes room for one window more, which is left out of the result.
  const bool one_more = may_be_empty(p[1]);
  const bool known = !any_unknown(p);
  for (Dim& d : p) {
    if (d.is_unknown()) d = Dim(-1);
  }
  const Term image =
      x.apply(kReshape, {x * x}, {{"newshape", std::vector<Dim>{p[0], p[1], 1, p[2]}}, {"allowzero", known}});
  Term mean = x.apply(kAvgPool2d, {image},
                      {{"pool_size", std::vector<int64_t>{a.size, 1}},
                       {"padding", std::vector<int64_t>{a.size / 2, 0, a.size / 2 + one_more, 0}},
                       {"layout", "NHWC"},
                       {"count_include_pad", true}});
  if (one_more) {
    mean = x.apply(
        kStridedSlice, {mean},
        {{"begin", std::vector<Dim>{0}}, {"end", std::vector<Dim>{-1}}, {"axes", std::vector<int64_t>{1}}});
  }
  const Term squares(b, in_shape_of(b, mean, x));
  const Term base = squares * squares.number(a.alpha) + a.bias;
  return x / base.apply(kPower, {base, base.number(a.beta)});
}

// The result, times what the base loses: if alpha and the bias have different signs, the parts of
// the base cancel. Its relative error is then larger than theirs, and the power has
// it `beta` times.
void terms(const Attrs& attrs, Args in, Results out) {
  const auto a = read_attrs<LrnAttrs>(attrs);
  const Shape& shape = in[0].shape();
  const size_t axis = from_front(a.axis, in[0].rank());
  int64_t behind = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) behind *= shape[d];
  for (int64_t at = 0; at < in[0].size(); ++at) {
    const int64_t i = at / behind % shape[axis];
    const int64_t first = std::max(i - a.size / 2, int64_t{0}),
                  last = std::min(i + a.size / 2, shape[axis] - 1);
    double squares = 0;
    for (int64_t j = first; j <= last; ++j) squares += std::pow(in[0].get(at + (j - i) * behind), 2);
    const double mean = a.alpha * squares / static_cast<double>(a.size), base = mean + a.bias;
    const double lost = (std::fabs(mean) + std::fabs(a.bias)) / std::fabs(base) - 1;
    const double y = in[0].get(at) / std::pow(base, a.beta);
    out[0].set(at, std::fabs(y) * (1 + std::fabs(a.beta) * lost));
  }
}

}  // namespace

const OpDef kLrn = define<LrnAttrs>({
    .name = "nn.lrn",
    .doc = "Divide each element by a power of the mean square of its neighbours along an axis.",
    .params = {{"data", "the input"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = [](auto, const Attrs& attrs) { return read_attrs<LrnAttrs>(attrs).size + 16; },
                  .terms = terms},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
