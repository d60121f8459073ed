// qnn.concatenate((q_0, ..), (s_0, ..), (z_0, ..), s, z) = concatenate((p_0, ..)),
//     where p_j = qnn.requantize(q_j, s_j, z_j, s, z)
//
//   ((Tensor[p, d], ..), (f, ..), (e, ..), f, e) -> Tensor[r, d]
//   C1: d is int8, uint8, int16, uint16 or int32.   C2: scales are floating scalars.
//   C3: zero points are integers, and scalars.
//   C4: there are as many scales and zero points as tensors.
//   C5: tensors and axis are as concatenate wants them.
#include "base/cat.h"
#include "op/qnn/common.h"
#include "op/tensor/join.h"

namespace relay::op {
namespace {

// The scales or zero points of the tensors.
void require_scalars_of_tensors(Relation& r, int arg, size_t count, bool floating) {
  const std::vector<const TensorType*> parameters = r.tensors(arg);
  if (parameters.size() != count)
    r.fail(arg, cat("expected one for each of ", count, " tensors, found ", parameters.size()));
  for (const TensorType* p : parameters) {
    r.require(p->rank() == 0 && (floating ? p->dtype.is_float() : p->dtype.is_int()), arg,
              floating ? "expected floating-point scalars" : "expected integer scalars");
  }
}

Type relate(Relation& r, const ConcatenateAttrs& a) {
  const std::vector<const TensorType*> xs = r.tensors(0);
  for (const TensorType* x : xs) {
    r.require(is_narrow_integer(x->dtype) || x->dtype == kInt32, 0,
              "expected int8, uint8, int16, uint16 or int32");  // C1
  }
  require_scalars_of_tensors(r, 1, xs.size(), true);                     // C2, C4
  require_scalars_of_tensors(r, 2, xs.size(), false);                    // C3, C4
  require_parameters(r, 3);                                              // C2, C3
  require_scalars(r, 3);                                                 // C2, C3
  return kConcatenate.relate(r, r.context().attrs({{"axis", a.axis}}));  // C5
}

bool same_constant(Expr x, Expr y) {
  const auto *a = x->as<Constant>(), *b = y->as<Constant>();
  if (!a || !b || a->value->dtype().is_float() != b->value->dtype().is_float()) return false;
  return a->value->dtype().is_float() ? a->value->get(0) == b->value->get(0)
                                      : a->value->get_int(0) == b->value->get_int(0);
}

// Requantising to the same scale and zero point changes nothing.
Expr expand(Builder& b, const ConcatenateAttrs& a, const Site& c) {
  const size_t count = c.type(0)->as<TupleType>()->fields.size();
  std::vector<Expr> parts;
  for (size_t i = 0; i < count; ++i) {
    const Expr q = field_of(b, c.args[0], i), scale = field_of(b, c.args[1], i),
               zero = field_of(b, c.args[2], i);
    if (same_constant(scale, c.args[3]) && same_constant(zero, c.args[4])) {
      parts.push_back(q);
    } else {
      parts.push_back(call(b, kQnnRequantize, {q, scale, zero, c.args[3], c.args[4]},
                           {{"out_dtype", q->type->as<TensorType>()->dtype}}));
    }
  }
  return call(b, kConcatenate, {b.tuple(parts)}, {{"axis", a.axis}});
}

}  // namespace

const OpDef kQnnConcatenate = define<ConcatenateAttrs>({
    .name = "qnn.concatenate",
    .doc = "Tensors of integers one after the other along an axis, brought to one scale and zero point.",
    .params = {{"data", "a tuple of tensors"},
               {"input_scales", "for each, the distance of neighbouring integers"},
               {"input_zero_points", "for each, the integer that stands for 0"},
               {"output_scale", "the distance of neighbouring integers of the result"},
               {"output_zero_point", "the integer of the result that stands for 0"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
