#include "vta/compile/schedule.h"

#include <gtest/gtest.h>

#include "vta/compile/compile.h"
#include "vta/compile/slots.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"

namespace relay::vta {
namespace {

using testing::layout_of;

LayerConstants zeros(const Layer& layer) {
  LayerConstants out;
  if (layer.multiplies()) out.weights.resize(static_cast<size_t>(weight_shape(layer).size()));
  return out;
}

TEST(Schedule, VirtualThreadsAreFasterOnEveryLayer) {
  const Layout layout = layout_of({});
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    Diagnostics d;
    uint64_t cycles[3] = {};
    for (const int threads : {1, 2}) {
      const Result<LayerCode> code = compile_layer(l.layer, zeros(l.layer), layout, {.threads = threads}, d);
      ASSERT_TRUE(code.ok()) << l.name;
      const Cycles counted = count_cycles(layout, code->instructions, {});
      ASSERT_FALSE(counted.refusal) << l.name;
      cycles[threads] = counted.total;
      // The model says what the cycle model counts, nearly.
      EXPECT_NEAR(static_cast<double>(code->schedule.estimate.total), static_cast<double>(counted.total),
                  0.1 * static_cast<double>(counted.total))
          << l.name << " " << text_of(code->schedule);
      uint64_t bytes = 0;
      for (const uint64_t of_memory : counted.bytes) bytes += of_memory;
      EXPECT_NEAR(static_cast<double>(code->schedule.estimate.bytes), static_cast<double>(bytes),
                  0.02 * static_cast<double>(bytes))
          << l.name << " " << text_of(code->schedule);
    }
    EXPECT_LT(cycles[2], cycles[1]) << l.name;
  }
}

// The published schedules' bytes, counted by hand for two layers: C2 loads 68 rows of 56 pixels, 4
// input blocks for each of 2 tiles of output blocks; C11 loads everything but its input once.
TEST(Schedule, PublishedBytesFollowFromTheTiles) {
  const std::vector<testing::NamedLayer> layers = testing::resnet18_layers();
  EXPECT_EQ(testing::published_bytes(layers[0]),
            68u * 56 * 4 * 2 * 16 + 7u * 4 * 4 * 9 * 256 + 56u * 56 * 64);
  EXPECT_EQ(testing::published_bytes(layers[9]), 2u * 49 * 512 + 512u * 512 * 9 + 49u * 512);
}

// C9 is the exception: its tiles are smaller, because that is faster, and so it loads the input
// three times instead of twice.
TEST(Schedule, MovesNoMoreThanPublishedSchedules) {
  const Layout layout = layout_of({});
  uint64_t ours_in_all = 0, published_in_all = 0;
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    Diagnostics d;
    const Result<LayerCode> code = compile_layer(l.layer, zeros(l.layer), layout, {}, d);
    ASSERT_TRUE(code.ok()) << l.name;
    const Cycles counted = count_cycles(layout, code->instructions, {});
    uint64_t ours = 0;
    for (const Memory memory : {Memory::kInp, Memory::kWgt, Memory::kOut})
      ours += counted.bytes[static_cast<size_t>(memory)];
    const uint64_t published = testing::published_bytes(l);
    EXPECT_LE(ours, l.name == "C9" ? published * 104 / 100 : published) << l.name;
    ours_in_all += ours, published_in_all += published;
  }
  EXPECT_LT(ours_in_all, published_in_all * 4 / 5);
}

// Depthwise and pointwise layers of MobileNet: five passes of ALU over the sums, which are those of
// `add` (2), shift, ReLU and clip, and little else beside the products.
TEST(Schedule, LayersOfMobileNetTakeLittleMoreThanTheirPasses) {
  struct Row {
    int64_t size, in, out, window, stride;
  };
  constexpr Row kRows[] = {{112, 32, 32, 3, 1},  {112, 32, 64, 1, 1},  {56, 128, 128, 3, 2},
                           {28, 256, 256, 3, 1}, {14, 512, 512, 3, 1}, {14, 512, 512, 1, 1}};
  const Layout layout = layout_of({});
  for (const Row& r : kRows) {
    const int64_t pad = r.window / 2;
    const Axis axis = {
        .size = r.size, .window = r.window, .stride = r.stride, .pad_before = pad, .pad_after = pad};
    Layer layer = {.in_channels = r.in, .out_channels = r.out, .rows = axis, .columns = axis};
    if (r.window > 1) layer.groups = r.in;
    layer.steps = {{.op = AluOp::kAdd, .operand = OperandKind::kChannel},
                   {.op = AluOp::kShr, .immediate = 7},
                   {.op = AluOp::kMax},
                   {.op = AluOp::kMin, .immediate = 127}};
    LayerConstants constants = zeros(layer);
    constants.channels.resize(layer.steps.size());
    constants.channels[0].resize(static_cast<size_t>(r.out), 1000);
    Diagnostics d;
    const Result<LayerCode> code = compile_layer(layer, constants, layout, {}, d);
    ASSERT_TRUE(code.ok());
    const auto total = static_cast<double>(count_cycles(layout, code->instructions, {}).total);
    EXPECT_NEAR(static_cast<double>(code->schedule.estimate.total), total, 0.02 * total)
        << r.size << " " << r.in;
    const BlockedLayer b = in_blocks(layer, {});
    const int64_t vectors = b.out_blocks * b.out_rows * b.out_columns;
    const int64_t products = vectors * b.sections[0].in_blocks * b.taps;
    EXPECT_LT(total, 1.045 * static_cast<double>(products + 5 * vectors)) << r.size << " " << r.in;
  }
}

TEST(Schedule, WhatDoesNotFitIsRefusedWithTheScratchpad) {
  const Layer layer = {.in_channels = 16,
                       .out_channels = 16,
                       .rows = {.size = 20, .window = 9},
                       .columns = {.size = 20, .window = 9},
                       .origin = {"nn.conv2d"}};
  Diagnostics d;
  EXPECT_FALSE(choose_schedule(layer, {.log_inp_buff_size = 10}, {}, d).ok());
  EXPECT_FALSE(choose_schedule(layer, {.log_wgt_buff_size = 14}, {}, d).ok());
  EXPECT_FALSE(choose_schedule({.kind = LayerKind::kSumPool, .rows = {.size = 40, .window = 40}},
                               {.log_acc_buff_size = 11}, {.threads = 2}, d)
                   .ok());
  EXPECT_FALSE(choose_schedule(layer, {.log_uop_buff_size = 8}, {}, d).ok());
  EXPECT_EQ(
      d.render(SourceMap()),
      "error: `nn.conv2d`: no tile fits, not even one of a single result: `inp` has 64 elements, and a tile "
      "takes 81 [vta-layer]\n"
      "error: `nn.conv2d`: no tile fits, not even one of a single result: `wgt` has 64 elements, and a tile "
      "takes 81 [vta-layer]\n"
      "error: no tile fits, not even one of a single result: `acc` has 32 elements, and a tile takes 42 "
      "[vta-layer]\n"
      "error: `nn.conv2d`: no tile fits, not even one of a single result: `uop` has 64 elements, and an "
      "instruction takes 81 [vta-layer]\n");
}

TEST(Schedule, TheSameLayerHasTheSameSchedule) {
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    Diagnostics d;
    EXPECT_EQ(text_of(*choose_schedule(l.layer, {}, {}, d)), text_of(*choose_schedule(l.layer, {}, {}, d)));
  }
}

// Of VGG-16, of MobileNet, and a batch of images: many tiles to choose from.
TEST(Schedule, LargeLayersHaveOne) {
  const auto square = [](int64_t size, int64_t window, int64_t pad) {
    return Axis{.size = size, .window = window, .pad_before = pad, .pad_after = pad};
  };
  const Axis image = square(224, 3, 1), small = square(56, 3, 1), wide = square(112, 3, 1);
  const Layer layers[] = {
      {.in_channels = 64, .out_channels = 64, .rows = image, .columns = image},
      {.batch = 64, .in_channels = 256, .out_channels = 256, .rows = small, .columns = small},
      {.in_channels = 1024, .out_channels = 1024, .groups = 1024, .rows = wide, .columns = wide},
      {.batch = 8, .in_channels = 25088, .out_channels = 4096}};
  for (const Layer& layer : layers) {
    Diagnostics d;
    ASSERT_TRUE(check_layer(layer, {}, d)) << d.render(SourceMap());
    const Result<Schedule> schedule = choose_schedule(layer, {}, {}, d);
    ASSERT_TRUE(schedule.ok());
    EXPECT_EQ(schedule->threads, 2) << text_of(*schedule);
  }
}

TEST(Schedule, TilesThatStayAreLoadedOnce) {
  // 4 output blocks, 2 input blocks, 3 rows of tiles.
  Layer layer = {.in_channels = 32, .out_channels = 64, .rows = {.size = 12}, .columns = {.size = 4}};
  const BlockedLayer blocked = in_blocks(layer, {});
  Schedule s = {.tile = {.rows = 4, .columns = 4}, .threads = 1};
  ASSERT_EQ(assign_slots(layer, blocked, {}, s), "");
  EXPECT_EQ(s.weights.loads, 8);  // all 8 stay
  EXPECT_EQ(s.inputs.loads, 6);
  // Room for two weight tiles, which are those of an output block, and for one input tile.
  const Params small = {.log_inp_buff_size = 8, .log_wgt_buff_size = 9};
  ASSERT_EQ(assign_slots(layer, blocked, small, s), "");
  EXPECT_EQ(s.weights.count, 2);
  EXPECT_EQ(s.weights.loads, 8);
  EXPECT_EQ(s.inputs.count, 1);
  EXPECT_EQ(s.inputs.loads, 24);
  s.blocks_outside = false;
  ASSERT_EQ(assign_slots(layer, blocked, small, s), "");
  EXPECT_EQ(s.weights.loads, 24);
  s.threads = 2;
  EXPECT_EQ(assign_slots(layer, blocked, small, s),
            "`inp` has 16 elements, and a tile takes 16 in each of two virtual threads");
}

TEST(Listing, ShowsTheOperatorOfEachInstruction) {
  SourceMap sources;
  const std::string text = "nn.dense(%x, %w)\nnn.relu(%0)\n";
  const uint32_t file = sources.add("net.relay", text);
  const Layer layer = {.steps = {{.op = AluOp::kMax, .origin = {"nn.relu", {file, 17, 24}}}},
                       .origin = {"nn.dense", {file, 0, 8}}};
  Diagnostics d;
  const Result<LayerCode> code =
      compile_layer(layer, {.weights = {1}, .channels = {{}}}, layout_of({}), {}, d);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(listing(*code, sources),
            "# tile bundles=1 batches=1 outs=1 ins=1 rows=1 columns=1; blocks outside; threads=1\n"
            "load memory=uop y_size=1 x_size=1 x_stride=1  # nn.dense net.relay:1:1\n"
            "gemm reset uop_end=1 iter_out=1 iter_in=1  # nn.dense net.relay:1:1\n"
            "load memory=inp y_size=1 x_size=1 x_stride=1  # nn.dense net.relay:1:1\n"
            "load push_next memory=wgt y_size=1 x_size=1 x_stride=1  # nn.dense net.relay:1:1\n"
            "gemm pop_prev uop_end=1 iter_out=1 iter_in=1  # nn.dense net.relay:1:1\n"
            "alu push_next uop_end=1 iter_out=1 iter_in=1 alu_op=max use_imm  # nn.relu net.relay:2:1\n"
            "store pop_prev push_prev memory=out y_size=1 x_size=1 x_stride=1  # nn.relu net.relay:2:1\n"
            "finish pop_next  # nn.relu net.relay:2:1\n"
            "uop\n");
}

}  // namespace
}  // namespace relay::vta
