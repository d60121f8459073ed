// com.microsoft: convolutions with an activation, and with channels last.
#include "frontend/onnx/activate.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/ml.h"

namespace relay::frontend {
namespace {

using namespace op;

// activation(conv(x, w) + bias + z)
Results fused_convolution(Node& n) {
  Expr y = n.convert_as("Conv", 11)[0];
  if (n.has(3)) y = n.call(kAdd, {y, n.input(3)});
  return {activated(n, y, n.text("activation", ""), real_list(n, "activation_params"))};
}

Results padded_transposed_convolution(Node& n) {
  n.unsupported("a transposed convolution whose pads are computed is not supported",
                "export ConvTranspose with the attribute `pads`");
}

constexpr Row kRows[] = {
    {"com.microsoft.ConvTransposeWithDynamicPads", 1, padded_transposed_convolution,
     "all forms: computed pads"},
    {"com.microsoft.FusedConv", 1, fused_convolution},
};

}  // namespace

std::span<const Row> ms_convolution_rows() { return kRows; }

}  // namespace relay::frontend
