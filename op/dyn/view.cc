// The same elements, in the same order, in a shape that only a run tells: dyn.reshape,
// dyn.expand_dims, dyn.squeeze.
#include "op/dyn/view.h"

#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/domain.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"

namespace relay::op {
namespace {

// All of them are lowered and differentiated alike.
template <class A>
std::vector<kernel::Tensor> lower_view(kernel::Builder& k, const A&, const Lowering& c) {
  return lower_as(kReshape, {{"newshape", std::vector<Dim>()}}, k, c, 1);
}

template <class A>
std::vector<Expr> differentiate_view(Builder& b, const A&, const Site& c) {
  return {call(b, kReshapeLike, {c.dy, c.args[0]}), nullptr};
}

// --- reshape -------------------------------------------------------------------------------------

constexpr std::string_view kBadExtent = "the shape holds a number that is neither an extent, nor 0 nor -1";
constexpr std::string_view kTwoInferred = "the shape can have one -1, not two";
constexpr std::string_view kNothingToCopy = "the shape has a 0 for a dimension that the tensor does not have";
constexpr std::string_view kOtherCount = "the shape has another number of elements than the tensor";

// dyn.reshape(x, newshape)[i] = x[j], where i and j have one position in row-major order
//
//   (Tensor[s, d], Tensor[(rank), e]) -> Tensor[(?, ..), d]
//   C1: newshape is a vector of integers whose number is known.
//   C2: the attribute newshape is empty.
//   C3: what becomes a scalar has one element.
//
// Of the codes of `reshape` there are two: 0 keeps the extent in the same place, and -1 is
// inferred. A run traps on others, and if the numbers of elements differ.
Type relate_reshape(Relation& r, const DynReshapeAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t rank = known_length(r, 1, "the extents of a shape");                 // C1
  require_empty(r, a.newshape, "newshape");                                         // C2
  if (rank == 0) r.same(product(dims_of(x)), Dim(1), 0, "the number of elements");  // C3
  return sized_by_data(r, rank, x.dtype);
}

void evaluate_reshape(const DynReshapeAttrs& a, Args in, Results out) {
  const Shape& x = in[0].shape();
  Shape shape = elements_of(in[1]);
  std::optional<size_t> inferred;
  int64_t others = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !a.allowzero) {
      if (i >= x.size()) throw Trap(std::string(kNothingToCopy));
      shape[i] = x[i];
    }
    if (shape[i] < -1) throw Trap(std::string(kBadExtent));
    if (shape[i] == -1) {
      if (inferred) throw Trap(std::string(kTwoInferred));
      inferred = i;
    } else {
      others = saturated_product(others, shape[i]);
    }
  }
  const int64_t all = in[0].size();
  if (inferred) shape[*inferred] = others > 0 && all % others == 0 ? all / others : -1;
  if (inferred ? shape[*inferred] < 0 : others != all) throw Trap(std::string(kOtherCount));
  out[0] = in[0].reshaped(shape);
}

kernel::Tensor extents_of_reshape(kernel::Builder& k, const DynReshapeAttrs& a, const Lowering& c) {
  const size_t rank = c.out_types[0]->rank();
  const kernel::Tensor& x = c.in[0];
  return extents_vector(k, rank, [&] {
    std::vector<kernel::Expr> shape = elements_of(k, c.in[1], rank);
    const kernel::Expr zero = k.index(0), one = k.index(1), minus_one = k.index(-1);
    kernel::Expr inferred = zero, others = one, all = one;
    for (size_t i = 0; i < rank; ++i) {
      if (!a.allowzero && i >= x.rank()) k.require(not_equal(shape[i], zero), kNothingToCopy);
      if (!a.allowzero && i < x.rank()) shape[i] = select(equal(shape[i], zero), x.dim(i), shape[i]);
      k.require(less_equal(minus_one, shape[i]), kBadExtent);
      const kernel::Expr is_inferred = equal(shape[i], minus_one);
      inferred = inferred + select(is_inferred, one, zero);
      others = saturated_product(others, select(is_inferred, one, shape[i]));
    }
    for (size_t d = 0; d < x.rank(); ++d) all = all * x.dim(d);
    k.require(less_equal(inferred, one), kTwoInferred);
    const kernel::Expr divisor = max(others, one), rest = floor_div(all, divisor);
    const kernel::Expr exact = logical_and(less(zero, others), equal(rest * divisor, all));
    k.require(select(equal(inferred, one), exact, equal(others, all)), kOtherCount);
    for (kernel::Expr& extent : shape) extent = select(equal(extent, minus_one), rest, extent);
    return shape;
  });
}

// --- expand_dims ---------------------------------------------------------------------------------

struct DynExpandDimsAttrs {
  int64_t num_newaxis = 1;
  static constexpr auto kFields =
      fields(field("num_newaxis", &DynExpandDimsAttrs::num_newaxis, "how many axes are inserted"));
};

constexpr std::string_view kNoSuchAxis = "an axis is outside the tensor";

// dyn.expand_dims(x, axis)[a.., 0, .., 0, c..] = x[a.., c..], with the first 0 at `axis`
//
//   (Tensor[s, d], Tensor[(), e]) -> Tensor[(?, ..), d]
//   C1: the axis is one integer.   C2: num_newaxis is in [0, 64].
//
// The axis counts from the end of the result if it is negative. A run traps if it is not in
// [-rank - 1, rank].
Type relate_expand_dims(Relation& r, const DynExpandDimsAttrs& a) {
  const TensorType& x = r.tensor(0);
  r.require_rank(1, 0);                                                                                 // C1
  require(r, 1, Domain::kInteger);                                                                      // C1
  r.require(a.num_newaxis >= 0 && a.num_newaxis <= 64, kAttributes, "num_newaxis must be in [0, 64]");  // C2
  return sized_by_data(r, x.rank() + static_cast<size_t>(a.num_newaxis), x.dtype);
}

void evaluate_expand_dims(const DynExpandDimsAttrs& a, Args in, Results out) {
  Shape shape = in[0].shape();
  const auto places = static_cast<int64_t>(shape.size()) + 1;
  int64_t axis = index_of(in[1], 0);
  if (axis < -places || axis >= places) throw Trap(std::string(kNoSuchAxis));
  if (axis < 0) axis += places;
  shape.insert(shape.begin() + axis, static_cast<size_t>(a.num_newaxis), 1);
  out[0] = in[0].reshaped(shape);
}

// The axis, counted from the front of `places`.
kernel::Expr counted(kernel::Builder& k, kernel::Expr axis, size_t places) {
  const kernel::Expr zero = k.index(0), end = k.index(static_cast<int64_t>(places));
  k.require(logical_and(less_equal(-end, axis), less(axis, end)), kNoSuchAxis);
  return select(less(axis, zero), axis + end, axis);
}

kernel::Tensor extents_of_expand_dims(kernel::Builder& k, const DynExpandDimsAttrs& a, const Lowering& c) {
  const size_t rank = c.in[0].rank(), more = static_cast<size_t>(a.num_newaxis);
  return extents_vector(k, rank + more, [&] {
    const kernel::Expr axis = counted(k, index_at(c.in[1], {}), rank + 1), one = k.index(1);
    std::vector<kernel::Expr> shape;
    for (size_t d = 0; d < rank + more; ++d) {
      const kernel::Expr place = k.index(static_cast<int64_t>(d));
      const kernel::Expr before = d < rank ? c.in[0].dim(d) : one,
                         behind = d < more ? one : c.in[0].dim(d - more);
      shape.push_back(
          select(less(place, axis), before, select(less(place, axis + a.num_newaxis), one, behind)));
    }
    return shape;
  });
}

// --- squeeze -------------------------------------------------------------------------------------

struct DynSqueezeAttrs {
  std::optional<std::vector<Dim>> axis = {};
  static constexpr auto kFields =
      fields(field("axis", &DynSqueezeAttrs::axis, "must be empty: the argument axes stands for it"));
};

constexpr std::string_view kAxisTwice = "an axis is given twice";
constexpr std::string_view kNotOne = "an axis that is removed has an extent that is not 1";

// dyn.squeeze(x, axes)[i] = x[j], where j is i with 0 at the axes that go
//
//   (Tensor[s, d], Tensor[(n), e]) -> Tensor[(?, ..), d]
//   C1: axes are a vector of integers whose number is known, and not above the rank.
//   C2: the attribute axis is empty.
//
// Axes count from the end if they are negative. A run traps if one is not in [-rank, rank), is
// given twice or has another extent than 1.
Type relate_squeeze(Relation& r, const DynSqueezeAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t n = known_length(r, 1, "axes");                                                     // C1
  r.require(n <= x.rank(), 1, cat("a tensor of rank ", x.rank(), " does not have ", n, " axes"));  // C1
  require_empty(r, a.axis, "axis");                                                                // C2
  return sized_by_data(r, x.rank() - n, x.dtype);
}

void evaluate_squeeze(const DynSqueezeAttrs&, Args in, Results out) {
  const Shape& x = in[0].shape();
  const auto rank = static_cast<int64_t>(x.size());
  std::vector<bool> gone(x.size(), false);
  // What is wrong with the axes comes before what is wrong with the extents, as in compiled code.
  for (int64_t axis : elements_of(in[1])) {
    if (axis < -rank || axis >= rank) throw Trap(std::string(kNoSuchAxis));
  }
  for (int64_t axis : elements_of(in[1])) {
    const size_t d = from_front(axis, x.size());
    if (gone[d]) throw Trap(std::string(kAxisTwice));
    gone[d] = true;
  }
  Shape shape;
  for (size_t d = 0; d < x.size(); ++d) {
    if (gone[d] && x[d] != 1) throw Trap(std::string(kNotOne));
    if (!gone[d]) shape.push_back(x[d]);
  }
  out[0] = in[0].reshaped(shape);
}

// The extents that stay, in order; `wanted` of them.
std::vector<kernel::Expr> squeezed(kernel::Builder& k, const Lowering& c, size_t wanted) {
  const kernel::Tensor& x = c.in[0];
  const kernel::Expr zero = k.index(0), one = k.index(1);
  std::vector<kernel::Expr> axes = elements_of(k, c.in[1], x.rank() - wanted);
  for (kernel::Expr& axis : axes) axis = counted(k, axis, x.rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) k.require(not_equal(axes[i], axes[j]), kAxisTwice);
  }
  std::vector<kernel::Expr> shape(wanted, zero);
  kernel::Expr kept = zero;  // how many stay of those before
  for (size_t d = 0; d < x.rank(); ++d) {
    kernel::Expr gone = k.constant(kBool, 0);
    for (const kernel::Expr axis : axes)
      gone = logical_or(gone, equal(axis, k.index(static_cast<int64_t>(d))));
    k.require(logical_or(logical_not(gone), equal(x.dim(d), one)), kNotOne);
    for (size_t i = 0; i < wanted; ++i) {
      const kernel::Expr here = logical_and(logical_not(gone), equal(kept, k.index(static_cast<int64_t>(i))));
      shape[i] = select(here, x.dim(d), shape[i]);
    }
    kept = kept + select(gone, zero, one);
  }
  return shape;
}

kernel::Tensor extents_of_squeeze(kernel::Builder& k, const DynSqueezeAttrs&, const Lowering& c) {
  const size_t wanted = c.out_types[0]->rank();
  return extents_vector(k, wanted, [&] { return squeezed(k, c, wanted); });
}

// A scalar has no extents, and so nothing else that looks at the axes.
std::vector<kernel::Tensor> lower_squeeze(kernel::Builder& k, const DynSqueezeAttrs&, const Lowering& c) {
  if (c.out_types[0]->rank() > 0) return lower_as(kReshape, {{"newshape", std::vector<Dim>()}}, k, c, 1);
  return {k.compute("squeeze", c.dtype(), {}, [&](kernel::Indices) {
    squeezed(k, c, 0);
    return c.in[0].at(std::vector<kernel::Expr>(c.in[0].rank(), k.index(0)));
  })};
}

}  // namespace

const OpDef kDynReshape = define<DynReshapeAttrs>({
    .name = "dyn.reshape",
    .doc = "The same elements, in the same order, in a shape that only a run tells.",
    .params = {{"data", "any tensor"}, {"newshape", "extents; 0 keeps the argument's, -1 is inferred"}},
    .effects = Effects::kTraps,
    .relate = relate_reshape,
    .evaluate = evaluate_reshape,
    .differentiate = differentiate_view,
    .lower = lower_view,
    .extents = extents_of_reshape,
});

const OpDef kDynExpandDims = define<DynExpandDimsAttrs>({
    .name = "dyn.expand_dims",
    .doc = "Insert axes of extent 1 in a place that only a run tells.",
    .params = {{"data", "any tensor"}, {"axis", "where the first new axis stands in the result"}},
    .effects = Effects::kTraps,
    .relate = relate_expand_dims,
    .evaluate = evaluate_expand_dims,
    .differentiate = differentiate_view,
    .lower = lower_view,
    .extents = extents_of_expand_dims,
});

const OpDef kDynSqueeze = define<DynSqueezeAttrs>({
    .name = "dyn.squeeze",
    .doc = "Remove axes of extent 1 that only a run tells.",
    .params = {{"data", "any tensor"}, {"axes", "which axes go"}},
    .effects = Effects::kTraps,
    .relate = relate_squeeze,
    .evaluate = evaluate_squeeze,
    .differentiate = differentiate_view,
    .lower = lower_squeeze,
    .extents = extents_of_squeeze,
});

}  // namespace relay::op
