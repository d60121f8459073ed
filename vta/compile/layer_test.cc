#include "vta/compile/layer.h"

#include <gtest/gtest.h>

#include "vta/compile/testing.h"

namespace relay::vta {
namespace {

// What is reported about the layer; empty if it is accepted.
std::string refusal_of(const Layer& layer, const Params& params = {}) {
  Diagnostics d;
  const bool accepted = check_layer(layer, params, d);
  EXPECT_EQ(accepted, !d.has_errors());
  return d.render(SourceMap());
}

Layer convolution(const Axis& axis) {
  return {.in_channels = 16, .out_channels = 16, .rows = axis, .columns = axis};
}

TEST(Layer, ShapesOfResults) {
  EXPECT_EQ(
      out_size(LayerKind::kProduct, {.size = 56, .window = 3, .stride = 2, .pad_before = 1, .pad_after = 1}),
      28);
  EXPECT_EQ(out_size(LayerKind::kProduct, {.size = 7, .window = 3, .dilation = 3}), 1);
  EXPECT_EQ(out_size(LayerKind::kTransposed,
                     {.size = 4, .window = 4, .stride = 2, .pad_before = 1, .pad_after = 1}),
            8);
  EXPECT_EQ(out_size(LayerKind::kTransposed,
                     {.size = 4, .window = 3, .stride = 2, .pad_before = 1, .pad_after = 1, .out_pad = 1}),
            8);
  const Layer l = {.kind = LayerKind::kTransposed,
                   .in_channels = 8,
                   .out_channels = 6,
                   .groups = 2,
                   .rows = {.size = 4, .window = 2, .stride = 2}};
  EXPECT_EQ(output_shape(l), (TensorShape{1, 6, 8, 1}));
  EXPECT_EQ(weight_shape(l), (TensorShape{8, 3, 2, 1}));
}

TEST(Layer, AShapeThatMakesNoSenseIsRefused) {
  EXPECT_EQ(refusal_of(convolution({.size = 8, .window = 3})), "");
  EXPECT_EQ(refusal_of({.in_channels = 0}),
            "error: input channels: 0, and a VTA takes 1 to 65535 [vta-layer]\n");
  EXPECT_EQ(refusal_of({.batch = 65536}), "error: batch: 65536, and a VTA takes 1 to 65535 [vta-layer]\n");
  EXPECT_EQ(refusal_of({.in_channels = INT64_MAX, .columns = {.size = INT64_MIN}}),
            "error: input channels: 9223372036854775807, and a VTA takes 1 to 65535 [vta-layer]\n"
            "error: columns of the input: -9223372036854775808, and a VTA takes 1 to 65535 [vta-layer]\n");
  EXPECT_EQ(refusal_of({.in_channels = 4, .out_channels = 6, .groups = 4}),
            "error: 4 groups do not divide 4 and 6 channels [vta-layer]\n");
  EXPECT_EQ(refusal_of({.kind = LayerKind::kMaxPool, .in_channels = 4, .out_channels = 8}),
            "error: it has 4 channels, and its result 8 [vta-layer]\n");
  EXPECT_EQ(refusal_of({.kind = LayerKind::kSumPool, .in_channels = 4, .out_channels = 4, .groups = 2}),
            "error: only products have groups [vta-layer]\n");
  EXPECT_EQ(refusal_of({.kind = LayerKind::kElementwise, .rows = {.size = 4, .window = 2}}),
            "error: an elementwise layer has no windows over rows [vta-layer]\n");
  EXPECT_EQ(refusal_of({.rows = {.size = 4, .window = 5}}),
            "error: a window of 5 rows does not fit into the input [vta-layer]\n"
            "error: rows of the result: 0, and a VTA takes 1 to 65535 [vta-layer]\n");
  EXPECT_EQ(refusal_of({.columns = {.size = 4, .window = 2, .pad_before = 2}}),
            "error: a window of 2 columns may lie in the padding as a whole [vta-layer]\n");
  EXPECT_EQ(refusal_of({.columns = {.size = 4, .out_pad = 1}}),
            "error: only a transposed convolution pads its result [vta-layer]\n"
            "error: padding of the result by 1 columns, and the stride is 1 [vta-layer]\n");
}

TEST(Layer, ANumberThatNoInstructionHoldsIsRefused) {
  EXPECT_EQ(refusal_of(convolution({.size = 40, .window = 17, .pad_before = 15, .pad_after = 15})), "");
  EXPECT_EQ(refusal_of({.rows = {.size = 40, .window = 17, .pad_before = 16}}),
            "error: 16 rows of zeros beside the input, and a LOAD makes 15 at most [vta-layer]\n");
  // Pooling cuts its windows, and loads no zeros.
  EXPECT_EQ(refusal_of({.kind = LayerKind::kMaxPool, .rows = {.size = 40, .window = 17, .pad_before = 16}}),
            "");
  EXPECT_EQ(refusal_of({.kind = LayerKind::kTransposed, .rows = {.size = 4, .window = 17}}),
            "error: 16 rows of zeros beside the input, and a LOAD makes 15 at most [vta-layer]\n"
            "error: 16 rows of zeros beside the input, and a LOAD makes 15 at most [vta-layer]\n");
  Layer steps = {.origin = {"nn.dense"}};
  steps.steps = {{.op = AluOp::kAdd, .immediate = 32768, .origin = {"add"}},
                 {.op = AluOp::kShr, .immediate = 32, .origin = {"right_shift"}},
                 {.op = AluOp::kShr, .operand = OperandKind::kTensor, .origin = {"right_shift"}}};
  EXPECT_EQ(
      refusal_of(steps),
      "error: `add`: `add` by 32768, and immediate operands are -32768 to 32767 [vta-layer]\n"
      "error: `right_shift`: `shr` by 32, and immediate operands are -31 to 31 [vta-layer]\n"
      "error: `right_shift`: a tensor shifts, and a VTA has to know before that no amount is 32 or more "
      "[vta-layer]\n");
  EXPECT_EQ(refusal_of({.batch = 65535, .in_channels = 65535, .out_channels = 1, .rows = {.size = 65535}}),
            "error: one of its tensors has more bytes than a VTA has addresses for [vta-layer]\n");
  EXPECT_EQ(refusal_of({}, {.log_inp_width = 4, .log_out_width = 4}),
            "error: layers have numbers of 8 bits, and `LOG_INP_WIDTH` is 4 [vta-layer]\n"
            "error: layers have numbers of 8 bits, and `LOG_OUT_WIDTH` is 4 [vta-layer]\n");
}

TEST(Layer, StepsOfMeansAreExact) {
  for (int64_t count = 1; count <= 64; count++) {
    if (count > 53 && count != 64) continue;
    Diagnostics d;
    const Result<std::vector<LayerStep>> steps = mean_steps(count, {}, d);
    ASSERT_TRUE(steps.ok()) << count;
    for (int64_t sum = -128 * count; sum <= 127 * count; sum++) {
      int64_t value = sum;
      for (const LayerStep& s : *steps) {
        ASSERT_EQ(s.operand, OperandKind::kImmediate);
        ASSERT_TRUE(s.immediate >= INT16_MIN && s.immediate <= INT16_MAX);
        if (s.op == AluOp::kAdd) value += s.immediate;
        if (s.op == AluOp::kMul) value *= s.immediate;
        if (s.op == AluOp::kShr) value = s.immediate < 0 ? value * (1 << -s.immediate) : value >> s.immediate;
        ASSERT_TRUE(value >= INT32_MIN && value <= INT32_MAX) << count << " " << sum;
      }
      const int64_t twice = 2 * sum + count, mean = (twice + 1000 * count) / (2 * count) - 500;
      ASSERT_EQ(value, mean) << count << " " << sum;
    }
  }
  Diagnostics d;
  EXPECT_FALSE(mean_steps(1000, {"nn.avg_pool2d"}, d).ok());
  EXPECT_FALSE(mean_steps(0, {}, d).ok());
  EXPECT_FALSE(mean_steps(INT64_MAX / 1000, {}, d).ok());
  EXPECT_EQ(d.render(SourceMap()).substr(0, 77),
            "error: a mean of 1000 numbers: the ALU has no exact steps for it [vta-layer]\n");
}

}  // namespace
}  // namespace relay::vta
