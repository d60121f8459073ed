// Small integers with scales and zero points.
#include "base/cat.h"
#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// A zero point in the dtype of the integers, as ONNX wants it. One of another dtype has to be
// constant: that no conversion changes it is known then.
std::string zero_point(Site& s, size_t i, DType dtype) {
  if (s.type(i).dtype == dtype) return s.arg(i);
  const std::optional<Tensor> known = s.constant(i);
  s.require(known.has_value(), cat("its zero point is no constant and no ", dtype.name()));
  const Tensor converted = known->converted(dtype);
  s.require(converted.ints() == known->ints(), cat("its zero point fits no ", dtype.name()));
  return s.graph().constant(converted, "zero_point");
}

Attributes axis_of_vectors(Site& s) {
  if (s.type(1).rank() == 0 && s.type(2).rank() == 0) return {};
  s.require(s.type(1).rank() == 1 && s.type(2).rank() == 1, "ONNX has scale and zero point of one shape");
  return {{"axis", s.axis("axis", s.type(0).rank())}};
}

Names quantize(Site& s) {
  const std::string zero = zero_point(s, 2, s.result().dtype);
  return {s.node("QuantizeLinear", {s.arg(0), s.arg(1), zero}, axis_of_vectors(s))};
}

Names dequantize(Site& s) {
  const DType q = s.type(0).dtype;
  s.require(s.type(1).dtype == s.result().dtype, "ONNX gives the dtype of the scale");
  s.require(q.bits <= 16, "ONNX subtracts no zero point from integers of 32 bits");
  const std::string zero = zero_point(s, 2, q);
  return {s.node("DequantizeLinear", {s.arg(0), s.arg(1), zero}, axis_of_vectors(s))};
}

constexpr Row kRows[] = {
    {"qnn.dequantize", dequantize},
    {"qnn.quantize", quantize},
};

}  // namespace

std::span<const Row> quantised_rows() { return kRows; }

}  // namespace relay::exporter
