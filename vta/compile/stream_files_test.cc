#include "vta/compile/stream_files.h"

#include <gtest/gtest.h>

#include <map>

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

// An instruction as bits, by the published places of its fields. Not our decoder: this is what the
// other simulator sees.
struct Word {
  uint64_t low, high;

  uint64_t opcode() const { return low & 7; }
  uint64_t memory() const { return low >> 7 & 7; }
  uint64_t dram_base() const { return low >> 26 & 0xffffffff; }
  uint64_t x_size() const { return high >> 16 & 0xffff; }
};

std::vector<Word> words_of(const std::vector<uint8_t>& bytes) {
  std::vector<Word> out(bytes.size() / 16);
  for (size_t i = 0; i < bytes.size(); i++) {
    uint64_t& half = i % 16 < 8 ? out[i / 16].low : out[i / 16].high;
    half |= uint64_t{bytes[i]} << (i % 8 * 8);
  }
  return out;
}

std::vector<uint8_t> padded(std::vector<uint8_t> bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

// (1 2 3; 4 5 6) (1 -1 2) + (7 -8) = (12 3), by hand, with default parameters.
TEST(StreamFiles, HaveThePublishedForm) {
  Layer layer = {.in_channels = 3, .out_channels = 2};
  layer.steps = {{.op = AluOp::kAdd, .operand = OperandKind::kChannel}};
  const Layout layout = layout_of({});
  Diagnostics d;
  const Result<LayerCode> code =
      compile_layer(layer, {.weights = {1, 2, 3, 4, 5, 6}, .channels = {{7, -8}}}, layout, {}, d);
  ASSERT_TRUE(code.ok());
  const std::vector<int8_t> input = {1, -1, 2};
  SimulatorDriver driver(layout);
  const Result<std::vector<uint8_t>> result =
      run_packed(driver, *code, input, std::vector<std::vector<int8_t>>(1), d);
  ASSERT_TRUE(result.ok());
  const Result<std::vector<StreamFile>> files = stream_files(*code, input, *result, layout, d);
  ASSERT_TRUE(files.ok());

  std::vector<std::string> names;
  for (const StreamFile& f : *files) names.push_back(f.name);
  EXPECT_EQ(names, (std::vector<std::string>{"instructions.bin", "uop.bin", "input.bin", "weight.bin",
                                             "accumulator.bin", "expected_out.bin", "vta_config.json"}));
  // A vector has 16 bytes, a weight tile 16 rows of 16, output channel outermost, and a vector of
  // accumulators 16 words, the lowest byte first.
  EXPECT_EQ(file(*files, "input.bin"), padded({1, 255, 2}, 16));
  std::vector<uint8_t> tile = padded({1, 2, 3}, 16);
  tile.insert(tile.end(), {4, 5, 6});
  EXPECT_EQ(file(*files, "weight.bin"), padded(tile, 256));
  EXPECT_EQ(file(*files, "accumulator.bin"), padded({7, 0, 0, 0, 248, 255, 255, 255}, 64));
  EXPECT_EQ(file(*files, "expected_out.bin"), padded({12, 3}, 16));
  // All indices of its micro-ops are 0 but those of the constants, which lie behind the sums.
  const std::vector<uint8_t>& micro_ops = file(*files, "uop.bin");
  EXPECT_EQ(micro_ops.size() % 4, 0u);
  EXPECT_EQ(std::vector<uint8_t>(micro_ops.begin(), micro_ops.begin() + 4), std::vector<uint8_t>(4));

  // Each buffer at a page of its own: input, weights, result, micro-ops, accumulators. `dram_base`
  // is the address by the bytes of an element.
  const std::map<uint64_t, uint64_t> bases = {
      {2, 0x1000 / 16}, {1, 0x2000 / 256}, {4, 0x3000 / 16}, {0, 0x4000 / 4}, {3, 0x5000 / 64}};
  std::map<uint64_t, uint64_t> found;
  const std::vector<Word> words = words_of(file(*files, "instructions.bin"));
  ASSERT_EQ(words.size() * 16, file(*files, "instructions.bin").size());
  for (const Word& w : words) {
    if (w.opcode() <= 1 && w.x_size() > 0) found.emplace(w.memory(), w.dram_base());
  }
  EXPECT_EQ(found, bases);
  EXPECT_EQ(words.back().opcode(), 3u);  // FINISH
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
