// Quantisation: real = scale * (integer - zero point).
#include "frontend/onnx/quantised.h"

namespace relay::frontend {

using namespace op;

Expr parameter_at(Node& n, size_t i) {
  const Expr e = n.input(i);
  const TensorType& t = type_of(e);
  n.require(t.rank() <= 1, "its scale and zero point must have at most one dimension");
  return t.rank() == 1 && t.dims[0] == Dim(1) ? n.reshape(e, {}) : e;
}

Expr zero_point_at(Node& n, size_t i, Expr scale) {
  if (n.has(i)) return n.cast(parameter_at(n, i), kInt32);
  return n.cast(n.call(kZerosLike, {scale}), kInt32);
}

namespace {

Expr scalar_at(Node& n, size_t i) {
  const Expr e = parameter_at(n, i);
  if (type_of(e).rank() > 0) n.unsupported("its tensors must have one scale and one zero point each");
  return e;
}

Expr scalar_zero_point_at(Node& n, size_t i) {
  return n.has(i) ? n.cast(scalar_at(n, i), kInt32) : n.scalar(kInt32, 0);
}

}  // namespace

Expr dequantised(Node& n, Expr x, size_t scale) {
  return n.call(kQnnDequantize, {x, scalar_at(n, scale), scalar_zero_point_at(n, scale + 1)},
                {{"axis", int64_t{-1}}, {"out_dtype", kFloat32}});
}

Expr quantised(Node& n, Expr x, size_t scale, DType dtype) {
  return n.call(kQnnQuantize, {x, scalar_at(n, scale), scalar_zero_point_at(n, scale + 1)},
                {{"axis", int64_t{-1}}, {"out_dtype", dtype}});
}

DynamicallyQuantised quantised_dynamically(Node& n, Expr x) {
  const Expr zero = n.scalar(kFloat32, 0), most = n.scalar(kFloat32, 255);
  const Expr high = n.call(kMaximum, {n.call(kMax, {x}), zero}),
             low = n.call(kMinimum, {n.call(kMin, {x}), zero});
  const Expr range = n.call(kSubtract, {high, low});
  // Where all elements are 0 there is no range, and any scale is right.
  const Expr scale =
      n.call(kWhere, {n.call(kEqual, {range, zero}), n.scalar(kFloat32, 1), n.call(kDivide, {range, most})});
  const Expr point = n.call(kRound, {n.call(kClip, {n.call(kSubtract, {zero, n.call(kDivide, {low, scale})})},
                                            {{"a_min", 0.0}, {"a_max", 255.0}})});
  const Expr y =
      n.call(kQnnQuantize, {x, scale, n.cast(point, kInt32)}, {{"axis", int64_t{-1}}, {"out_dtype", kUInt8}});
  return {y, scale, point};
}

namespace {

Results dynamic_quantize_linear(Node& n) {
  n.require(n.dtype(0) == kFloat32, "its input must be float32");
  const DynamicallyQuantised q = quantised_dynamically(n, n.input(0));
  return {q.integers, q.scale, n.cast(q.zero_point, kUInt8)};
}

constexpr Row kRows[] = {{"DynamicQuantizeLinear", 11, dynamic_quantize_linear}};

}  // namespace

std::span<const Row> quantisation_rows() { return kRows; }

}  // namespace relay::frontend
