// One host program on two drivers: the simulator, and another one that stands for a board.
#include "vta/driver.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "vta/isa/encode.h"
#include "vta/isa/testing.h"
#include "vta/sim/oracle.h"
#include "vta/simulator_driver.h"

namespace relay::vta {
namespace {

using testing::layout_of;

// A board that computes as the oracle does, and notices nothing else.
class OracleBoard : public Driver {
 public:
  explicit OracleBoard(const Layout& layout) : layout_(layout) {}

  const Layout& layout() const override { return layout_; }
  Result<uint64_t> allocate(uint64_t bytes, Diagnostics& d) override { return dram_.allocate(bytes, d); }
  bool free(uint64_t address, Diagnostics&) override { return dram_.free(address); }
  bool write(uint64_t address, std::span<const uint8_t> bytes, Diagnostics&) override {
    std::copy(bytes.begin(), bytes.end(), dram_.find(address, bytes.size()));
    return true;
  }
  bool read(uint64_t address, std::span<uint8_t> bytes, Diagnostics&) override {
    std::copy_n(dram_.find(address, bytes.size()), bytes.size(), bytes.begin());
    return true;
  }
  bool run(uint64_t address, uint32_t count, Diagnostics& d) override {
    const uint64_t bytes = uint64_t{count} * kInstructionBytes;
    const auto stream = decode_instructions(layout_, {dram_.find(address, bytes), bytes}, d);
    return stream.ok() && run_oracle(layout_, *stream, dram_).empty();
  }

 private:
  Layout layout_;
  Dram dram_;
};

uint32_t element(const Layout& layout, Memory memory, uint64_t address) {
  return static_cast<uint32_t>(address / static_cast<uint64_t>(layout.params().dram_bytes(memory)));
}

// One vector times one tile: the host program of the smallest product. Empty if something is wrong.
std::vector<uint8_t> product(Driver& driver, const std::vector<uint8_t>& x,
                             const std::vector<uint8_t>& weights, Diagnostics& d) {
  const Layout& l = driver.layout();
  const std::vector<MicroOp> micro_ops = {{0, 0, 0}};
  const Result<std::vector<uint8_t>> code = encode(l, micro_ops, d);
  const Result<uint64_t> inp = upload(driver, x, d), wgt = upload(driver, weights, d),
                         uop = upload(driver, *code, d);
  const Result<uint64_t> out = driver.allocate(x.size(), d);
  if (!inp || !wgt || !uop || !out) return {};
  const auto move = [&](Opcode opcode, Memory memory, uint64_t address) {
    return Instruction{.opcode = opcode,
                       .memory = memory,
                       .dram_base = element(l, memory, address),
                       .y_size = 1,
                       .x_size = 1,
                       .x_stride = 1};
  };
  std::vector<Instruction> stream = {
      move(Opcode::kLoad, Memory::kUop, *uop),
      {.opcode = Opcode::kGemm, .reset = true, .uop_end = 1, .iter_out = 1, .iter_in = 1},
      move(Opcode::kLoad, Memory::kInp, *inp),
      move(Opcode::kLoad, Memory::kWgt, *wgt),
      {.opcode = Opcode::kGemm, .uop_end = 1, .iter_out = 1, .iter_in = 1},
      move(Opcode::kStore, Memory::kOut, *out),
      {.opcode = Opcode::kFinish}};
  stream[3].push_next = stream[4].pop_prev = true;
  stream[4].push_next = stream[5].pop_prev = true;
  stream[5].push_prev = stream[6].pop_next = true;
  std::vector<uint8_t> result(x.size());
  if (!run_stream(driver, stream, d) || !driver.read(*out, result, d)) return {};
  for (const uint64_t address : {*inp, *wgt, *uop, *out}) {
    if (!driver.free(address, d)) return {};
  }
  return result;
}

TEST(Driver, OneHostProgramRunsOnEach) {
  const Layout layout = layout_of({});
  SimulatorDriver simulator(layout);
  OracleBoard board(layout);
  std::vector<uint8_t> x(16), weights(256), expected(16);
  for (size_t k = 0; k < 16; k++) x[k] = static_cast<uint8_t>(k);
  for (size_t n = 0; n < 16; n++) {
    weights[n * 16 + n] = 2;   // twice x[n]
    weights[n * 16 + 15] = 1;  // plus x[15]
    expected[n] = static_cast<uint8_t>(n == 15 ? 15 : 2 * n + 15);
  }
  for (Driver* driver : {static_cast<Driver*>(&simulator), static_cast<Driver*>(&board)}) {
    Diagnostics d;
    EXPECT_EQ(product(*driver, x, weights, d), expected) << d.render(SourceMap());
    EXPECT_FALSE(d.has_errors());
  }
  EXPECT_EQ(simulator.counters().gemm, 1u);
  EXPECT_EQ(simulator.counters().bytes[static_cast<size_t>(Memory::kWgt)], 256u);
}

TEST(Driver, TheSimulatorReportsWhatIsWrong) {
  SimulatorDriver driver(layout_of({}));
  Diagnostics d;
  const uint64_t at = *driver.allocate(32, d);
  std::vector<uint8_t> bytes(33);
  EXPECT_FALSE(driver.write(at, bytes, d));
  EXPECT_FALSE(driver.read(at + 32, std::span(bytes).first(1), d));
  EXPECT_FALSE(driver.run(at, 3, d));
  EXPECT_FALSE(driver.free(at + 1, d));
  bytes.assign(32, 0xff);
  EXPECT_TRUE(driver.write(at, bytes, d));
  EXPECT_FALSE(driver.run(at, 2, d));
  EXPECT_FALSE(run_stream(
      driver,
      std::vector<Instruction>{{.opcode = Opcode::kGemm, .pop_prev = true}, {.opcode = Opcode::kFinish}}, d));
  EXPECT_FALSE(run_stream(driver, std::vector<Instruction>{{.opcode = Opcode::kGemm, .imm = 1}}, d));
  EXPECT_TRUE(driver.free(at, d));
  EXPECT_EQ(
      d.render(SourceMap()),
      "error: the host writes 33 bytes at address 4096, and no buffer has them all [vta-memory]\n"
      "error: the host reads 1 bytes at address 4128, and no buffer has them all [vta-memory]\n"
      "error: the host runs 48 bytes at address 4096, and no buffer has them all [vta-memory]\n"
      "error: the host frees address 4097, where no buffer begins [vta-memory]\n"
      "error: instruction 0: `opcode` has no value 7 [vta-instruction]\n"
      "error: instruction 0 `gemm pop_prev`: it waits for a token of `load`, which has no instructions left "
      "[vta-stall]\n"
      "error: instruction 0: `gemm` has no field `imm`, which is 1 [vta-instruction]\n");
}

TEST(Dram, BuffersBeginAtPages) {
  Dram dram;
  Diagnostics d;
  const uint64_t a = *dram.allocate(1, d), b = *dram.allocate(4097, d), c = *dram.allocate(0, d);
  EXPECT_EQ(a, 0x1000u);
  EXPECT_EQ(b, 0x2000u);
  EXPECT_EQ(c, 0x4000u);
  EXPECT_FALSE(dram.free(b + 1));
  EXPECT_TRUE(dram.free(b));
  EXPECT_EQ(*dram.allocate(8193, d), 0x5000u);  // too large for the gap
  EXPECT_EQ(*dram.allocate(8192, d), b);
  EXPECT_EQ(dram.find(a, 2), nullptr);  // beside the buffer
  EXPECT_EQ(dram.find(0, 1), nullptr);
  EXPECT_NE(dram.find(b + 8191, 1), nullptr);
  EXPECT_EQ(dram.find(b + 1, ~uint64_t{0}), nullptr);
  EXPECT_FALSE(dram.allocate(Dram::kEnd, d).ok());
  EXPECT_FALSE(dram.allocate(~uint64_t{0}, d).ok());
}

}  // namespace
}  // namespace relay::vta
