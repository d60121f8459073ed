// take, gather: elements found by their index along one axis.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

// --- take ----------------------------------------------------------------------------------------
//
//   take(x, j, axis)[a..., k..., c...] = x[a..., j[k...], c...], where a... are the indices before the axis
//
// With batch_dims = n, the first n axes of x and of j are the same ones. Without an axis x is
// flattened. An index outside the axis is moved to its nearest end (mode "clip"), counted
// around ("wrap"), or traps ("fast"). An axis without elements has no place for an index, so
// any index traps there.

struct TakeAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> axis = {};
  std::string mode = "clip";
  static constexpr auto kFields = fields(
      field("batch_dims", &TakeAttrs::batch_dims, "number of leading axes that data and indices share"),
      field("axis", &TakeAttrs::axis, "from the end if negative; None: data is flattened"),
      field("mode", &TakeAttrs::mode,
            "an index out of range: \"clip\" takes the nearest end, \"wrap\" counts around, \"fast\" traps; "
            "where the axis "
            "has no elements, any index traps"));
};

// (Tensor[(a.., n, c..), d], Tensor[k, e]) -> Tensor[(a.., k.., c..), d]
// C1: indices are integers.   C2: axis is in [-rank, rank).   C3: mode is "clip", "wrap" or "fast".
// C4: batch_dims is at most the axis and the rank of indices, and those dims agree.
Type relate_take(Relation& r, const TakeAttrs& a) {
  const TensorType &x = r.tensor(0), &j = r.tensor(1);
  require(r, 1, Domain::kInteger);  // C1
  r.require(a.mode == "clip" || a.mode == "wrap" || a.mode == "fast", kAttributes,
            cat("mode must be \"clip\", \"wrap\" or \"fast\", not \"", a.mode, "\""));  // C3
  if (!a.axis) {
    r.require(a.batch_dims == 0, kAttributes, "batch_dims needs an axis");  // C4
    r.require_fits(product(x.dims), 0, "number of elements");
    return r.tensor_of(dims_of(j), x.dtype);
  }
  const size_t axis = r.axis(*a.axis, x.rank());  // C2
  const auto most = static_cast<int64_t>(std::min(axis, j.rank()));
  r.require(a.batch_dims >= 0 && a.batch_dims <= most, kAttributes,
            cat("batch_dims must be in [0, ", most, "], not ", a.batch_dims));  // C4
  const auto batch = static_cast<size_t>(a.batch_dims);
  std::vector<Dim> out;
  for (size_t d = 0; d < axis; ++d)
    out.push_back(d < batch ? r.same(x.dims[d], j.dims[d], 1, cat("batch dimension ", d), 0)
                            : x.dims[d]);  // C4
  for (size_t d = batch; d < j.rank(); ++d) out.push_back(j.dims[d]);
  for (size_t d = axis + 1; d < x.rank(); ++d) out.push_back(x.dims[d]);
  return r.tensor_of(out, x.dtype);
}

// Which parts of a result's index belong to data and which to indices.
struct TakeSplit {
  size_t axis, batch, picked;  // picked: axes of the result that come from indices alone

  TakeSplit(const TakeAttrs& a, size_t rank, size_t index_rank)
      : axis(from_front(*a.axis, rank)),
        batch(static_cast<size_t>(a.batch_dims)),
        picked(index_rank - batch) {}

  template <class T>
  std::vector<T> index(std::span<const T> i) const {  // into indices
    std::vector<T> out(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
    out.insert(out.end(), i.begin() + static_cast<std::ptrdiff_t>(axis),
               i.begin() + static_cast<std::ptrdiff_t>(axis + picked));
    return out;
  }
  template <class T>
  std::vector<T> data(std::span<const T> i, T found) const {  // into data
    std::vector<T> out(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    out.push_back(found);
    out.insert(out.end(), i.begin() + static_cast<std::ptrdiff_t>(axis + picked), i.end());
    return out;
  }
};

int64_t place(const TakeAttrs& a, const Tensor& indices, int64_t i, int64_t extent) {
  if (extent == 0) throw Trap(kIndexOutOfRange);
  const int64_t j = index_of(indices, i);
  if (a.mode == "clip") return std::clamp<int64_t>(j, 0, extent - 1);
  if (a.mode == "wrap" && indices.dtype() == kUInt64)
    return static_cast<int64_t>(static_cast<uint64_t>(indices.get_int(i)) % static_cast<uint64_t>(extent));
  if (a.mode == "wrap") return j % extent < 0 ? j % extent + extent : j % extent;
  if (j < 0 || j >= extent) throw Trap(kIndexOutOfRange);
  return j;
}

void evaluate_take(const TakeAttrs& a, Args in, Results out) {
  const Tensor &x = in[0], &j = in[1];
  if (!a.axis) {
    for (int64_t n = 0; n < j.size(); ++n) copy_element(x, place(a, j, n, x.size()), out[0], n);
    return;
  }
  const TakeSplit split(a, x.rank(), j.rank());
  fill_from(x, out[0], [&](const std::vector<int64_t>& i) {
    const std::vector<int64_t> at = split.index<int64_t>(i);
    return split.data<int64_t>(i, place(a, j, offset_of(j.shape(), at), x.shape()[split.axis]));
  });
}

std::vector<kernel::Tensor> lower_take(kernel::Builder& k, const TakeAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0], j = c.in[1];
  const kernel::Expr zero = k.index(0);
  const auto place = [&](kernel::Indices at, kernel::Expr extent) {
    k.require(kernel::less(zero, extent), kIndexOutOfRange);
    if (a.mode == "wrap" && j.dtype() == kUInt64)
      return kernel::cast(kInt64, kernel::floor_mod(j.at(at), kernel::cast(kUInt64, extent)));
    const kernel::Expr index = index_at(j, at);
    if (a.mode == "clip") return kernel::min(kernel::max(index, zero), extent - 1);
    if (a.mode == "wrap") return kernel::floor_mod(index, extent);
    k.require(kernel::logical_and(kernel::less_equal(zero, index), kernel::less(index, extent)),
              kIndexOutOfRange);
    return index;
  };
  if (!a.axis) {
    const std::vector<Dim> flat{product(c.arg_types[0]->dims)};
    return {k.compute("take", c.dtype(), c.shape(), [&](kernel::Indices i) {
      const std::vector<kernel::Expr> found{place(i, flat[0].expr(c.pool))};
      return x.at(reindex(c.pool, c.arg_types[0]->dims, flat, found));
    })};
  }
  const TakeSplit split(a, x.rank(), j.rank());
  return {k.compute("take", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> at = split.index<kernel::Expr>(i);
    return x.at(split.data<kernel::Expr>(i, place(at, x.dim(split.axis))));
  })};
}

bool take_traps(const TakeAttrs& a, std::span<const Type> args, Type) {
  const auto* x = args[0] ? args[0]->as<TensorType>() : nullptr;
  if (a.mode == "fast" || !x) return true;
  const Dim places = a.axis ? x->dims[from_front(*a.axis, x->rank())] : product(x->dims);
  return !places.is_const() || places.value() == 0;
}

// The extent of an axis as a scalar of the given dtype, also where it is only known at run time.
Term extent_term(Builder& b, Expr x, size_t axis, DType dtype) {
  const Dim d = tensor_type_of(x).dims[axis];
  if (d.is_const()) return {b, b.constant(Tensor::scalar_int(dtype, d.value()))};
  const Expr shape = call(b, kShapeOf, {x}, {{"dtype", dtype}});
  return {b, call(b, kTake, {shape, b.constant(Tensor::scalar_int(kInt64, static_cast<int64_t>(axis)))},
                  {{"axis", int64_t{0}}})};
}

// dx[j] is the sum of the dy that were taken from there.
std::vector<Expr> differentiate_take(Builder& b, const TakeAttrs& a, const Site& c) {
  if (a.batch_dims != 0) throw RelationError{kAttributes, "is not differentiable with batch_dims"};
  Expr x = c.args[0], dy = c.dy;
  if (!a.axis) x = call(b, kReshape, {x}, {{"newshape", std::vector<int64_t>{-1}}});
  const size_t rank = tensor_type_of(x).rank(), axis = from_front(a.axis.value_or(0), rank);
  const size_t picked = c.tensor(1).rank();

  Term index(b, c.args[1]);
  if (index.dtype().bits < 64)  // too narrow, maybe, for the extent
    index = index.apply(kCast, {index}, {{"dtype", kInt64}});
  const Term extent = extent_term(b, x, axis, index.dtype());
  if (a.mode == "wrap") index = index.apply(kFloorMod, {index, extent});
  if (a.mode == "clip") {
    index = index.apply(kMinimum, {index.apply(kMaximum, {index, index.number(0)}), extent - 1});
  }
  // The axis that was indexed comes first in x, and what indexes it in dy.
  std::vector<int64_t> order{static_cast<int64_t>(axis)}, order_dy, back(rank);
  for (size_t d = 0; d < picked; ++d) order_dy.push_back(static_cast<int64_t>(axis + d));
  for (size_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    order.push_back(static_cast<int64_t>(d));
    order_dy.push_back(static_cast<int64_t>(d < axis ? d : d + picked - 1));
  }
  for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  const Expr zeros = transposed(b, call(b, kZerosLike, {x}), order);
  const Expr rows = call(b, kExpandDims, {index}, {{"axis", int64_t{0}}});
  const Expr sums =
      call(b, kScatterNd, {zeros, rows, transposed(b, dy, order_dy)}, {{"mode", std::string("add")}});
  return {in_shape_of(b, transposed(b, sums, back), c.args[0]), nullptr};
}

// --- gather --------------------------------------------------------------------------------------
//
//   gather(x, j, axis)[i] = x[i_0, ..., j[i], ..., i_r], with j[i] in the place of the axis

struct GatherAttrs {
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field("axis", &GatherAttrs::axis, "from the end if negative").required());
};

// (Tensor[s, d], Tensor[t, e]) -> Tensor[t, d]
// C1: indices are integers.
// C2: axis is in [-rank, rank).
// C3: indices have the rank of data, and the same dims but for the axis.
Type relate_gather(Relation& r, const GatherAttrs& a) {
  const TensorType &x = r.tensor(0), &j = r.tensor(1);
  require(r, 1, Domain::kInteger);               // C1
  const size_t axis = r.axis(a.axis, x.rank());  // C2
  r.require_rank(1, x.rank());                   // C3
  std::vector<Dim> out = dims_of(j);
  for (size_t d = 0; d < out.size(); ++d) {
    if (d != axis) out[d] = r.same(out[d], x.dims[d], 1, cat("dimension ", d), 0);  // C3
  }
  return r.tensor_of(out, x.dtype);
}

void evaluate_gather(const GatherAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, in[0].rank());
  int64_t n = 0;
  std::vector<int64_t> from;
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    from = i;
    from[axis] = index_of(in[1], n++);
    if (from[axis] < 0 || from[axis] >= in[0].shape()[axis]) throw Trap(kIndexOutOfRange);
    return from;
  });
}

std::vector<Expr> differentiate_gather(Builder& b, const GatherAttrs& a, const Site& c) {
  const Expr zeros = call(b, kZerosLike, {c.args[0]});
  return {call(b, kScatterElements, {zeros, c.args[1], c.dy},
               {{"axis", a.axis}, {"reduction", std::string("add")}}),
          nullptr};
}

std::vector<kernel::Tensor> lower_gather(kernel::Builder& k, const GatherAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const size_t axis = from_front(a.axis, x.rank());
  return {k.compute("gather", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    from[axis] = index_at(c.in[1], i);
    k.require(kernel::logical_and(kernel::less_equal(k.index(0), from[axis]),
                                  kernel::less(from[axis], x.dim(axis))),
              kIndexOutOfRange);
    return x.at(from);
  })};
}

}  // namespace

const OpDef kTake = define<TakeAttrs>({
    .name = "take",
    .doc = "Slices of a tensor, chosen by their indices along an axis.",
    .params = {{"data", "any tensor"}, {"indices", "integers"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kInjective,
    .relate = relate_take,
    .evaluate = evaluate_take,
    .traps = take_traps,
    .differentiate = differentiate_take,
    .lower = lower_take,
});

const OpDef kGather = define<GatherAttrs>({
    .name = "gather",
    .doc = "Elements of a tensor, each chosen by its own index along an axis.",
    .params = {{"data", "any tensor"}, {"indices", "integers in [0, extent of the axis)"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kInjective,
    .relate = relate_gather,
    .evaluate = evaluate_gather,
    .differentiate = differentiate_gather,
    .lower = lower_gather,
});

}  // namespace relay::op
