// A layer: what one stream of a VTA computes, on integers.
//
// A layer makes sums of 32 bits, works on them in a chain of steps, and keeps the low 8 bits:
//
//   sums   = products of `input` and weights, or largest or summed windows, or `input` itself
//   sums   = sums OP operand, for each step: this is where bias, shift, ReLU, clip and residual
//            connections are
//   result = the low 8 bits of the sums
//
// The chain stays on chip. Sums and products of accumulators keep their low 32 bits.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "vta/isa/instruction.h"

namespace relay::vta {

enum class LayerKind : uint8_t {
  kProduct,     // dense and conv2d, grouped and depthwise, too
  kTransposed,  // conv2d_transpose
  kMaxPool,     // windows are cut at the border
  kSumPool,     // average pooling is a sum, and mean_steps
  kElementwise,
};

// Who asked for it: an operator and its place in the source.
struct Origin {
  std::string name;
  Span span = Span::none();

  friend bool operator==(const Origin&, const Origin&) = default;
};

// Rows or columns: how positions of the result look at positions of the input.
struct Axis {
  int64_t size = 1;  // of the input
  int64_t window = 1, stride = 1, dilation = 1;
  int64_t pad_before = 0, pad_after = 0;
  int64_t out_pad = 0;  // kTransposed: positions behind the last ones that the input reaches

  // Input positions from the first one of a window to the last one.
  int64_t reach() const { return (window - 1) * dilation + 1; }
};

enum class OperandKind : uint8_t {
  kImmediate,
  kChannel,  // a constant of 32 bits for each channel of the result
  kTensor,   // of 8 bits, with the shape of the result
};

// sums = sums OP operand
struct LayerStep {
  AluOp op = AluOp::kAdd;
  OperandKind operand = OperandKind::kImmediate;
  int64_t immediate = 0;
  Origin origin = {};
};

struct Layer {
  LayerKind kind = LayerKind::kProduct;
  int64_t batch = 1;  // images, or the rows of a dense layer
  int64_t in_channels = 1, out_channels = 1;
  int64_t groups = 1;
  Axis rows = {}, columns = {};
  std::vector<LayerStep> steps;
  // The first step comes before the products, in place of a reset. start.h makes such layers; it is
  // false in those that people write.
  bool starts_at_constants = false;
  Origin origin = {};

  bool multiplies() const { return kind == LayerKind::kProduct || kind == LayerKind::kTransposed; }
  bool pools() const { return kind == LayerKind::kMaxPool || kind == LayerKind::kSumPool; }
};

// Batch, channels, rows, columns, the last one innermost.
struct TensorShape {
  int64_t batch = 1, channels = 1, rows = 1, columns = 1;

  int64_t size() const { return batch * channels * rows * columns; }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// Steps that read constants for channels.
int64_t channel_steps(const Layer& layer);

// The axis of the result.
int64_t out_size(LayerKind kind, const Axis& axis);
TensorShape input_shape(const Layer& layer);
TensorShape output_shape(const Layer& layer);
// Weights as networks have them: OIHW, and IOHW for kTransposed, where O or I is that of a group.
TensorShape weight_shape(const Layer& layer);

// Reports "vta-layer" with the number that is in the way: a shape that makes no sense, a number
// that no instruction holds, or parameters whose numbers do not have 8 bits.
bool check_layer(const Layer& layer, const Params& params, Diagnostics& d);

// The sum of `count` numbers of 8 bits becomes their mean, rounded to the nearest integer, up if
// two are. Reports "vta-layer" if the ALU has no such steps; it has them for all counts up
// to 53, and for 64.
Result<std::vector<LayerStep>> mean_steps(int64_t count, const Origin& origin, Diagnostics& d);

}  // namespace relay::vta
