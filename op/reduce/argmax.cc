// Where the extremum along some axes is, as an int32.
//
//   argmax(x)[o] = the position of the largest x[i] where i agrees with o outside of the reduced axes
//   argmin(x)[o] = the position of the smallest x[i] where i agrees with o outside of the reduced axes
//
//   (Tensor[s, d]) -> Tensor[s without the reduced axes (or with 1 there, if keepdims), int32]
//   C1: d is numeric.   C2: every axis is in [-rank, rank).   C3: no axis is named twice.
//   C4: there is at least one element along the reduced axes, or the result has none either.
//
// The position counts row-major over the reduced axes. Of several it is the first, or the last if
// select_last_index. NaN counts as the extremum.
#include <cmath>

#include "base/failure.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"

namespace relay::op {
namespace {

struct ArgReduceAttrs : ReduceAttrs {
  bool select_last_index = false;
  static constexpr auto kFields = std::tuple_cat(
      ReduceAttrs::kFields, fields(field("select_last_index", &ArgReduceAttrs::select_last_index,
                                         "the last one where several are equal")));
};

constexpr auto kNothing = "there is no element along the reduced axes";

Type relate(Relation& r, const ArgReduceAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  const std::vector<bool> reduced = reduced_axes(a, x.rank());
  bool nothing = false, nothing_wanted = false;
  for (size_t d = 0; d < x.rank(); ++d) (reduced[d] ? nothing : nothing_wanted) |= x.dims[d] == Dim(0);
  r.require(!nothing || nothing_wanted, 0, kNothing);  // C4
  return reduced_type(r, a, kInt32);                   // C2, C3
}

// Both operators find a maximum; for the minimum, order is turned around.
template <bool minimum>
bool before(const Tensor& x, int64_t i, int64_t j) {
  const int64_t p = minimum ? j : i, q = minimum ? i : j;
  if (x.dtype().is_float()) return x.get(p) < x.get(q);
  if (x.dtype().is_signed_int()) return x.get_int(p) < x.get_int(q);
  return static_cast<uint64_t>(x.get_int(p)) < static_cast<uint64_t>(x.get_int(q));
}

template <bool minimum>
void evaluate(const ArgReduceAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const auto is_nan = [&](int64_t i) { return x.dtype().is_float() && std::isnan(x.get(i)); };
  const Groups g = groups(x.shape(), reduced_axes(a, x.rank()));
  for (size_t o = 0; o < g.start.size(); ++o) {
    size_t best = 0;
    for (size_t r = 1; r < g.step.size(); ++r) {
      const int64_t i = g.start[o] + g.step[best], j = g.start[o] + g.step[r];
      const bool same =
          is_nan(i) ? is_nan(j) : !is_nan(j) && !before<minimum>(x, i, j) && !before<minimum>(x, j, i);
      const bool better = !is_nan(i) && (is_nan(j) || before<minimum>(x, i, j));
      if (better || (same && a.select_last_index)) best = r;
    }
    out[0].set_int(static_cast<int64_t>(o), static_cast<int64_t>(best));
  }
}

// First the extremum, then the least (or largest) position where it stands: both steps are plain
// reductions, which schedules know how to split.
template <bool minimum>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const ArgReduceAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  const std::vector<bool> reduced = reduced_axes(a, x.rank());
  const std::vector<kernel::Expr> extents = reduced_extents(x, reduced), shape = c.shape();
  const kernel::Tensor extremum = k.reduce(
      minimum ? "min" : "max", x.dtype(), shape, extents,
      minimum ? k.minimum(x.dtype()) : k.maximum(x.dtype()),
      [&](kernel::Indices i, kernel::Indices r) { return reduced_at(x, reduced, a.keepdims, i, r); });
  const bool last = a.select_last_index;
  const kernel::Reducer pick = last ? k.maximum(kInt32) : k.minimum(kInt32);
  const kernel::Tensor position =
      k.reduce("position", kInt32, shape, extents, pick, [&](kernel::Indices i, kernel::Indices r) {
        const kernel::Expr here = reduced_at(x, reduced, a.keepdims, i, r);
        kernel::Expr hit = equal(here, extremum.at(i)), number = k.index(0);
        if (x.dtype().is_float()) hit = logical_or(hit, math(kernel::Math::kIsNan, here));
        for (size_t d = 0; d < extents.size(); ++d) number = number * extents[d] + r[d];
        return select(hit, cast(kInt32, number), pick.init);
      });
  bool surely_something = true;
  kernel::Expr something = k.pool().integer(1, kBool);
  for (const kernel::Expr e : extents) {
    if (e->kind == kernel::ExprKind::kInt) continue;
    surely_something = false;
    something = logical_and(something, less(k.index(0), e));
  }
  if (surely_something) return {position};
  return {k.compute("checked", kInt32, shape, [&](kernel::Indices i) {
    k.require_shape(something, kNothing);  // C4
    return position.at(i);
  })};
}

constexpr auto kIsIndex = "the result is a position";

}  // namespace

const OpDef kArgmax = define<ArgReduceAttrs>({
    .name = "argmax",
    .doc = "The position of the largest element along some axes.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kReduction,
    .not_differentiable = kIsIndex,
    .relate = relate,
    .evaluate = evaluate<false>,
    .lower = lower<false>,
});

const OpDef kArgmin = define<ArgReduceAttrs>({
    .name = "argmin",
    .doc = "The position of the smallest element along some axes.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kReduction,
    .not_differentiable = kIsIndex,
    .relate = relate,
    .evaluate = evaluate<true>,
    .lower = lower<true>,
});

}  // namespace relay::op
