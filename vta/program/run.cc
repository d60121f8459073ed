#include "vta/program/run.h"

#include "vta/compile/run_layer.h"

namespace relay::vta {
namespace {

// Calls f(i, at) for each element i of a tensor of four axes, which lies at `at` in the order N, C,
// H, W.
template <class F>
void for_each_element(const Shape& shape, const std::vector<size_t>& axes, const F& f) {
  std::vector<int64_t> step(4, 1);  // of the axes as they are in the tensor
  int64_t next = 1;
  for (size_t k = 4; k-- > 0;) {
    step[axes[k]] = next;
    next *= shape[axes[k]];
  }
  size_t i = 0;
  for (int64_t a = 0; a < shape[0]; a++) {
    for (int64_t b = 0; b < shape[1]; b++) {
      for (int64_t c = 0; c < shape[2]; c++) {
        for (int64_t d = 0; d < shape[3]; d++)
          f(i++, static_cast<size_t>(a * step[0] + b * step[1] + c * step[2] + d * step[3]));
      }
    }
  }
}

bool is_moved(const Shape& shape, const std::vector<size_t>& axes) {
  return !axes.empty() && shape.size() == 4;
}

// As layers have it.
std::vector<int8_t> to_layer(const Tensor& t, const std::vector<size_t>& axes) {
  CHECK(t.dtype() == kInt8, "a layer reads tensors of int8");
  const std::span<const int8_t> values = t.as<int8_t>();
  std::vector<int8_t> out(values.begin(), values.end());
  if (is_moved(t.shape(), axes))
    for_each_element(t.shape(), axes, [&](size_t i, size_t at) { out[at] = values[i]; });
  return out;
}

Tensor from_layer(std::span<const int8_t> values, const Shape& shape, const std::vector<size_t>& axes) {
  Tensor out(kInt8, shape);
  CHECK(std::ssize(values) == out.size(), "the layer has another result than its function");
  const std::span<int8_t> to = out.as<int8_t>();
  if (is_moved(shape, axes)) {
    for_each_element(shape, axes, [&](size_t i, size_t at) { to[i] = values[at]; });
  } else {
    std::copy(values.begin(), values.end(), to.begin());
  }
  return out;
}

}  // namespace

Result<Tensor> run(Driver& driver, const DeviceLayer& layer, std::span<const Tensor> params,
                   const TensorType& result, Diagnostics& d) {
  const auto parameter = [&](size_t k) {
    CHECK(k < params.size(), "a parameter of the layer's function is missing");
    return to_layer(params[k], layer.axes);
  };
  std::vector<std::vector<int8_t>> tensors;
  for (const std::optional<size_t>& k : layer.tensors)
    tensors.push_back(k ? parameter(*k) : std::vector<int8_t>());
  const Result<std::vector<int8_t>> values =
      run_layer(driver, layer.code, parameter(layer.input), tensors, d);
  if (!values) return kReported;
  return from_layer(*values, *result.static_shape(), layer.axes);
}

}  // namespace relay::vta
