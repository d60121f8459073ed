// Layers whose sums start at the constants of their first step compute the same.
#include "vta/compile/start.h"

#include <gtest/gtest.h>

#include "vta/compile/run_layer.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"
#include "vta/simulator_driver.h"

namespace relay::vta {
namespace {

using testing::LayerCase;

using Channels = std::vector<std::vector<int32_t>>;

LayerStep step(AluOp op, int64_t immediate) { return {.op = op, .immediate = immediate}; }
LayerStep constants(AluOp op) { return {.op = op, .operand = OperandKind::kChannel}; }

// A product whose first step adds `bias`, and these steps behind it.
Layer layer_of(std::vector<LayerStep> behind) {
  behind.insert(behind.begin(), constants(AluOp::kAdd));
  return {.in_channels = 2, .out_channels = 2, .steps = std::move(behind)};
}
std::optional<Start> start(std::vector<LayerStep> behind, std::vector<int32_t> bias = {5, -5}) {
  Channels channels{std::move(bias)};
  channels.resize(1 + behind.size());
  return start_at_constants(layer_of(std::move(behind)), channels);
}

TEST(Start, OperandsHaveTheOffsetOfTheSums) {
  const std::optional<Start> s =
      start({step(AluOp::kShr, 7), step(AluOp::kMax, 0), step(AluOp::kAdd, 3), step(AluOp::kMin, 127)});
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->layer.starts_at_constants);
  EXPECT_EQ(s->layer.steps[0].op, AluOp::kMin);
  EXPECT_EQ(s->channels[0], (std::vector<int32_t>{5 - 256 * 128, -5 - 256 * 128}));
  EXPECT_EQ(s->layer.steps[1].immediate, 7);
  EXPECT_EQ(s->layer.steps[2].immediate, -256);
  EXPECT_EQ(s->layer.steps[3].immediate, 3);
  EXPECT_EQ(s->layer.steps[4].immediate, 127 - 256);
}

// The constant has to be less than what a tile leaves, so larger ones need larger offsets.
TEST(Start, TheOffsetGrowsWithTheConstants) {
  const std::vector<LayerStep> behind = {step(AluOp::kShr, 4), step(AluOp::kMax, 0), step(AluOp::kMin, 127)};
  EXPECT_EQ(start(behind, {0, 3840})->layer.steps[2].immediate, -256);
  EXPECT_EQ(start(behind, {0, 3841})->layer.steps[2].immediate, -512);
  EXPECT_EQ(start(behind, {0, 128 * 3840})->layer.steps[2].immediate, INT16_MIN);
  EXPECT_FALSE(start(behind, {0, 128 * 3840 + 1}));
}

TEST(Start, LayersWithoutAnOffsetStartAtZero) {
  const std::vector<LayerStep> clip = {step(AluOp::kShr, 4), step(AluOp::kMax, 0)};
  EXPECT_TRUE(start(clip));
  const auto with = [&](const LayerStep& first) {
    std::vector<LayerStep> out = clip;
    out.insert(out.begin(), first);
    return out;
  };
  EXPECT_FALSE(start(with(step(AluOp::kMul, 3))));
  EXPECT_FALSE(start(with({.op = AluOp::kMax, .operand = OperandKind::kTensor})));
  EXPECT_FALSE(start(with(step(AluOp::kShr, -30))));    // leaves 32 bits
  EXPECT_FALSE(start({step(AluOp::kMax, 0)}, {1, 0}));  // no shift brings it closer to zero
  EXPECT_TRUE(start({step(AluOp::kMax, 0)}, {-256, -300}));
  Layer shifts = layer_of(with(constants(AluOp::kShr)));
  EXPECT_FALSE(start_at_constants(shifts, {{5, -5}, {1, 2}, {}, {}}));
  // Sums of so many products leave 32 bits.
  Layer large = layer_of(clip);
  large.in_channels = 1 << 17;
  EXPECT_FALSE(start_at_constants(large, {{5, -5}, {}, {}}));
  Layer pool = layer_of(clip);
  pool.kind = LayerKind::kSumPool;
  EXPECT_FALSE(start_at_constants(pool, {{5, -5}, {}, {}}));
  EXPECT_FALSE(start_at_constants({.steps = clip}, {{}, {}}));
}

// Small scratchpads, so that tiles of several sizes follow each other in a slot.
TEST(Start, RandomLayersEqualTheReference) {
  const Params small = {.log_inp_buff_size = 11, .log_wgt_buff_size = 14, .log_acc_buff_size = 12},
               batches = {.log_batch = 1, .log_inp_buff_size = 11, .log_acc_buff_size = 13};
  std::mt19937_64 random(1);
  for (const Params& params : {small, batches}) {
    const Layout layout = testing::layout_of(params);
    int started = 0;
    for (int n = 0; n < 100; n++) {
      const LayerKind kind = n % 3 ? LayerKind::kProduct : LayerKind::kTransposed;
      Layer layer = testing::random_layer(kind, params, random);
      layer.steps = {constants(AluOp::kAdd), step(AluOp::kShr, 3 + n % 8)};
      if (n % 4 == 0) layer.steps.push_back({.op = AluOp::kAdd, .operand = OperandKind::kTensor});
      if (n % 5 == 0) layer.steps.push_back(constants(AluOp::kMax));
      layer.steps.push_back(step(AluOp::kMax, n % 2 ? 0 : -128));
      layer.steps.push_back(step(AluOp::kMin, 127));
      const LayerCase c = testing::random_numbers(layer, random);
      started += start_at_constants(layer, c.constants.channels).has_value();
      Diagnostics d;
      const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {.threads = 1 + n % 2}, d);
      ASSERT_TRUE(code.ok()) << d.render(SourceMap());
      SCOPED_TRACE(text_of(code->schedule));
      SimulatorDriver driver(layout);
      const Result<std::vector<int8_t>> result = run_layer(driver, *code, c.input, c.tensors, d);
      ASSERT_TRUE(result.ok()) << d.render(SourceMap());
      ASSERT_EQ(*result, testing::reference(c)) << n;
    }
    EXPECT_GT(started, 60);
  }
}

// One reset for all tiles.
TEST(Start, OneResetIsEnoughForAllTiles) {
  const Layout layout = testing::layout_of({});
  Layer layer = {.in_channels = 256, .out_channels = 256, .groups = 256};
  layer.rows = layer.columns = {.size = 28, .window = 3, .pad_before = 1, .pad_after = 1};
  layer.steps = {constants(AluOp::kAdd), step(AluOp::kShr, 7), step(AluOp::kMax, 0), step(AluOp::kMin, 127)};
  std::mt19937_64 random(1);
  const LayerCase c = testing::random_numbers(layer, random);
  Diagnostics d;
  const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {}, d);
  ASSERT_TRUE(code.ok());
  int resets = 0;
  for (const Instruction& i : code->instructions) resets += i.opcode == Opcode::kGemm && i.reset;
  EXPECT_EQ(resets, 1);
}

}  // namespace
}  // namespace relay::vta
