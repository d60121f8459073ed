// Arithmetic on what two tensors of small integers stand for.
//
//   qnn.add(l, r, ls, lz, rs, rz, s, z) =
//       saturate(round((l - lz) * (ls / s)) + round((r - rz) * (rs / s)) + z)
//   qnn.subtract(l, r, ls, lz, rs, rz, s, z) =
//       saturate(round((l - lz) * (ls / s)) - round((r - rz) * (rs / s)) + z)
//   qnn.mul(l, r, ls, lz, rs, rz, s, z) =
//       saturate(round((l - lz) * (r - rz) * (ls * rs / s)) + z)
//
//   (Tensor[p, d], Tensor[q, d], 2 x (Tensor[u, f], Tensor[v, e]), f, e) -> Tensor[r, d]
//   C1: d is int8, uint8, int16 or uint16, of both operands.   C2: scales are floating.
//   C3: zero points are integers.
//   C4: u and v are () or the extent of the operand's axis; those of the result are scalars.
//   C5: lhs_axis and rhs_axis are in [-rank, rank), if a scale or zero point is a vector.
//   C6: p and q broadcast to r.
//
// Halves are rounded up. Of a sum or difference, each operand is rounded and moved into the range
// of int32, as qnn.requantize does it, and the rest is exact. A product is computed in float64 and
// rounded once.
#include "op/qnn/common.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct QnnBinaryAttrs {
  int64_t lhs_axis = -1, rhs_axis = -1;
  static constexpr auto kFields = fields(
      field("lhs_axis", &QnnBinaryAttrs::lhs_axis, "that vectors of scales and zero points of lhs go along"),
      field("rhs_axis", &QnnBinaryAttrs::rhs_axis, "that vectors of scales and zero points of rhs go along"));
};

Type relate(Relation& r, const QnnBinaryAttrs& a) {
  require_narrow_integer(r, 0);                                     // C1
  r.require_same_dtype(1, 0);                                       // C1
  for (const int scale : {2, 4, 6}) require_parameters(r, scale);   // C2, C3
  for (const int arg : {2, 3}) require_fit(r, arg, a.lhs_axis, 0);  // C4, C5
  for (const int arg : {4, 5}) require_fit(r, arg, a.rhs_axis, 1);  // C4, C5
  require_scalars(r, 6);                                            // C4
  const std::vector<Dim> x = dims_of(r.tensor(0)), y = dims_of(r.tensor(1));
  return r.tensor_of(r.broadcast(x, y, 0, 1), r.tensor(0).dtype);  // C6
}

enum class Sign : uint8_t { kPlus, kMinus };

template <Sign sign>
Expr expand_sum(Builder& b, const QnnBinaryAttrs& a, const Site& c) {
  const Expr none = b.scalar(kInt32, 0);
  // Beside a zero point of 64 bits int64 would wrap. Float64 is exact as far as nothing saturates.
  const DType sums = c.tensor(7).dtype.bits < 64 ? kInt64 : kFloat64;
  const auto operand = [&](size_t data, size_t scale, int64_t axis) {
    const Term q(b, call(b, kQnnRequantize, {c.args[data], c.args[scale], c.args[scale + 1], c.args[6], none},
                         {{"axis", axis}, {"out_dtype", kInt32}}));
    return to(sums, q);
  };
  const Term l = operand(0, 2, a.lhs_axis), r = operand(1, 4, a.rhs_axis);
  return saturated((sign == Sign::kPlus ? l + r : l - r) + to(sums, {b, c.args[7]}), c.tensor(0).dtype);
}

Expr expand_product(Builder& b, const QnnBinaryAttrs& a, const Site& c) {
  const auto wide = [&](size_t parameter, size_t data, int64_t axis) {
    return to(kFloat64, along(b, c.args[parameter], c.args[data], axis));
  };
  const Term l = to(kFloat64, {b, c.args[0]}) - wide(3, 0, a.lhs_axis),
             r = to(kFloat64, {b, c.args[1]}) - wide(5, 1, a.rhs_axis);
  const Term scale = wide(2, 0, a.lhs_axis) * wide(4, 1, a.rhs_axis) / to(kFloat64, {b, c.args[6]});
  return saturated(half_up(l * r * scale) + to(kFloat64, {b, c.args[7]}), c.tensor(0).dtype);
}

OpDef binary(std::string name, std::string doc,
             Expr (*expand)(Builder&, const QnnBinaryAttrs&, const Site&)) {
  return define<QnnBinaryAttrs>({
      .name = std::move(name),
      .doc = std::move(doc),
      .params = {{"lhs", "small integers"},
                 {"rhs", "small integers"},
                 {"lhs_scale", "the distance of neighbouring integers of lhs"},
                 {"lhs_zero_point", "the integer of lhs that stands for 0"},
                 {"rhs_scale", "the distance of neighbouring integers of rhs"},
                 {"rhs_zero_point", "the integer of rhs that stands for 0"},
                 {"output_scale", "the distance of neighbouring integers of the result"},
                 {"output_zero_point", "the integer of the result that stands for 0"}},
      .relate = relate,
      .expand = expand,
  });
}

}  // namespace

const OpDef kQnnAdd =
    binary("qnn.add", "The sum of what two tensors of small integers stand for, as small integers.",
           expand_sum<Sign::kPlus>);

const OpDef kQnnSubtract = binary(
    "qnn.subtract", "The difference of what two tensors of small integers stand for, as small integers.",
    expand_sum<Sign::kMinus>);

const OpDef kQnnMul =
    binary("qnn.mul", "The product of what two tensors of small integers stand for, as small integers.",
           expand_product);

}  // namespace relay::op
