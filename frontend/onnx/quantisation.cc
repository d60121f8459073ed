// Quantisation: real = scale * (integer - zero point).
#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Scale and zero point are scalars, or lists along an axis.
Expr parameter(Node& n, size_t i) {
  const Expr e = n.input(i);
  const TensorType& t = type_of(e);
  n.require(t.rank() <= 1, "its scale and zero point must have at most one dimension");
  return t.rank() == 1 && t.dims[0] == Dim(1) ? n.reshape(e, {}) : e;
}

int64_t axis_of(Node& n, Expr scale) {
  if (n.integer("block_size", 0) != 0) n.unsupported("quantisation in blocks is not supported");
  const int64_t axis = n.integer("axis", 1);
  if (type_of(scale).rank() == 0) return -1;
  return static_cast<int64_t>(n.axis(axis, n.rank(0)));
}

// A zero point that is not there is 0, one for each scale.
Expr zero_point(Node& n, Expr scale) {
  if (n.has(2)) return n.cast(parameter(n, 2), kInt32);
  return n.cast(n.call(kZerosLike, {scale}), kInt32);
}

void require_small_integer(Node& n, DType dtype) {
  if (dtype.is_int()) return;
  n.unsupported(cat("quantisation to ", dtype.name(), " is not supported"),
                "int8, uint8, int16 and uint16 are");
}

Results quantize_linear(Node& n) {
  DType dtype = kUInt8;
  if (n.has(2)) {
    dtype = n.dtype(2);
  } else if (const int64_t code = n.integer("output_dtype", 0); code != 0) {
    dtype = data::dtype_of_onnx(static_cast<int32_t>(code)).value_or(kFloat32);
  }
  require_small_integer(n, dtype);
  const Expr scale = parameter(n, 1);
  const Expr x = n.cast(n.input(0), type_of(scale).dtype);
  return {n.call(kQnnQuantize, {x, scale, zero_point(n, scale)},
                 {{"axis", axis_of(n, scale)}, {"out_dtype", dtype}})};
}

Results dequantize_linear(Node& n) {
  require_small_integer(n, n.dtype(0));
  const Expr scale = parameter(n, 1);
  return {n.call(kQnnDequantize, {n.input(0), scale, zero_point(n, scale)},
                 {{"axis", axis_of(n, scale)}, {"out_dtype", type_of(scale).dtype}})};
}

// uint8 with a scale and a zero point that follow from the range of the data, which includes 0.
Results dynamic_quantize_linear(Node& n) {
  const Expr x = n.input(0), zero = n.scalar(kFloat32, 0), most = n.scalar(kFloat32, 255);
  n.require(type_of(x).dtype == kFloat32, "its input must be float32");
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
  return {y, scale, n.cast(point, kUInt8)};
}

constexpr Row kRows[] = {
    {"DequantizeLinear", 10, dequantize_linear},
    {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
    {"QuantizeLinear", 10, quantize_linear},
};

}  // namespace

std::span<const Row> quantisation_rows() { return kRows; }

}  // namespace relay::frontend
