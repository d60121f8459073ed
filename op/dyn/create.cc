// Tensors out of little, in a shape that only a run tells: dyn.broadcast_to, dyn.full, dyn.zeros,
// dyn.ones.
#include "base/cat.h"
#include "base/failure.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"

namespace relay::op {
namespace {

struct DynInitAttrs {
  std::optional<std::vector<Dim>> shape = {};
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("shape", &DynInitAttrs::shape, "must be empty: the argument of that name stands for it"),
             field("dtype", &DynInitAttrs::dtype, "of the result; None: the argument's, or float32"));
};

// The shape, if all of it are extents.
Shape extents_of(const Tensor& shape) {
  const Shape extents = elements_of(shape);
  for (const int64_t extent : extents) {
    if (extent < 0) throw Trap(std::string(kNegativeExtent));
  }
  return extents;
}

std::vector<kernel::Expr> extents_of(kernel::Builder& k, const kernel::Tensor& shape, size_t rank) {
  const std::vector<kernel::Expr> extents = elements_of(k, shape, rank);
  for (const kernel::Expr extent : extents) k.require(less_equal(k.index(0), extent), kNegativeExtent);
  return extents;
}

constexpr std::string_view kDoesNotBroadcast = "the tensor does not broadcast to the shape";

// dyn.broadcast_to(x, shape)[.., i] = x[j], where j is i from the right, but 0 along axes of extent 1
//
//   (Tensor[s, d], Tensor[(rank), e]) -> Tensor[(?, ..), d]
//   C1: the shape is a vector of integers whose number is known.
//   C2: the result's rank is not below the argument's.
//   C3: the attribute shape is empty, and dtype the argument's.
//
// A run traps if an extent is negative, or one of the argument is neither 1 nor that of the shape.
Type relate_broadcast_to(Relation& r, const DynInitAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t rank = known_length(r, 1, "the extents of a shape");                                  // C1
  r.require(x.rank() <= rank, 0, cat("rank ", x.rank(), " does not broadcast to the rank ", rank));  // C2
  require_empty(r, a.shape, "shape");                                                                // C3
  r.require(a.dtype.value_or(x.dtype) == x.dtype, kAttributes, "dtype must be the argument's");      // C3
  return sized_by_data(r, rank, x.dtype);
}

void evaluate_broadcast_to(const DynInitAttrs&, Args in, Results out, Sums sums) {
  const Shape shape = extents_of(in[1]), &x = in[0].shape();
  for (size_t d = 0; d < x.size(); ++d) {
    if (x[d] != 1 && x[d] != shape[d + shape.size() - x.size()]) throw Trap(std::string(kDoesNotBroadcast));
  }
  out[0] = sized(in[0].dtype(), shape);
  evaluate_as(kBroadcastTo, {{"shape", std::vector<Dim>()}}, in.first(1), out, sums);
}

kernel::Tensor extents_of_broadcast(kernel::Builder& k, const DynInitAttrs&, const Lowering& c) {
  const size_t rank = c.out_types[0]->rank();
  return extents_vector(k, rank, [&] {
    const std::vector<kernel::Expr> shape = extents_of(k, c.in[1], rank);
    for (size_t d = 0; d < c.in[0].rank(); ++d) {
      const kernel::Expr have = c.in[0].dim(d);
      k.require(logical_or(equal(have, k.index(1)), equal(have, shape[d + rank - c.in[0].rank()])),
                kDoesNotBroadcast);
    }
    return shape;
  });
}

std::vector<kernel::Tensor> lower_broadcast_to(kernel::Builder& k, const DynInitAttrs&, const Lowering& c) {
  return lower_as(kBroadcastTo, {{"shape", std::vector<Dim>()}}, k, c, 1);
}

std::vector<Expr> differentiate_broadcast_to(Builder& b, const DynInitAttrs&, const Site& c) {
  return {call(b, kCollapseSumLike, {c.dy, c.args[0]}), nullptr};
}

// dyn.full(v, shape)[i] = v
//
//   (Tensor[(), d], Tensor[(rank), e]) -> Tensor[(?, ..), dtype]
//   C1: the shape is a vector of integers whose number is known.
//   C2: the value has rank 0.
//   C3: the attribute shape is empty.
Type relate_full(Relation& r, const DynInitAttrs& a) {
  const size_t rank = known_length(r, 1, "the extents of a shape");  // C1
  r.require_rank(0, 0);                                              // C2
  require_empty(r, a.shape, "shape");                                // C3
  return sized_by_data(r, rank, a.dtype.value_or(r.tensor(0).dtype));
}

template <size_t shape>
kernel::Tensor extents_of_argument(kernel::Builder& k, const DynInitAttrs&, const Lowering& c) {
  const size_t rank = c.out_types[0]->rank();
  return extents_vector(k, rank, [&] { return extents_of(k, c.in[shape], rank); });
}

void evaluate_full(const DynInitAttrs& a, Args in, Results out) {
  const DType dtype = a.dtype.value_or(in[0].dtype());
  const Tensor value = in[0].converted(dtype);
  out[0] = sized(dtype, extents_of(in[1]));
  for (int64_t i = 0; i < out[0].size(); ++i) copy_element(value, 0, out[0], i);
}

std::vector<kernel::Tensor> lower_full(kernel::Builder& k, const DynInitAttrs&, const Lowering& c) {
  return {k.compute("full", c.dtype(), c.shape(),
                    [&](kernel::Indices) { return kernel::cast(c.dtype(), c.in[0]()); })};
}

std::vector<Expr> differentiate_full(Builder& b, const DynInitAttrs&, const Site& c) {
  const DType dtype = tensor_type_of(c.y).dtype, of_value = c.tensor(0).dtype;
  if (!dtype.is_float() || !of_value.is_float()) return {nullptr, nullptr};
  const Expr sum = call(b, kSum, {c.dy});
  return {dtype == of_value ? sum : call(b, kCast, {sum}, {{"dtype", of_value}}), nullptr};
}

// dyn.zeros(shape)[i] = 0
// dyn.ones(shape)[i] = 1
//
//   (Tensor[(rank), e]) -> Tensor[(?, ..), dtype]
//   C1: the shape is a vector of integers whose number is known.
//   C2: the attribute shape is empty.
Type relate_init(Relation& r, const DynInitAttrs& a) {
  const size_t rank = known_length(r, 0, "the extents of a shape");  // C1
  require_empty(r, a.shape, "shape");                                // C2
  return sized_by_data(r, rank, a.dtype.value_or(kFloat32));
}

template <int value>
void evaluate_init(const DynInitAttrs& a, Args in, Results out) {
  out[0] = sized(a.dtype.value_or(kFloat32), extents_of(in[0]));
  for (int64_t i = 0; value != 0 && i < out[0].size(); ++i) out[0].set_int(i, value);
}

template <int value>
std::vector<kernel::Tensor> lower_init(kernel::Builder& k, const DynInitAttrs&, const Lowering& c) {
  return {k.compute("constant", c.dtype(), c.shape(),
                    [&](kernel::Indices) { return k.constant(c.dtype(), value); })};
}

}  // namespace

const OpDef kDynBroadcastTo = define<DynInitAttrs>({
    .name = "dyn.broadcast_to",
    .doc = "Repeat elements to fill a shape that only a run tells.",
    .params = {{"data", "any tensor"}, {"shape", "of the result"}},
    .effects = Effects::kTraps,
    .relate = relate_broadcast_to,
    .evaluate = evaluate_broadcast_to,
    .differentiate = differentiate_broadcast_to,
    .lower = lower_broadcast_to,
    .extents = extents_of_broadcast,
});

const OpDef kDynFull = define<DynInitAttrs>({
    .name = "dyn.full",
    .doc = "One value everywhere, in a shape that only a run tells.",
    .params = {{"fill_value", "the value, of rank 0"}, {"shape", "of the result"}},
    .effects = Effects::kTraps,
    .relate = relate_full,
    .evaluate = evaluate_full,
    .differentiate = differentiate_full,
    .lower = lower_full,
    .extents = extents_of_argument<1>,
});

const OpDef kDynZeros = define<DynInitAttrs>({
    .name = "dyn.zeros",
    .doc = "Zeros in a shape that only a run tells.",
    .params = {{"shape", "of the result"}},
    .effects = Effects::kTraps,
    .not_differentiable = "its argument is a shape",
    .relate = relate_init,
    .evaluate = evaluate_init<0>,
    .lower = lower_init<0>,
    .extents = extents_of_argument<0>,
});

const OpDef kDynOnes = define<DynInitAttrs>({
    .name = "dyn.ones",
    .doc = "Ones in a shape that only a run tells.",
    .params = {{"shape", "of the result"}},
    .effects = Effects::kTraps,
    .not_differentiable = "its argument is a shape",
    .relate = relate_init,
    .evaluate = evaluate_init<1>,
    .lower = lower_init<1>,
    .extents = extents_of_argument<0>,
});

}  // namespace relay::op
