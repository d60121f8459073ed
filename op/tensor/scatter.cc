// gather_nd, scatter_nd, scatter_elements: elements found by, and put at, whole index vectors.
//
// Updates are applied one after the other, in row-major order of `updates`: of several to one
// element the last one stays, and sums are rounded in that order.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "kernel/scalar.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// --- How an update meets what is there -----------------------------------------------------------

bool is_mode(std::string_view mode) {
  return mode == "update" || mode == "add" || mode == "mul" || mode == "min" || mode == "max";
}

void require_mode(Relation& r, std::string_view attribute, std::string_view mode) {
  r.require(is_mode(mode), kAttributes,
            cat(attribute, " must be \"update\", \"add\", \"mul\", \"min\" or \"max\", not \"", mode, "\""));
  if (mode != "update") require(r, 0, Domain::kNumber);
}

void apply_update(std::string_view mode, Tensor& to, int64_t i, const Tensor& from, int64_t j) {
  namespace scalar = kernel::scalar;
  using kernel::ExprKind;
  if (mode == "update") return copy_element(from, j, to, i);
  if (to.dtype().is_float()) {
    const double a = to.get(i), b = from.get(j);
    to.set(i, mode == "add"   ? a + b
              : mode == "mul" ? a * b
              : mode == "min" ? scalar::least(a, b)
                              : scalar::greatest(a, b));
    return;
  }
  const ExprKind kind = mode == "add"   ? ExprKind::kAdd
                        : mode == "mul" ? ExprKind::kMul
                        : mode == "min" ? ExprKind::kMin
                                        : ExprKind::kMax;
  to.set_int(i, scalar::binary(kind, to.dtype(), to.get_int(i), from.get_int(j)));
}

kernel::Expr updated(std::string_view mode, kernel::Expr old, kernel::Expr update) {
  if (mode == "update") return update;
  if (mode == "add") return old + update;
  if (mode == "mul") return old * update;
  return mode == "min" ? kernel::min(old, update) : kernel::max(old, update);
}

kernel::Expr in_range(kernel::Builder& k, kernel::Expr index, kernel::Expr extent) {
  return kernel::logical_and(kernel::less_equal(k.index(0), index), kernel::less(index, extent));
}

// The gradient for data and updates, given the operators that zero and fetch the places.
template <class Zeroed, class Fetched>
std::vector<Expr> differentiate_update(std::string_view mode, Expr dy, const Zeroed& zeroed,
                                       const Fetched& fetched) {
  if (mode == "update") return {zeroed(), nullptr, fetched()};  // the places must be distinct
  if (mode == "add") return {dy, nullptr, fetched()};
  throw RelationError{kAttributes, cat("is not differentiable with \"", mode, "\"")};
}

// --- gather_nd -----------------------------------------------------------------------------------
//
//   gather_nd(x, j)[y..., z...] = x[j[0, y...], ..., j[m - 1, y...], z...]
//
// With batch_dims = n, the first n of y... are indices of x too, before those from j.

struct GatherNdAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> index_rank = {};
  static constexpr auto kFields =
      fields(field("batch_dims", &GatherNdAttrs::batch_dims,
                   "number of leading axes that data and the rest of indices share"),
             field("index_rank", &GatherNdAttrs::index_rank,
                   "the first dim of indices, where its type does not say it"));
};

// The number of entries of an index vector; it must be known.
size_t index_length(Relation& r, const TensorType& indices, std::optional<int64_t> given) {
  r.require_no_scalar(1);
  Dim length = indices.dims[0];
  if (given) length = r.same(length, Dim(*given), 1, "length of the index vectors");
  if (!length.is_const())
    r.fail(1, cat("the first dim of indices must be a constant, found ", relay::show(length)));
  if (length.value() < 0) r.fail(kAttributes, "index_rank must not be negative");
  return static_cast<size_t>(length.value());
}

// (Tensor[s, d], Tensor[(m, y..), e]) -> Tensor[(y.., s without its first m), d]
// C1: indices are integers.
// C2: the first dim of indices is known.
// C3: batch_dims and the index vectors fit data.
// C4: the batch dims agree.
Type relate_gather_nd(Relation& r, const GatherNdAttrs& a) {
  const TensorType &x = r.tensor(0), &j = r.tensor(1);
  require(r, 1, Domain::kInteger);                         // C1
  const size_t length = index_length(r, j, a.index_rank);  // C2
  const auto most = static_cast<int64_t>(std::min(j.rank() - 1, x.rank()));
  r.require(a.batch_dims >= 0 && a.batch_dims <= most, kAttributes,
            cat("batch_dims must be in [0, ", most, "], not ", a.batch_dims));  // C3
  const auto batch = static_cast<size_t>(a.batch_dims);
  r.require(batch + length <= x.rank(), 1,
            cat("index vectors of length ", length, " for the ", x.rank() - batch, " axes of data"));  // C3
  std::vector<Dim> out(j.dims.begin() + 1, j.dims.end());
  for (size_t d = 0; d < batch; ++d)
    out[d] = r.same(out[d], x.dims[d], 1, cat("batch dimension ", d), 0);  // C4
  out.insert(out.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(batch + length), x.dims.end());
  return r.tensor_of(out, x.dtype);
}

void evaluate_gather_nd(const GatherNdAttrs& a, Args in, Results out) {
  const Tensor &x = in[0], &j = in[1];
  const size_t picked = j.rank() - 1, batch = static_cast<size_t>(a.batch_dims),
               length = static_cast<size_t>(j.shape()[0]);
  std::vector<int64_t> from(x.rank()), at(j.rank());
  fill_from(x, out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    std::copy_n(i.begin(), picked, at.begin() + 1);
    std::copy_n(i.begin(), batch, from.begin());
    for (size_t m = 0; m < length; ++m) {
      at[0] = static_cast<int64_t>(m);
      from[batch + m] = index_of(j, offset_of(j.shape(), at));
      if (from[batch + m] < 0 || from[batch + m] >= x.shape()[batch + m]) throw Trap(kIndexOutOfRange);
    }
    std::copy(i.begin() + static_cast<std::ptrdiff_t>(picked), i.end(),
              from.begin() + static_cast<std::ptrdiff_t>(batch + length));
    return from;
  });
}

std::vector<kernel::Tensor> lower_gather_nd(kernel::Builder& k, const GatherNdAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0], j = c.in[1];
  const size_t picked = j.rank() - 1, batch = static_cast<size_t>(a.batch_dims);
  const auto length = static_cast<size_t>(a.index_rank.value_or(c.arg_types[1]->dims[0].value()));
  return {k.compute("gather_nd", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i.first(batch));
    for (size_t m = 0; m < length; ++m) {
      std::vector<kernel::Expr> at = copy_of(i.first(picked));
      at.insert(at.begin(), k.index(static_cast<int64_t>(m)));
      from.push_back(index_at(j, at));
      k.require(in_range(k, from.back(), x.dim(batch + m)), kIndexOutOfRange);
    }
    from.insert(from.end(), i.begin() + static_cast<std::ptrdiff_t>(picked), i.end());
    return x.at(from);
  })};
}

// The index vectors with the batch indices written out in front.
Expr full_indices(Builder& b, const GatherNdAttrs& a, Expr indices) {
  if (a.batch_dims == 0) return indices;
  if (tensor_type_of(indices).dtype.bits < 64)  // too narrow, maybe, for the extents of the batch
    indices = call(b, kCast, {indices}, {{"dtype", kInt64}});
  const TensorType& j = tensor_type_of(indices);
  std::vector<Dim> dims = dims_of(j);
  dims[0] = Dim(1);
  std::vector<Expr> rows;
  for (int64_t d = 0; d < a.batch_dims; ++d) {
    rows.push_back(call(b, kIota, {}, {{"shape", dims}, {"axis", d + 1}, {"dtype", j.dtype}}));
  }
  rows.push_back(indices);
  return call(b, kConcatenate, {b.tuple(rows)}, {{"axis", int64_t{0}}});
}

std::vector<Expr> differentiate_gather_nd(Builder& b, const GatherNdAttrs& a, const Site& c) {
  const Expr zeros = call(b, kZerosLike, {c.args[0]});
  return {call(b, kScatterNd, {zeros, full_indices(b, a, c.args[1]), c.dy}, {{"mode", std::string("add")}}),
          nullptr};
}

// --- scatter_nd ----------------------------------------------------------------------------------
//
//   scatter_nd(x, j, updates) = x, but at [j[0, u...], ..., j[m - 1, u...], z...] x meets updates[u..., z...]

struct ScatterNdAttrs {
  std::string mode = "update";
  static constexpr auto kFields = fields(field(
      "mode", &ScatterNdAttrs::mode,
      "what an update does to the element: \"update\" replaces it, \"add\", \"mul\", \"min\", \"max\""));
};

// (Tensor[s, d], Tensor[(m, u..), e], Tensor[(u.., s without its first m), d]) -> Tensor[s, d]
// C1: indices are integers.   C2: the first dim of indices is known, and at most the rank of data.
// C3: updates have data's dtype, and the dims of indices but the first followed by those of data
//     that are not indexed.
// C4: mode is one of the five; only "update" takes booleans.
Type relate_scatter_nd(Relation& r, const ScatterNdAttrs& a) {
  const TensorType &x = r.tensor(0), &j = r.tensor(1), &u = r.tensor(2);
  require(r, 1, Domain::kInteger);                         // C1
  const size_t length = index_length(r, j, std::nullopt);  // C2
  r.require(length <= x.rank(), 1,
            cat("index vectors of length ", length, " for the ", x.rank(), " axes of data"));  // C2
  require_mode(r, "mode", a.mode);                                                             // C4
  r.require_same_dtype(2, 0);                                                                  // C3
  std::vector<Dim> wanted(j.dims.begin() + 1, j.dims.end());
  wanted.insert(wanted.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(length), x.dims.end());
  r.require_rank(2, wanted.size());                                                                  // C3
  for (size_t d = 0; d < wanted.size(); ++d) r.same(u.dims[d], wanted[d], 2, cat("dimension ", d));  // C3
  return &x;
}

void evaluate_scatter_nd(const ScatterNdAttrs& a, Args in, Results out) {
  const Tensor &x = in[0], &j = in[1], &u = in[2];
  const size_t picked = j.rank() - 1, length = static_cast<size_t>(j.shape()[0]);
  out[0] = x.copy();
  int64_t n = 0;
  std::vector<int64_t> to(x.rank()), at(j.rank());
  for_each_index(u.shape(), [&](const std::vector<int64_t>& i) {
    std::copy_n(i.begin(), picked, at.begin() + 1);
    for (size_t m = 0; m < length; ++m) {
      at[0] = static_cast<int64_t>(m);
      to[m] = index_of(j, offset_of(j.shape(), at));
      if (to[m] < 0 || to[m] >= x.shape()[m]) throw Trap(kIndexOutOfRange);
    }
    std::copy(i.begin() + static_cast<std::ptrdiff_t>(picked), i.end(),
              to.begin() + static_cast<std::ptrdiff_t>(length));
    apply_update(a.mode, out[0], offset_of(x.shape(), to), u, n++);
  });
}

std::vector<Expr> differentiate_scatter_nd(Builder& b, const ScatterNdAttrs& a, const Site& c) {
  return differentiate_update(
      a.mode, c.dy, [&] { return call(b, kScatterNd, {c.dy, c.args[1], call(b, kZerosLike, {c.args[2]})}); },
      [&] { return call(b, kGatherNd, {c.dy, c.args[1]}); });
}

std::vector<kernel::Tensor> lower_scatter_nd(kernel::Builder& k, const ScatterNdAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0], j = c.in[1], u = c.in[2];
  const size_t picked = j.rank() - 1;
  const auto length = static_cast<size_t>(c.arg_types[1]->dims[0].value());
  const auto place = [&](kernel::Indices r) {
    std::vector<kernel::Expr> to;
    for (size_t m = 0; m < length; ++m) {
      std::vector<kernel::Expr> at = copy_of(r.first(picked));
      at.insert(at.begin(), k.index(static_cast<int64_t>(m)));
      to.push_back(index_at(j, at));
    }
    to.insert(to.end(), r.begin() + static_cast<std::ptrdiff_t>(picked), r.end());
    return to;
  };
  const auto where = [&](kernel::Indices r) {
    const std::vector<kernel::Expr> to = place(r);
    for (size_t m = 0; m < length; ++m) k.require(in_range(k, to[m], x.dim(m)), kIndexOutOfRange);
    return to;
  };
  return {k.update(
      "scatter_nd", c.dtype(), c.shape(), [&](kernel::Indices i) { return x.at(i); }, u.shape(), where,
      [&](kernel::Tensor self, kernel::Indices r) { return updated(a.mode, self.at(place(r)), u.at(r)); })};
}

// --- scatter_elements ----------------------------------------------------------------------------
//
//   scatter_elements(x, j, updates) = x, but at [i_0, ..., j[i], ..., i_r] x meets updates[i],
//       with j[i] in the place of the axis

struct ScatterElementsAttrs {
  int64_t axis = 0;
  std::string reduction = "update";
  static constexpr auto kFields = fields(
      field("axis", &ScatterElementsAttrs::axis, "from the end if negative"),
      field(
          "reduction", &ScatterElementsAttrs::reduction,
          "what an update does to the element: \"update\" replaces it, \"add\", \"mul\", \"min\", \"max\""));
};

// (Tensor[s, d], Tensor[t, e], Tensor[t, d]) -> Tensor[s, d]
// C1: indices are integers.
// C2: axis is in [-rank, rank).
// C3: indices and updates have the same shape, data's rank, and updates data's dtype.
// C4: along other axes they reach at most as far as data.
// C5: reduction is one of the five; only "update" takes booleans.
Type relate_scatter_elements(Relation& r, const ScatterElementsAttrs& a) {
  const TensorType &x = r.tensor(0), &j = r.tensor(1), &u = r.tensor(2);
  require(r, 1, Domain::kInteger);               // C1
  const size_t axis = r.axis(a.axis, x.rank());  // C2
  require_mode(r, "reduction", a.reduction);     // C5
  r.require_rank(1, x.rank());                   // C3
  r.require_rank(2, x.rank());                   // C3
  r.require_same_dtype(2, 0);                    // C3
  for (size_t d = 0; d < x.rank(); ++d) {
    const Dim extent = r.same(u.dims[d], j.dims[d], 2, cat("dimension ", d), 1);  // C3
    if (d == axis) continue;
    if (!extent.is_const() || !x.dims[d].is_const()) {
      r.same(min(extent, x.dims[d]), extent, 2, cat("dimension ", d), 0);  // C4: at most as far
    } else if (extent.value() > x.dims[d].value()) {
      r.fail(2,
             cat("dimension ", d, ": ", relay::show(extent), " is more than the ", relay::show(x.dims[d]),
                 " of data"),
             0, "bad-argument");  // C4
    }
  }
  return &x;
}

void evaluate_scatter_elements(const ScatterElementsAttrs& a, Args in, Results out) {
  const Tensor &x = in[0], &j = in[1], &u = in[2];
  const size_t axis = from_front(a.axis, x.rank());
  out[0] = x.copy();
  int64_t n = 0;
  std::vector<int64_t> to;
  for_each_index(u.shape(), [&](const std::vector<int64_t>& i) {
    to = i;
    to[axis] = index_of(j, n);
    if (to[axis] < 0 || to[axis] >= x.shape()[axis]) throw Trap(kIndexOutOfRange);
    apply_update(a.reduction, out[0], offset_of(x.shape(), to), u, n++);
  });
}

std::vector<Expr> differentiate_scatter_elements(Builder& b, const ScatterElementsAttrs& a, const Site& c) {
  return differentiate_update(
      a.reduction, c.dy,
      [&] {
        return call(b, kScatterElements, {c.dy, c.args[1], call(b, kZerosLike, {c.args[2]})},
                    {{"axis", a.axis}});
      },
      [&] {
        // The part of dy that indices reach along the other axes.
        Expr dy = c.dy;
        for (size_t d = 0; d < c.tensor(0).rank(); ++d) {
          const Dim reached = c.tensor(1).dims[d];
          if (d == from_front(a.axis, c.tensor(0).rank()) || reached == c.tensor(0).dims[d]) continue;
          dy = sliced(b, dy, static_cast<int64_t>(d), Dim(0), reached);
        }
        return call(b, kGather, {dy, c.args[1]}, {{"axis", a.axis}});
      });
}

std::vector<kernel::Tensor> lower_scatter_elements(kernel::Builder& k, const ScatterElementsAttrs& a,
                                                   const Lowering& c) {
  const kernel::Tensor x = c.in[0], j = c.in[1], u = c.in[2];
  const size_t axis = from_front(a.axis, x.rank());
  const auto place = [&](kernel::Indices r) {
    std::vector<kernel::Expr> to = copy_of(r);
    to[axis] = index_at(j, r);
    return to;
  };
  const auto where = [&](kernel::Indices r) {
    const std::vector<kernel::Expr> to = place(r);
    k.require(in_range(k, to[axis], x.dim(axis)), kIndexOutOfRange);
    return to;
  };
  return {k.update(
      "scatter", c.dtype(), c.shape(), [&](kernel::Indices i) { return x.at(i); }, u.shape(), where,
      [&](kernel::Tensor self, kernel::Indices r) {
        return updated(a.reduction, self.at(place(r)), u.at(r));
      })};
}

}  // namespace

const OpDef kGatherNd = define<GatherNdAttrs>({
    .name = "gather_nd",
    .doc = "Elements or slices of a tensor, chosen by index vectors.",
    .params = {{"data", "any tensor"}, {"indices", "integers; the first axis runs along the index vectors"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kInjective,
    .relate = relate_gather_nd,
    .evaluate = evaluate_gather_nd,
    .differentiate = differentiate_gather_nd,
    .lower = lower_gather_nd,
});

const OpDef kScatterNd = define<ScatterNdAttrs>({
    .name = "scatter_nd",
    .doc = "A tensor with elements or slices changed at index vectors.",
    .params = {{"data", "any tensor"},
               {"indices", "integers; the first axis runs along the index vectors"},
               {"updates", "what comes there"}},
    .effects = Effects::kTraps,
    .relate = relate_scatter_nd,
    .evaluate = evaluate_scatter_nd,
    .differentiate = differentiate_scatter_nd,
    .lower = lower_scatter_nd,
});

const OpDef kScatterElements = define<ScatterElementsAttrs>({
    .name = "scatter_elements",
    .doc = "A tensor with elements changed, each at its own index along an axis.",
    .params = {{"data", "any tensor"},
               {"indices", "integers in [0, extent of the axis)"},
               {"updates", "what comes there"}},
    .effects = Effects::kTraps,
    .relate = relate_scatter_elements,
    .evaluate = evaluate_scatter_elements,
    .differentiate = differentiate_scatter_elements,
    .lower = lower_scatter_elements,
});

}  // namespace relay::op
