// nn.l2_normalize(data, eps, axis) = data / sqrt(max(sum over axis of data^2, eps))
//
//   (Tensor[s, d]) -> Tensor[s, d]
//   C1: d is floating.   C2: every axis is in [-rank, rank).   C3: no axis is named twice.
//
// float16 and bfloat16 are computed in float32. If an element of a sum is NaN, so are
// all results of it.
#include "op/domain.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct L2NormalizeAttrs {
  double eps = 0;
  std::vector<int64_t> axis = {};
  static constexpr auto kFields =
      fields(field("eps", &L2NormalizeAttrs::eps, "the least sum of squares that is divided by").required(),
             field("axis", &L2NormalizeAttrs::axis, "the axes that are summed over, from the end if negative")
                 .required());
};

Type relate(Relation& r, const L2NormalizeAttrs& a) {
  require(r, 0, Domain::kFloat);                 // C1
  distinct_axes(r, a.axis, r.tensor(0).rank());  // C2, C3
  return &r.tensor(0);
}

Expr expand(Builder& b, const L2NormalizeAttrs& a, const Site& c) {
  const DType d = c.tensor(0).dtype;
  Term x(b, c.args[0]);
  if (d.bits < 32) x = x.apply(kCast, {x}, {{"dtype", kFloat32}});
  const Term sum = x.apply(kSum, {x * x}, {{"axis", a.axis}, {"keepdims", true}});
  const Term least = x.apply(kMaximum, {sum, x.number(a.eps)});
  const Term y = x / x.apply(kSqrt, {least});
  return d.bits < 32 ? y.apply(kCast, {y}, {{"dtype", d}}) : y;
}

// The root halves the error of the sum; besides it there are four roundings.
int64_t length(std::span<const Type> args, const Attrs&) {
  std::vector<Dim> dims = dims_of(*args[0]->as<TensorType>());
  const int64_t terms = constant_part(dims);
  return terms < INT64_MAX - 4 ? terms + 4 : terms;
}

}  // namespace

const OpDef kL2Normalize = define<L2NormalizeAttrs>({
    .name = "nn.l2_normalize",
    .doc = "Divide by the Euclidean length along some axes.",
    .params = {{"data", "the input"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
