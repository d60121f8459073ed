// Changes of dtype.
//
//   cast(x, dtype)[i] = x[i] as a dtype
//   (Tensor[s, d]) -> Tensor[s, dtype]   C1: `dtype` is given.
//
// To bool: whether it is not zero. Floating point to integer truncates; NaN becomes 0, and what is
// beyond the dtype's range becomes its nearest end. Integer to integer wraps. To floating point
// rounds once, to the nearest, ties to even.
#include "op/math/convert.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const CastAttrs& a) {
  return r.context().tensor_type(r.tensor(0).dims, a.dtype);  // C1
}

void evaluate(const CastAttrs& a, Args in, Results out) { out[0] = in[0].converted(a.dtype); }

// Only between floating-point dtypes is the result as smooth as the input.
std::vector<Expr> differentiate(Builder& b, const CastAttrs& a, const Site& c) {
  const DType from = c.tensor(0).dtype;
  if (!from.is_float() || !a.dtype.is_float()) return {nullptr};
  return {call(b, kCast, {c.dy}, {{"dtype", from}})};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const CastAttrs& a, const Lowering& c) {
  return {
      k.compute("cast", a.dtype, c.shape(), [&](kernel::Indices i) { return cast(a.dtype, c.in[0].at(i)); })};
}

// cast_like(x, y)[i] = x[i] as the dtype of y
//
//   (Tensor[s, d], Tensor[t, e]) -> Tensor[s, e]   C1: y is a tensor.
Type relate_like(Relation& r, const NoAttrs&) {
  return r.context().tensor_type(r.tensor(0).dims, r.tensor(1).dtype);  // C1
}
Expr expand_like(Builder& b, const NoAttrs&, const Site& c) {
  return call(b, kCast, {c.args[0]}, {{"dtype", c.tensor(1).dtype}});
}

// copy(x) = x
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: x is a tensor.
Type relate_copy(Relation& r, const NoAttrs&) { return &r.tensor(0); }  // C1
void evaluate_copy(const NoAttrs&, Args in, Results out) { out[0] = in[0]; }
std::vector<Expr> differentiate_copy(Builder&, const NoAttrs&, const Site& c) { return {c.dy}; }
std::vector<kernel::Tensor> lower_copy(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  return {k.compute("copy", c.dtype(), c.shape(), [&](kernel::Indices i) { return c.in[0].at(i); })};
}

}  // namespace

const OpDef kCast = define<CastAttrs>({
    .name = "cast",
    .doc = "The elements in another dtype.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

const OpDef kCastLike = define<NoAttrs>({
    .name = "cast_like",
    .doc = "The elements in the dtype of another tensor.",
    .params = {{"data", "the input"}, {"dtype_like", "has the dtype of the result"}},
    .relate = relate_like,
    .expand = expand_like,
});

const OpDef kCopy = define<NoAttrs>({
    .name = "copy",
    .doc = "The input itself.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .view = true,
    .relate = relate_copy,
    .evaluate = evaluate_copy,
    .differentiate = differentiate_copy,
    .lower = lower_copy,
});

}  // namespace relay::op
