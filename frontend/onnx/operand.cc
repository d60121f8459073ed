#include "frontend/onnx/operand.h"

#include <algorithm>
#include <cmath>

namespace relay::frontend {

bool IndexTensor::complete() const {
  return std::none_of(elements.begin(), elements.end(), [](Dim d) { return d.is_unknown(); });
}

bool IndexTensor::constant() const {
  return std::all_of(elements.begin(), elements.end(), [](Dim d) { return d.is_const(); });
}

std::optional<IndexTensor> index_of(const Tensor& t) {
  if (t.size() > kMaxIndexElements) return std::nullopt;
  IndexTensor out{t.dtype(), t.shape(), {}};
  if (t.dtype().is_float()) {
    for (double v : t.doubles()) {
      if (v != std::floor(v) || std::abs(v) > 0x1p53 || std::signbit(v) != (v < 0)) return std::nullopt;
      out.elements.emplace_back(static_cast<int64_t>(v));
    }
    return out;
  }
  for (int64_t v : t.ints()) {
    if (v == INT64_MIN) return std::nullopt;  // what a Dim keeps for "unknown"
    out.elements.emplace_back(v);
  }
  return out;
}

Tensor tensor_of(const IndexTensor& t) {
  Tensor out(t.dtype, t.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t v = t.elements[static_cast<size_t>(i)].value();
    if (t.dtype.is_float()) {
      out.set(i, static_cast<double>(v));
    } else {
      out.set_int(i, v);
    }
  }
  return out;
}

}  // namespace relay::frontend
