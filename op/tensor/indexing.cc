// invert_permutation, unravel_index, adv_index: other ways to say where elements stand.
#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

// --- invert_permutation --------------------------------------------------------------------------

// invert_permutation(p)[p[i]] = i
//
// What is outside of [0, n) traps. If a number occurs twice, its last place counts, and the place
// of one that does not occur is 0.
//
//   (Tensor[(n), d]) -> Tensor[(n), d]
//   C1: d is an integer.   C2: data has one axis.
Type relate_invert(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kInteger);  // C1
  r.require_rank(0, 1);             // C2
  return &r.tensor(0);
}

Expr expand_invert(Builder& b, const NoAttrs&, const Site& c) {
  const Term p(b, c.args[0]), ones = p.apply(kOnesLike, {p});
  const Term places = p.apply(kCumsum, {ones}, {{"axis", int64_t{0}}, {"exclusive", true}});
  return call(b, kScatterElements, {p.apply(kZerosLike, {p}), p, places});
}

// --- unravel_index -------------------------------------------------------------------------------

// unravel_index(j, shape)[a, i..] = the index along axis a of element j[i..] of a tensor of that shape
//
// Elements count in row-major order. What the shape does not hold traps, and so does an extent of
// the shape below 1 if there is an index. Without axes there is no element that could trap.
//
//   (Tensor[s, d], Tensor[(m), e]) -> Tensor[(m, s..), d]
//   C1: both are integers.   C2: the shape has one axis, of constant extent.
Type relate_unravel(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kInteger);  // C1
  require(r, 1, Domain::kInteger);  // C1
  r.require_rank(1, 1);             // C2
  const Dim axes = r.tensor(1).dims[0];
  r.require(axes.is_const(), 1,
            cat("the rank of the shape must be a constant, found ", relay::show(axes)));  // C2
  std::vector<Dim> out = dims_of(r.tensor(0));
  out.insert(out.begin(), axes);
  return r.tensor_of(out, r.tensor(0).dtype);
}

void evaluate_unravel(const NoAttrs&, Args in, Results out) {
  const Tensor &j = in[0], &shape = in[1];
  if (shape.size() == 0) return;
  for (int64_t i = 0; i < j.size(); ++i) {
    int64_t rest = index_of(j, i);
    bool fits = rest >= 0;
    for (int64_t a = shape.size(); a-- > 0 && fits;) {
      const int64_t extent = index_of(shape, a);
      fits = extent >= 1;
      if (!fits) break;
      out[0].set_int(a * j.size() + i, rest % extent);
      rest /= extent;
    }
    if (!fits || rest != 0) throw Trap(kIndexOutOfRange);
  }
}

std::vector<kernel::Tensor> lower_unravel(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor j = c.in[0], shape = c.in[1];
  const int64_t axes = c.arg_types[1]->dims[0].value();
  return {k.compute("unravel_index", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const Expr zero = k.index(0), one = k.index(1);
    Expr rest = index_at(j, i.subspan(1)), found = zero;
    Expr fits = less_equal(zero, rest);
    for (int64_t a = axes; a-- > 0;) {
      const std::vector<Expr> at{k.index(a)};
      const Expr extent = index_at(shape, at), divisor = max(extent, one);
      fits = logical_and(fits, less_equal(one, extent));
      found = select(equal(i[0], at[0]), floor_mod(rest, divisor), found);
      rest = floor_div(rest, divisor);
    }
    k.require(logical_and(fits, equal(rest, zero)), kIndexOutOfRange);
    return cast(c.dtype(), found);
  })};
}

// --- adv_index -----------------------------------------------------------------------------------

// adv_index((x, j_0, .., j_(m-1)))[i.., c..] = x[j_0[i..], .., j_(m-1)[i..], c..]
//
// The indices broadcast with each other. One out of range traps; numpy counts negative ones from
// the end instead.
//
//   (Tensor[s, d], Tensor[t, e], ..) -> Tensor[(t.., s without its first m), d]
//   C1: there are at least one and at most as many indices as axes.
//   C2: indices are integers.
//   C3: their shapes broadcast.
Type relate_adv(Relation& r, const NoAttrs&) {
  const std::vector<const TensorType*> all = r.tensors(0);
  const size_t most = all.empty() ? 0 : all[0]->rank();
  r.require(all.size() >= 2 && all.size() - 1 <= most, 0,
            cat("expected a tensor and from 1 to ", most, " indices, found ",
                all.empty() ? 0 : all.size() - 1));  // C1
  std::vector<Dim> out;
  for (size_t n = 1; n < all.size(); ++n) {
    r.require(all[n]->dtype.is_int(), 0,
              cat("index ", n - 1, " must be an integer, found ", all[n]->dtype.name()));  // C2
    out = r.broadcast(out, all[n]->dims, kNoOther, 0);                                     // C3
  }
  out.insert(out.end(), all[0]->dims.begin() + static_cast<std::ptrdiff_t>(all.size() - 1),
             all[0]->dims.end());
  return r.tensor_of(out, all[0]->dtype);
}

Expr expand_adv(Builder& b, const NoAttrs&, const Site& c) {
  const auto& types = *c.type(0)->as<TupleType>();
  const auto* tuple = c.args[0]->as<Tuple>();
  const auto part = [&](uint32_t n) { return tuple ? tuple->fields[n] : b.proj(c.args[0], n); };
  std::vector<Term> indices;
  for (uint32_t n = 1; n < types.fields.size(); ++n) {
    const Term index(b, part(n));
    // What does not fit int64 is no index; clipped, it still is none.
    const bool may_wrap = index.dtype() == kUInt64;
    const Term most(b, b.constant(Tensor::scalar_int(index.dtype(), may_wrap ? INT64_MAX : 0)));
    const Term in_range = may_wrap ? index.apply(kMinimum, {index, most}) : index;
    indices.push_back(index.apply(kCast, {in_range}, {{"dtype", kInt64}}));
  }
  // The sum of zeros has the shape to which all broadcast.
  Term shape = indices[0].apply(kZerosLike, {indices[0]});
  for (size_t n = 1; n < indices.size(); ++n) shape = shape + indices[n].apply(kZerosLike, {indices[n]});
  std::vector<Expr> rows;
  for (const Term& index : indices) rows.push_back(index + shape);
  const Expr vectors = call(b, kStack, {b.tuple(rows)}, {{"axis", int64_t{0}}});
  return call(b, kGatherNd, {part(0), vectors});
}

}  // namespace

const OpDef kInvertPermutation = define<NoAttrs>({
    .name = "invert_permutation",
    .doc = "For each number of a permutation, where it stands.",
    .params = {{"data", "a permutation of 0 .. n - 1"}},
    .effects = Effects::kTraps,
    .relate = relate_invert,
    .expand = expand_invert,
});

const OpDef kUnravelIndex = define<NoAttrs>({
    .name = "unravel_index",
    .doc = "The index along each axis, of elements given by their number.",
    .params = {{"data", "numbers of elements"}, {"shape", "of the tensor that has these elements"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kInjective,
    .not_differentiable = "the result holds positions",
    .relate = relate_unravel,
    .evaluate = evaluate_unravel,
    .lower = lower_unravel,
});

const OpDef kAdvIndex = define<NoAttrs>({
    .name = "adv_index",
    .doc = "Elements or slices of a tensor, chosen by one tensor of indices for each of its first axes.",
    .params = {{"inputs", "a tuple: a tensor, then its indices"}},
    .effects = Effects::kTraps,
    .relate = relate_adv,
    .expand = expand_adv,
});

}  // namespace relay::op
