// Operators that repeat or reorder elements along whole axes: broadcast_to, tile, repeat, reverse.
#include "op/tensor/repeat.h"

#include <algorithm>

#include "base/cat.h"
#include "op/broadcast.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// --- broadcast_to --------------------------------------------------------------------------------

struct BroadcastToAttrs {
  std::vector<Dim> shape = {};
  MaybeDType dtype = {};
  static constexpr auto kFields = fields(
      field("shape", &BroadcastToAttrs::shape, "of the result").required(),
      field("dtype", &BroadcastToAttrs::dtype, "means nothing; texts of the established system have it"));
};

// broadcast_to(x)[.., i] = x[j], where j is i from the right, but 0 along axes of extent 1
//
//   (Tensor[s, d]) -> Tensor[shape, d]
//   C1: the shape has no `?`.
//   C2: the argument's shape broadcasts to it: aligned at the right, equal or 1.
Type relate_broadcast_to(Relation& r, const BroadcastToAttrs& a) {
  const TensorType& x = r.tensor(0);
  if (any_unknown(a.shape)) r.fail(kAttributes, "shape must not contain `?`");  // C1
  if (x.rank() > a.shape.size()) {
    r.fail(0, cat("rank ", x.rank(), " does not broadcast to the rank ", a.shape.size(), " of shape"));  // C2
  }
  for (size_t d = 0; d < x.rank(); ++d) {
    r.broadcasts_to(x.dims[d], a.shape[d + a.shape.size() - x.rank()], 0, cat("dimension ", d));  // C2
  }
  return r.tensor_of(a.shape, x.dtype);
}

void evaluate_broadcast_to(const BroadcastToAttrs&, Args in, Results out) {
  const std::vector<int64_t> from = broadcast_elements(in[0].shape(), out[0].shape());
  for (size_t i = 0; i < from.size(); ++i) copy_element(in[0], from[i], out[0], static_cast<int64_t>(i));
}

std::vector<Expr> differentiate_broadcast_to(Builder& b, const BroadcastToAttrs&, const Site& c) {
  return {collapse_to(b, c.dy, c.args[0])};
}

std::vector<kernel::Tensor> lower_broadcast_to(kernel::Builder& k, const BroadcastToAttrs&,
                                               const Lowering& c) {
  const std::vector<kernel::Expr> shape = c.shape();
  return {k.compute("broadcast", c.dtype(), shape,
                    [&](kernel::Indices i) { return broadcast_at(c.in[0], i, shape); })};
}

// --- tile ----------------------------------------------------------------------------------------

struct TileAttrs {
  std::vector<Dim> reps = {};
  static constexpr auto kFields =
      fields(field("reps", &TileAttrs::reps,
                   "how often each axis is repeated, aligned at the right; 1 where there is none")
                 .required());
};

// The argument's dim and the repetitions along each axis of the result.
std::vector<std::pair<Dim, Dim>> tiled(const TileAttrs& a, std::span<const Dim> dims) {
  std::vector<std::pair<Dim, Dim>> out(std::max(a.reps.size(), dims.size()), {Dim(1), Dim(1)});
  for (size_t d = 0; d < dims.size(); ++d) out[d + out.size() - dims.size()].first = dims[d];
  for (size_t d = 0; d < a.reps.size(); ++d) out[d + out.size() - a.reps.size()].second = a.reps[d];
  return out;
}

// tile(x)[i_0, ..] = x[i_0 mod n_0, ..], where n are the extents of x
//
//   (Tensor[s, d]) -> Tensor[s * reps, d], both filled up with 1 from the left
//   C1: repetitions are not negative.   C2: repetitions are not `?`.
Type relate_tile(Relation& r, const TileAttrs& a) {
  const TensorType& x = r.tensor(0);
  if (any_unknown(a.reps)) r.fail(kAttributes, "reps must not contain `?`");  // C2
  for (Dim rep : a.reps) {
    if (rep.is_const() && rep.value() < 0)
      r.fail(kAttributes, cat("reps must not be negative, found ", rep.value()));  // C1
  }
  std::vector<Dim> out;
  for (const auto& [dim, rep] : tiled(a, x.dims)) out.push_back(dim * rep);
  return r.tensor_of(out, x.dtype);
}

void evaluate_tile(const TileAttrs&, Args in, Results out) {
  const Shape& shape = in[0].shape();
  std::vector<int64_t> from(shape.size());
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    for (size_t d = 0; d < from.size(); ++d) from[d] = i[d + i.size() - from.size()] % shape[d];
    return from;
  });
}

// Each axis of dy is a row of copies: take it apart and add them up.
std::vector<Expr> differentiate_tile(Builder& b, const TileAttrs& a, const Site& c) {
  std::vector<Dim> apart;
  std::vector<int64_t> copies;
  for (const auto& [dim, rep] : tiled(a, c.tensor(0).dims)) {
    copies.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(rep);
    apart.push_back(dim);
  }
  if (copies.empty()) return {c.dy};
  const Expr rows = call(b, kReshape, {c.dy}, {{"newshape", apart}, {"allowzero", true}});
  return {in_shape_of(b, call(b, kSum, {rows}, {{"axis", copies}}), c.args[0])};
}

std::vector<kernel::Tensor> lower_tile(kernel::Builder& k, const TileAttrs&, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  return {k.compute("tile", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from;
    for (size_t d = 0; d < x.rank(); ++d)
      from.push_back(kernel::floor_mod(i[d + i.size() - x.rank()], x.dim(d)));
    return x.at(from);
  })};
}

// --- repeat --------------------------------------------------------------------------------------

// repeat(x)[a.., i, c..] = x[a.., floor(i / repeats), c..], where i is the index along `axis`
//
//   (Tensor[(a.., n, c..), d]) -> Tensor[(a.., n * repeats, c..), d]
//   C1: repeats is not negative.   C2: axis is in [-rank, rank).
Type relate_repeat(Relation& r, const RepeatAttrs& a) {
  const TensorType& x = r.tensor(0);
  r.require(a.repeats >= 0, kAttributes, "repeats must not be negative");  // C1
  if (!a.axis) return r.tensor_of({product(x.dims) * Dim(a.repeats)}, x.dtype);
  std::vector<Dim> out = dims_of(x);
  const size_t axis = r.axis(*a.axis, x.rank());  // C2
  out[axis] = out[axis] * Dim(a.repeats);
  return r.tensor_of(out, x.dtype);
}

void evaluate_repeat(const RepeatAttrs& a, Args in, Results out) {
  const Tensor x = a.axis ? in[0] : in[0].reshaped({in[0].size()});
  const size_t axis = from_front(a.axis.value_or(0), x.rank());
  std::vector<int64_t> from;
  fill_from(x, out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    from = i;
    from[axis] /= a.repeats;
    return from;
  });
}

std::vector<Expr> differentiate_repeat(Builder& b, const RepeatAttrs& a, const Site& c) {
  const TensorType& x = c.tensor(0);
  std::vector<Dim> apart = a.axis ? dims_of(x) : std::vector<Dim>{product(x.dims)};
  const size_t axis = from_front(a.axis.value_or(0), apart.size());
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(a.repeats));
  const Expr rows = call(b, kReshape, {c.dy}, {{"newshape", apart}, {"allowzero", true}});
  const Expr sum = call(b, kSum, {rows}, {{"axis", std::vector<int64_t>{static_cast<int64_t>(axis) + 1}}});
  return {in_shape_of(b, sum, c.args[0])};
}

std::vector<kernel::Tensor> lower_repeat(kernel::Builder& k, const RepeatAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  return {k.compute("repeat", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    const size_t axis = from_front(a.axis.value_or(0), from.size());
    // Nothing is read if there are no repetitions; the divisor must still not be zero.
    from[axis] = kernel::floor_div(from[axis], std::max<int64_t>(a.repeats, 1));
    if (a.axis) return x.at(from);
    const std::vector<Dim> flat{product(c.arg_types[0]->dims)};
    return x.at(reindex(c.pool, c.arg_types[0]->dims, flat, from));
  })};
}

// --- reverse -------------------------------------------------------------------------------------

// reverse(x)[a.., i, c..] = x[a.., n - 1 - i, c..], where n is the extent along `axis`
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: axis is in [-rank, rank).
Type relate_reverse(Relation& r, const ReverseAttrs& a) {
  r.axis(a.axis, r.tensor(0).rank());  // C1
  return &r.tensor(0);
}

void evaluate_reverse(const ReverseAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, in[0].rank());
  std::vector<int64_t> from;
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    from = i;
    from[axis] = in[0].shape()[axis] - 1 - i[axis];
    return from;
  });
}

std::vector<Expr> differentiate_reverse(Builder& b, const ReverseAttrs& a, const Site& c) {
  return {call(b, kReverse, {c.dy}, {{"axis", a.axis}})};
}

std::vector<kernel::Tensor> lower_reverse(kernel::Builder& k, const ReverseAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const size_t axis = from_front(a.axis, x.rank());
  return {k.compute("reverse", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    from[axis] = x.dim(axis) - 1 - i[axis];
    return x.at(from);
  })};
}

}  // namespace

const OpDef kBroadcastTo = define<BroadcastToAttrs>({
    .name = "broadcast_to",
    .doc = "Repeat a tensor along axes of extent 1, and along new ones, to a given shape.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kBroadcast,
    .relate = relate_broadcast_to,
    .evaluate = evaluate_broadcast_to,
    .differentiate = differentiate_broadcast_to,
    .lower = lower_broadcast_to,
});

const OpDef kTile = define<TileAttrs>({
    .name = "tile",
    .doc = "Repeat a tensor as a whole along its axes.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate_tile,
    .evaluate = evaluate_tile,
    .differentiate = differentiate_tile,
    .lower = lower_tile,
});

const OpDef kRepeat = define<RepeatAttrs>({
    .name = "repeat",
    .doc = "Repeat each element along an axis.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate_repeat,
    .evaluate = evaluate_repeat,
    .differentiate = differentiate_repeat,
    .lower = lower_repeat,
});

const OpDef kReverse = define<ReverseAttrs>({
    .name = "reverse",
    .doc = "Reverse the order of the elements along an axis.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate_reverse,
    .evaluate = evaluate_reverse,
    .differentiate = differentiate_reverse,
    .lower = lower_reverse,
});

}  // namespace relay::op
