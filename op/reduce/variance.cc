// variance(x, m) = mean((x - m)^2) over some axes; with `unbiased`, the sum divided by one less
// than the count
//
//   (Tensor[s, d], Tensor[t, d]) -> Tensor[s without the reduced axes (or with 1 there, if keepdims), d]
//   C1: d is floating.   C2: every axis is in [-rank, rank).   C3: no axis is named twice.
//   C4: m has the dtype of x.   C5: m broadcasts to the shape of x.
#include "op/reduce/variance.h"

#include "base/cat.h"
#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const VarianceAttrs& a) {
  const TensorType &x = r.tensor(0), &m = r.tensor(1);
  require(r, 0, Domain::kFloat);                                                     // C1
  r.require_same_dtype(1, 0);                                                        // C4
  r.require(m.rank() <= x.rank(), 1, "the mean has more dimensions than the data");  // C5
  for (size_t d = 0; d < m.rank(); ++d) {
    r.broadcasts_to(m.dims[d], x.dims[d + x.rank() - m.rank()], 1, cat("dimension ", d, " of the mean"),
                    0);  // C5
  }
  return reduced_type(r, a, x.dtype);  // C2, C3
}

Expr expand(Builder& b, const VarianceAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), off = x - Term(b, sure_to_broadcast(b, c.args[1], c.args[0]));
  if (!a.unbiased) return call(b, kMean, {off * off}, arguments(a));
  // The count as large as the result: a sum of ones where it is not known.
  const Term sum(b, call(b, kSum, {off * off}, arguments(a)));
  const Term n = count(b, a, x);
  if (n.e->as<Constant>()) return sum / (n - 1);
  return sum / (Term(b, call(b, kSum, {ones_like(b, x)}, arguments(a))) - 1);
}

}  // namespace

const OpDef kVariance = define<VarianceAttrs>({
    .name = "variance",
    .doc = "The mean square distance from a given mean, over some axes.",
    .params = {{"data", "the input"}, {"mean", "its mean over the same axes, with keepdims"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = reduced_length<VarianceAttrs>,
                  .magnitude = Tolerance::Magnitude::kResult},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
