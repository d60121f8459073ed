// BitCast: the bits of elements read as those of another dtype.
#include <cstring>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

Results bit_cast(Node& n) {
  const auto code = static_cast<int32_t>(n.integer("to"));
  const std::optional<DType> to = data::dtype_of_onnx(code);
  if (!to) n.unsupported(cat("bits of ", data::onnx_dtype_name(code), " are not supported"));
  const DType from = n.dtype(0);
  n.require(from.bits == to->bits,
            cat("its input has ", from.bits, " bits an element, and ", to->name(), " has ", to->bits));
  if (from == *to) return {n.input(0)};
  if (const std::optional<Tensor> known = n.known(0); known && !to->is_bool()) {
    Tensor out(*to, known->shape());
    std::memcpy(out.data(), known->data(), known->bytes());
    return {n.builder().constant(std::move(out))};
  }
  // A truth value is a byte of 0 or 1.
  if (from.is_bool() && to->is_int()) return {n.cast(n.input(0), *to)};
  if (to->is_bool() && from.is_int()) return {n.cast(n.input(0), *to)};
  if (from.is_int() && to->is_int()) return {n.call(kReinterpret, {n.input(0)}, {{"dtype", *to}})};
  n.unsupported(
      cat("no kernel reads the bits of ", (from.is_float() ? from : *to).name(), " numbers"),
      "floating-point numbers whose bits are read must be constants; export the model without BitCast "
      "where they are not");
}

constexpr Row kRows[] = {
    {"BitCast", 26, bit_cast, "floating-point numbers that are no constants"},
};

}  // namespace

std::span<const Row> bit_rows() { return kRows; }

}  // namespace relay::frontend
