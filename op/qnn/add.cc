// qnn.add(l, r, ls, lz, rs, rz, s, z) =
//     saturate(round((l - lz) * (ls / s)) + round((r - rz) * (rs / s)) + z)
//
//   (Tensor[p, d], Tensor[q, d], 2 x (Tensor[u, f], Tensor[v, e]), f, e) -> Tensor[r, d]
//   C1: d is int8, uint8, int16 or uint16, of both operands.   C2: scales are floating.
//   C3: zero points are integers.
//   C4: u and v are () or the extent of the operand's axis; those of the result are scalars.
//   C5: lhs_axis and rhs_axis are in [-rank, rank), if a scale or zero point is a vector.
//   C6: p and q broadcast to r.
//
// Each operand is rounded, halves up, and moved into the range of int32, as qnn.requantize does it.
// The sum of these is exact.
#include "op/domain.h"
#include "op/qnn/common.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct QnnAddAttrs {
  int64_t lhs_axis = -1, rhs_axis = -1;
  static constexpr auto kFields = fields(
      field("lhs_axis", &QnnAddAttrs::lhs_axis, "that vectors of scales and zero points of lhs go along"),
      field("rhs_axis", &QnnAddAttrs::rhs_axis, "that vectors of scales and zero points of rhs go along"));
};

Type relate(Relation& r, const QnnAddAttrs& a) {
  r.require(is_narrow_integer(r.tensor(0).dtype), 0, "expected int8, uint8, int16 or uint16");  // C1
  r.require_same_dtype(1, 0);                                                                   // C1
  for (const int scale : {2, 4, 6}) require(r, scale, Domain::kFloat);                          // C2
  for (const int zero : {3, 5, 7}) require(r, zero, Domain::kInteger);                          // C3
  for (const int arg : {2, 3}) require_fit(r, arg, a.lhs_axis, 0);                              // C4, C5
  for (const int arg : {4, 5}) require_fit(r, arg, a.rhs_axis, 1);                              // C4, C5
  for (const int arg : {6, 7}) r.require_rank(arg, 0);                                          // C4
  const std::vector<Dim> x = dims_of(r.tensor(0)), y = dims_of(r.tensor(1));
  return r.tensor_of(r.broadcast(x, y, 0, 1), r.tensor(0).dtype);  // C6
}

Expr expand(Builder& b, const QnnAddAttrs& a, const Site& c) {
  const Expr none = b.scalar(kInt32, 0);
  // Beside a zero point of 64 bits int64 would wrap. Float64 is exact as far as nothing saturates.
  const DType sums = c.tensor(7).dtype.bits < 64 ? kInt64 : kFloat64;
  const auto operand = [&](size_t data, size_t scale, int64_t axis) {
    const Term q(b, call(b, kQnnRequantize, {c.args[data], c.args[scale], c.args[scale + 1], c.args[6], none},
                         {{"axis", axis}, {"out_dtype", kInt32}}));
    return to(sums, q);
  };
  const Term sum = operand(0, 2, a.lhs_axis) + operand(1, 4, a.rhs_axis) + to(sums, {b, c.args[7]});
  return saturated(sum, c.tensor(0).dtype);
}

}  // namespace

const OpDef kQnnAdd = define<QnnAddAttrs>({
    .name = "qnn.add",
    .doc = "The sum of what two tensors of small integers stand for, as small integers.",
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

}  // namespace relay::op
