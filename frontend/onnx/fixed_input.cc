#include "frontend/onnx/fixed_input.h"

#include <string>

#include "base/cat.h"

namespace relay::frontend {

std::optional<Tensor> fixed_input(std::string_view input, Span span, Type type,
                                  const data::WrittenValue& value, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string_view why) -> Diagnostic& {
    return diagnostics.error(
        span, "input-value-mismatch",
        cat("input ", input, ": the value ", data::show(value), " was asked for, and ", why));
  };
  const auto* tensor = type->as<TensorType>();
  if (!tensor) {
    refuse(cat("it has type ", show(type), ", which is no tensor"));
    return std::nullopt;
  }
  const std::optional<Shape> shape = tensor->static_shape();
  if (!shape) {
    refuse(cat("it has type ", show(type), ", whose extents are not known"))
        .note("give them with --input-shapes");
    return std::nullopt;
  }
  Tensor out;
  if (std::string wrong = data::make_tensor(value, tensor->dtype, *shape, out); !wrong.empty()) {
    refuse(wrong);
    return std::nullopt;
  }
  return out;
}

}  // namespace relay::frontend
