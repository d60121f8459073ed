// Tensors that are made: full ones, numbers in order, shapes.
#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

std::string filled(Site& s, const std::string& scalar) {
  return s.node("Expand", {scalar, s.extents().vector(dims_of(s.result()))});
}

// One value, converted to the dtype of the result.
Names full(Site& s, size_t value) {
  return {filled(s, s.cast(s.arg(value), s.type(value).dtype, s.result().dtype))};
}
Names full_of_first(Site& s) { return full(s, 0); }
Names full_of_second(Site& s) { return full(s, 1); }
Names zeros(Site& s) { return {filled(s, s.scalar(s.result().dtype, 0))}; }
Names ones(Site& s) { return {filled(s, s.scalar(s.result().dtype, 1))}; }

Names iota(Site& s) {
  const TensorType& out = s.result();
  const auto axis = static_cast<size_t>(s.axis("axis", out.rank()));
  const auto number = [&](int64_t v) { return s.graph().constant(Tensor::scalar_int(kInt64, v)); };
  const Dim extent[] = {out.dims[axis]};
  const std::string count = s.node("Squeeze", {s.extents().vector(extent)});
  const std::string line = s.node("Range", {number(0), count, number(1)});
  std::vector<int64_t> shape(out.rank(), 1);
  shape[axis] = -1;
  const std::string lying = s.node("Reshape", {line, s.graph().ints(shape)});
  return {s.cast(filled(s, lying), kInt64, out.dtype)};
}

Names arange(Site& s) {
  const DType dtype = s.type(0).dtype;
  s.require(dtype == kFloat32 || dtype == kFloat64 || (dtype.is_signed_int() && dtype.bits >= 16),
            "ONNX has no Range of this dtype");
  return {s.cast(s.node("Range", {s.arg(0), s.arg(1), s.arg(2)}), dtype, s.result().dtype)};
}

Names shape_of(Site& s) { return {s.cast(s.node("Shape", {s.arg(0)}), kInt64, s.result().dtype)}; }

Names trilu(Site& s) {
  return {s.node("Trilu", {s.arg(0), s.cast(s.arg(1), s.type(1).dtype, kInt64)},
                 {{"upper", s.attrs().flag("upper")}})};
}

// ONNX counts negative indices from the end; here they give a row without the value.
Names one_hot(Site& s) {
  const size_t rank = s.result().rank();
  const int64_t axis = s.axis("axis", rank), depth = s.attrs().integer("depth");
  Tensor places(kInt64, {depth});
  for (int64_t i = 0; i < depth; ++i) places.set_int(i, i);
  const std::string number = s.along(s.graph().constant(places, "places"), axis, rank);
  const std::string index =
      s.node("Unsqueeze", {s.cast(s.arg(0), s.type(0).dtype, kInt64), s.graph().ints({axis})});
  const std::string chosen = s.node("Where", {s.node("Equal", {index, number}), s.arg(1), s.arg(2)});
  return {s.cast(chosen, s.type(1).dtype, s.result().dtype)};
}

constexpr Row kRows[] = {
    {"arange", arange},   {"full", full_of_first}, {"full_like", full_of_second}, {"iota", iota},
    {"one_hot", one_hot}, {"ones", ones},          {"ones_like", ones},           {"shape_of", shape_of},
    {"trilu", trilu},     {"zeros", zeros},        {"zeros_like", zeros},
};

}  // namespace

std::span<const Row> creation_rows() { return kRows; }

}  // namespace relay::exporter
