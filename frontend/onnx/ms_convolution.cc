// com.microsoft: convolutions with an activation, and with channels last.
#include "frontend/onnx/activate.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/ml.h"
#include "frontend/onnx/window.h"

namespace relay::frontend {
namespace {

using namespace op;

// activation(conv(x, w) + bias + z)
Results fused_convolution(Node& n) {
  Expr y = n.convert_as("Conv", 11)[0];
  if (n.has(3)) y = n.call(kAdd, {y, n.input(3)});
  return {activated(n, y, n.text("activation", ""), real_list(n, "activation_params"))};
}

// The data has its channels last; the weight is that of Conv. No kernel of ONNX Runtime on CPUs has
// these operators; their schemas say so.
Results convolution_of_channels_last(Node& n) {
  Operand data;
  data.expr = with_channels(n, n.input(0), true);
  std::vector<Operand*> inputs{&data};
  for (size_t i = 1; i < 3; ++i) inputs.push_back(n.has(i) ? &n.operand(i) : nullptr);
  Node conv(n.importer(), n.proto(), 11, inputs);
  const Expr y = with_channels(n, conv.convert_as("Conv", 11)[0], false);
  n.without_effect({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});  // read by Conv
  return {y};
}

Results fused_convolution_of_channels_last(Node& n) {
  Expr y = convolution_of_channels_last(n)[0];
  if (n.has(3)) y = n.call(kAdd, {y, n.input(3)});
  return {activated(n, y, n.text("activation", ""), real_list(n, "activation_params"))};
}

constexpr Row kRows[] = {
    {"com.microsoft.FusedConv", 1, fused_convolution},
    {"com.microsoft.NhwcConv", 1, convolution_of_channels_last},
    {"com.microsoft.NhwcFusedConv", 1, fused_convolution_of_channels_last},
};

}  // namespace

std::span<const Row> ms_convolution_rows() { return kRows; }

}  // namespace relay::frontend
