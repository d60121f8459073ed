// searchsorted(s, v)[o.., i] = the least place in s[o..] before which v[o.., i] can be put without
//     leaving the order; with `right` the greatest one
//
// The sequences are in ascending order, NaN last, as sort leaves them. A sequence with one axis
// serves all values. The search halves what is left, so that a sequence of n elements takes log2 n
// steps for each value, one after the other. In a sequence out of order it ends
// somewhere in [0, n].
//
//   (Tensor[(o.., n), d], Tensor[(o.., m), d]) -> Tensor[(o.., m), dtype]
//   C1: both are numeric and have one dtype.   C2: the sequences have at least one axis.
//   C3: with more than one axis, both have the same rank and agree but for the last one.
//   C4: dtype is an integer's.
#include "base/cat.h"
#include "op/domain.h"
#include "op/sort/order.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct SearchSortedAttrs {
  bool right = false;
  DType dtype = kInt32;
  static constexpr auto kFields =
      fields(field("right", &SearchSortedAttrs::right, "behind equal elements, not before them"),
             field("dtype", &SearchSortedAttrs::dtype, "of the result"));
};

Type relate(Relation& r, const SearchSortedAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  r.require_same_dtype(1, 0);      // C1
  const TensorType &s = r.tensor(0), &v = r.tensor(1);
  r.require_no_scalar(0);  // C2
  r.require(holds(Domain::kInteger, a.dtype), kAttributes,
            cat("dtype must be an integer's, not ", a.dtype.name()));  // C4
  std::vector<Dim> out = dims_of(v);
  if (s.rank() > 1) {
    r.require_rank(1, s.rank());  // C3
    for (size_t d = 0; d + 1 < out.size(); ++d)
      out[d] = r.same(out[d], s.dims[d], 1, cat("dimension ", d), 0);  // C3
  }
  return r.tensor_of(out, a.dtype);
}

// Both rules take the same steps: of so many elements as a power of two, from the largest power
// that fits the sequence down to 1.
void evaluate(const SearchSortedAttrs& a, Args in, Results out) {
  const Tensor &s = in[0], &v = in[1];
  const int64_t n = s.shape().back(), m = s.rank() > 1 ? v.shape().back() : 0;
  int64_t largest = 1;
  while (largest <= n / 2) largest *= 2;
  for (int64_t i = 0; i < v.size(); ++i) {
    const int64_t first = m == 0 ? 0 : i / m * n;
    int64_t place = 0;
    for (int64_t step = largest; step > 0; step /= 2) {
      if (step > n - place) continue;
      const int64_t last = first + place + step - 1;
      if (a.right ? !comes_before(v, i, s, last, true) : comes_before(s, last, v, i, true)) place += step;
    }
    out[0].set_int(i, place);
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const SearchSortedAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor s = c.in[0], v = c.in[1];
  const Expr n = s.dim(s.rank() - 1), zero = k.index(0), one = k.index(1), digits = digits_of(k, n);
  std::vector<Expr> steps = c.shape();
  steps.push_back(digits);
  const auto value_at = [](kernel::Indices r) { return r.first(r.size() - 1); };
  const kernel::Tensor places = k.update(
      "places", kInt64, c.shape(), [&](kernel::Indices) { return zero; }, steps,
      [&](kernel::Indices r) { return copy_of(value_at(r)); },
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr place = self.at(value_at(r)), step = shift_left(one, digits - 1 - r.back()),
                   next = place + step;
        std::vector<Expr> at;
        if (s.rank() > 1) at = copy_of(value_at(r).first(s.rank() - 1));
        at.push_back(max(min(next, n) - 1, zero));
        const Expr element = s.at(at), value = v.at(value_at(r));
        const Expr further =
            a.right ? logical_not(comes_before(value, element, true)) : comes_before(element, value, true);
        return select(logical_and(less_equal(next, n), further), next, place);
      });
  return {k.compute("searchsorted", c.dtype(), c.shape(),
                    [&](kernel::Indices i) { return cast(c.dtype(), places.at(i)); })};
}

}  // namespace

const OpDef kSearchSorted = define<SearchSortedAttrs>({
    .name = "searchsorted",
    .doc = "Where values belong in sequences that are in order.",
    .params = {{"sorted_sequence", "in ascending order along the last axis"}, {"values", "what is searched"}},
    .not_differentiable = "the result holds positions",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
