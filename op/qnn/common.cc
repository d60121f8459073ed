#include "op/qnn/common.h"

#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {

bool is_narrow_integer(DType d) { return d.is_int() && (d.bits == 8 || d.bits == 16); }

IntegerRange range_of(DType d) {
  const int64_t high = (int64_t{1} << (d.is_signed_int() ? d.bits - 1 : d.bits)) - 1;
  return {d.is_signed_int() ? -high - 1 : 0, high};
}

void require_narrow_integer(Relation& r, int arg) {
  r.require(is_narrow_integer(r.tensor(arg).dtype), arg, "expected int8, uint8, int16 or uint16");
}

void require_parameters(Relation& r, int scale) {
  require(r, scale, Domain::kFloat);
  require(r, scale + 1, Domain::kInteger);
}

void require_scalars(Relation& r, int scale) {
  for (const int arg : {scale, scale + 1}) r.require_rank(arg, 0);
}

void require_fit(Relation& r, int arg, int64_t axis, int data) {
  const TensorType &x = r.tensor(data), &parameter = r.tensor(arg);
  if (parameter.rank() == 0) return;
  r.require(parameter.rank() == 1, arg, "expected a scalar or a vector");
  const size_t place = r.axis(axis, x.rank());
  r.broadcasts_to(parameter.dims[0], x.dims[place], arg, "extent of the quantized axis", data);
}

Expr field_of(Builder& b, Expr tuple, size_t i) {
  const auto* written = tuple->as<Tuple>();
  return written ? written->fields[i] : b.proj(tuple, static_cast<uint32_t>(i));
}

Term along(Builder& b, Expr parameter, Expr x, int64_t axis) {
  const auto rank = static_cast<int64_t>(tensor_type_of(x).rank());
  const int64_t after = axis < 0 ? -axis - 1 : rank - 1 - axis;
  if (tensor_type_of(parameter).rank() == 0) return {b, parameter};
  if (after > 0)
    parameter = call(b, kExpandDims, {parameter}, {{"axis", int64_t{1}}, {"num_newaxis", after}});
  return {b, sure_to_broadcast(b, parameter, x)};
}

Term to(DType d, Term x) { return x.dtype() == d ? x : x.apply(kCast, {x}, {{"dtype", d}}); }

Term half_up(Term x) { return x.apply(kFloor, {x + 0.5}); }

Term saturated(Term x, DType d) {
  const IntegerRange range = range_of(d);
  return to(d,
            x.apply(kClip, {x},
                    {{"a_min", static_cast<double>(range.low)}, {"a_max", static_cast<double>(range.high)}}));
}

}  // namespace relay::op
