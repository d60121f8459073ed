#include "vta/compile/stream_files.h"

#include <gtest/gtest.h>

#include "vta/compile/pack.h"
#include "vta/compile/run_layer.h"
#include "vta/compile/testing.h"
#include "vta/isa/encode.h"
#include "vta/isa/testing.h"
#include "vta/simulator_driver.h"

namespace relay::vta {
namespace {

using testing::LayerCase;
using testing::layout_of;

const std::vector<uint8_t>& file(const std::vector<StreamFile>& files, std::string_view name) {
  for (const StreamFile& f : files) {
    if (f.name == name) return f.bytes;
  }
  CHECK(false, "no such file");
  return files[0].bytes;
}

// What another simulator does with the files: it knows nothing but their order in memory.
TEST(StreamFiles, GiveWhatIsExpected) {
  const Axis axis = {.size = 9, .window = 3, .stride = 2, .pad_before = 1, .pad_after = 1};
  Layer layer = {.in_channels = 40, .out_channels = 70, .rows = axis, .columns = axis};
  layer.steps = {{.op = AluOp::kAdd, .operand = OperandKind::kChannel},
                 {.op = AluOp::kMul, .operand = OperandKind::kChannel},
                 {.op = AluOp::kShr, .immediate = 12}};
  std::mt19937_64 random(1);
  for (const Params& params : testing::usual_params()) {
    const Layout layout = layout_of(params);
    const LayerCase c = testing::random_numbers(layer, random);
    Diagnostics d;
    const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {}, d);
    ASSERT_TRUE(code.ok());
    SimulatorDriver driver(layout);
    const Result<std::vector<uint8_t>> result = run_packed(driver, *code, c.input, c.tensors, d);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(unpack_tensor(code->output, *result, params), testing::reference(c));
    const Result<std::vector<StreamFile>> files = stream_files(*code, c.input, *result, layout, d);
    ASSERT_TRUE(files.ok());
    Simulator simulator(layout);
    const std::vector<uint8_t>& expected = file(*files, "expected_out.bin");
    uint64_t out = 0;
    for (const char* name : {"input.bin", "weight.bin", "expected_out.bin", "uop.bin", "accumulator.bin"}) {
      const std::vector<uint8_t>& bytes = file(*files, name);
      const uint64_t at = *simulator.dram().allocate(bytes.size(), d);
      if (&bytes == &expected) {
        out = at;
      } else {
        std::copy(bytes.begin(), bytes.end(), simulator.dram().find(at, bytes.size()));
      }
    }
    const auto stream = decode_instructions(layout, file(*files, "instructions.bin"), d);
    ASSERT_TRUE(stream.ok());
    EXPECT_FALSE(simulator.run(*stream).refusal);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), simulator.dram().find(out, expected.size())));
    const std::vector<uint8_t>& config = file(*files, "vta_config.json");
    EXPECT_EQ(*read_params({reinterpret_cast<const char*>(config.data()), config.size()}, d), params);
  }
}

TEST(StreamFiles, ATensorOfBytesHasNoFile) {
  const Layer layer = {.kind = LayerKind::kMaxPool, .origin = {"nn.max_pool2d"}};
  Diagnostics d;
  const Layout layout = layout_of({});
  const Result<LayerCode> code = compile_layer(layer, {}, layout, {}, d);
  ASSERT_TRUE(code.ok());
  const std::vector<int8_t> one = {1};
  EXPECT_FALSE(stream_files(*code, one, std::vector<uint8_t>(16), layout, d).ok());
  EXPECT_EQ(d.render(SourceMap()),
            "error: `nn.max_pool2d`: it reads a tensor of 8 bits as accumulators, and streams in files have "
            "no file "
            "for it [vta-layer]\n");
}

}  // namespace
}  // namespace relay::vta
