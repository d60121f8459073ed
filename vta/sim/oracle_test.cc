// The oracle on products that were multiplied by hand, or here by another loop.
#include "vta/sim/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vta/isa/testing.h"
#include "vta/sim/testing.h"

namespace relay::vta {
namespace {

using testing::layout_of;

int8_t at(const Dram& dram, uint64_t address) { return static_cast<int8_t>(*dram.find(address, 1)); }

// The buffers of testing::matrix_product, in the order of allocation: inp, wgt, out, micro-ops.
void expect_product(const Params& p, const testing::MatrixProduct& s, const Dram& dram) {
  auto buffer = dram.buffers().begin();
  const uint64_t inp = (buffer++)->first, wgt = (buffer++)->first, out = buffer->first;
  const int64_t batch = p.batch(), block = p.block();
  for (int64_t n = 0; n < s.columns; n++) {
    for (int64_t m = 0; m < s.rows; m++) {
      for (int64_t b = 0; b < batch; b++) {
        for (int64_t j = 0; j < block; j++) {
          int64_t sum = 0;
          for (int64_t k = 0; k < s.depth; k++) {
            for (int64_t c = 0; c < block; c++)
              sum += at(dram, inp + static_cast<uint64_t>(((k * s.rows + m) * batch + b) * block + c)) *
                     at(dram, wgt + static_cast<uint64_t>(((n * s.depth + k) * block + j) * block + c));
          }
          const int64_t expected = std::clamp<int64_t>(sum >> s.shift, -127, 127);
          ASSERT_EQ(at(dram, out + static_cast<uint64_t>(((n * s.rows + m) * batch + b) * block + j)),
                    expected)
              << n << " " << m << " " << b << " " << j;
        }
      }
    }
  }
}

TEST(Oracle, MultipliesMatrices) {
  for (const Params& params : testing::usual_params()) {
    for (const int buffers : {1, 2}) {
      const testing::MatrixProduct shape = {
          .rows = 6, .columns = 6, .depth = 2, .tile = 3, .width = 3, .buffers = buffers, .shift = 7};
      std::mt19937_64 random(5);
      Dram dram;
      const Layout layout = layout_of(params);
      const std::vector<Instruction> stream = testing::matrix_product(layout, shape, dram, random);
      ASSERT_EQ(run_oracle(layout, stream, dram), "");
      expect_product(params, shape, dram);
    }
  }
}

// acc = {4, 4, ...}, then each operation in turn, and a narrow result.
TEST(Oracle, AluByHand) {
  const Layout layout = layout_of({});
  const auto result = [&](AluOp op, bool use_imm, int16_t imm) {
    Dram dram;
    Diagnostics d;
    const uint64_t acc = *dram.allocate(128, d), out = *dram.allocate(32, d);
    for (uint64_t i = 0; i < 16; i++) *dram.find(acc + 4 * i, 1) = 4, *dram.find(acc + 64 + 4 * i, 1) = 3;
    const Instruction load = {.opcode = Opcode::kLoad,
                              .memory = Memory::kAcc,
                              .dram_base = static_cast<uint32_t>(acc / 64),
                              .y_size = 1,
                              .x_size = 2,
                              .x_stride = 2};
    // Micro-op 0 is zero as the machine starts: dst 0, src 0; the outer turn 0 adds nothing.
    const Instruction move_src = {.opcode = Opcode::kAlu,
                                  .push_next = true,
                                  .uop_end = 1,
                                  .iter_out = 1,
                                  .iter_in = 1,
                                  .alu_op = op,
                                  .use_imm = use_imm,
                                  .imm = imm};
    const std::vector<Instruction> stream = {load,
                                             move_src,
                                             {.opcode = Opcode::kStore,
                                              .pop_prev = true,
                                              .push_prev = true,
                                              .memory = Memory::kOut,
                                              .dram_base = static_cast<uint32_t>(out / 16),
                                              .y_size = 1,
                                              .x_size = 1,
                                              .x_stride = 1},
                                             {.opcode = Opcode::kFinish, .pop_next = true}};
    EXPECT_EQ(run_oracle(layout, stream, dram), "");
    return at(dram, out);
  };
  EXPECT_EQ(result(AluOp::kMin, true, 2), 2);
  EXPECT_EQ(result(AluOp::kMax, true, 9), 9);
  EXPECT_EQ(result(AluOp::kAdd, true, -7), -3);
  EXPECT_EQ(result(AluOp::kAdd, false, 0), 8);
  EXPECT_EQ(result(AluOp::kShr, true, 1), 2);
  EXPECT_EQ(result(AluOp::kShr, true, -3), 32);
  EXPECT_EQ(result(AluOp::kMul, true, -32), -128);
  EXPECT_EQ(result(AluOp::kMul, true, 33), static_cast<int8_t>(132));  // narrowed to its low bits
  EXPECT_EQ(result(AluOp::kMul, false, 0), 16);
}

TEST(Oracle, StopsWhereItCannotGoOn) {
  const Layout layout = layout_of({});
  Dram dram;
  const auto run = [&](const Instruction& i) {
    return run_oracle(layout, std::vector<Instruction>{i, {.opcode = Opcode::kFinish}}, dram);
  };
  EXPECT_EQ(run({.opcode = Opcode::kGemm, .pop_prev = true}), "no engine can go on");
  EXPECT_EQ(run({.opcode = Opcode::kLoad, .memory = Memory::kInp, .y_size = 1, .x_size = 1}),
            "no buffer in DRAM");
  EXPECT_NE(run({.opcode = Opcode::kGemm, .uop_end = 9000, .iter_out = 1, .iter_in = 1}), "");
  EXPECT_EQ(run({.opcode = Opcode::kAlu,
                 .uop_end = 1,
                 .iter_out = 1,
                 .iter_in = 1,
                 .alu_op = AluOp::kShr,
                 .use_imm = true,
                 .imm = 32}),
            "a shift by 32 bits or more");
}

}  // namespace
}  // namespace relay::vta
