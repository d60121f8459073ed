// Bits: equal to those of a C compiler for the published declarations, and back again.
#include "vta/isa/encode.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/cat.h"
#include "vta/isa/testing.h"
#include "vta/isa/text.h"

namespace relay::vta {
namespace {

using testing::layout_of;

// The published declarations are bit-fields of C; these have the same widths in the same order.
struct MoveBits {
  uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1;
  uint64_t memory : 3, sram_base : 16, dram_base : 32;
  uint64_t y_size : 16, x_size : 16, x_stride : 16;
  uint64_t y_pad_0 : 4, y_pad_1 : 4, x_pad_0 : 4, x_pad_1 : 4;
};
template <unsigned kUop, unsigned kWgt, unsigned kInp, unsigned kAcc>
struct GemmBits {
  uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1, reset : 1;
  uint64_t uop_bgn : kUop, uop_end : kUop + 1, iter_out : 14, iter_in : 14;
  uint64_t dst_out : kAcc, dst_in : kAcc, src_out : kInp, src_in : kInp, wgt_out : kWgt, wgt_in : kWgt;
};
template <unsigned kUop, unsigned kWgt, unsigned kInp, unsigned kAcc>
struct AluBits {
  uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1, reset : 1;
  uint64_t uop_bgn : kUop, uop_end : kUop + 1, iter_out : 14, iter_in : 14;
  uint64_t dst_out : kAcc, dst_in : kAcc, src_out : kAcc, src_in : kAcc, op : 3, use_imm : 1;
  int64_t imm : 16;
};
template <unsigned kWgt, unsigned kAcc>
struct MicroOpBits {
  uint32_t dst : kAcc, src : kAcc, wgt : kWgt;
};

template <class Bits>
Word word_from(const Bits& bits) {
  static_assert(sizeof(Bits) == kInstructionBytes);
  uint8_t bytes[kInstructionBytes];
  std::memcpy(bytes, &bits, sizeof bytes);
  return word_of(bytes);
}

template <class Bits>
Bits head(const Instruction& i) {
  Bits b;
  std::memset(&b, 0, sizeof b);
  b.opcode = static_cast<unsigned>(i.opcode);
  b.pop_prev = i.pop_prev, b.pop_next = i.pop_next, b.push_prev = i.push_prev, b.push_next = i.push_next;
  return b;
}
template <class Bits>
Bits loops(const Instruction& i) {
  Bits b = head<Bits>(i);
  b.reset = i.reset, b.uop_bgn = i.uop_bgn, b.uop_end = i.uop_end, b.iter_out = i.iter_out,
  b.iter_in = i.iter_in;
  b.dst_out = i.dst_factor_out, b.dst_in = i.dst_factor_in;
  b.src_out = i.src_factor_out, b.src_in = i.src_factor_in;
  return b;
}

template <unsigned kUop, unsigned kWgt, unsigned kInp, unsigned kAcc>
Word as_the_compiler_lays_out(const Instruction& i) {
  if (i.opcode == Opcode::kGemm) {
    auto b = loops<GemmBits<kUop, kWgt, kInp, kAcc>>(i);
    b.wgt_out = i.wgt_factor_out, b.wgt_in = i.wgt_factor_in;
    return word_from(b);
  }
  if (i.opcode == Opcode::kAlu) {
    auto b = loops<AluBits<kUop, kWgt, kInp, kAcc>>(i);
    b.op = static_cast<unsigned>(i.alu_op), b.use_imm = i.use_imm, b.imm = i.imm;
    return word_from(b);
  }
  auto b = head<MoveBits>(i);
  if (i.opcode == Opcode::kFinish) return word_from(b);
  b.memory = static_cast<unsigned>(i.memory), b.sram_base = i.sram_base, b.dram_base = i.dram_base;
  b.y_size = i.y_size, b.x_size = i.x_size, b.x_stride = i.x_stride;
  b.y_pad_0 = i.y_pad_0, b.y_pad_1 = i.y_pad_1, b.x_pad_0 = i.x_pad_0, b.x_pad_1 = i.x_pad_1;
  return word_from(b);
}

// The depths are those of the parameters.
template <unsigned kUop, unsigned kWgt, unsigned kInp, unsigned kAcc>
void compare_with_bit_fields(const Params& params) {
  ASSERT_EQ(params.log_depth(Memory::kUop), kUop);
  ASSERT_EQ(params.log_depth(Memory::kWgt), kWgt);
  ASSERT_EQ(params.log_depth(Memory::kInp), kInp);
  ASSERT_EQ(params.log_depth(Memory::kAcc), kAcc);
  const Layout layout = layout_of(params);
  std::mt19937_64 random(kUop + 100 * kWgt + 10000 * kInp);
  for (int i = 0; i < 20000; i++) {
    const Instruction one = testing::random_instruction(layout, random);
    std::string wrong;
    const std::optional<Word> word = encode(layout, one, wrong);
    ASSERT_TRUE(word) << disassemble(one) << ": " << wrong;
    ASSERT_EQ(*word, (as_the_compiler_lays_out<kUop, kWgt, kInp, kAcc>(one))) << disassemble(one);
    ASSERT_EQ(decode(layout, *word, wrong), one) << wrong;
  }
  for (int i = 0; i < 1000; i++) {
    const MicroOp one = testing::random_record(layout.micro_op(), random);
    MicroOpBits<kWgt, kAcc> bits;
    std::memset(&bits, 0, sizeof bits);
    bits.dst = one.dst, bits.src = one.src, bits.wgt = one.wgt;
    uint32_t expected = 0;
    std::memcpy(&expected, &bits, sizeof expected);
    std::string wrong;
    ASSERT_EQ(encode(layout, one, wrong), expected) << disassemble(one);
    ASSERT_EQ(decode(layout, expected, wrong), one);
  }
}

TEST(Encode, LaysOutFieldsAsBitFieldsOfC) {
  const std::vector<Params> all = testing::usual_params();  // BATCH 1, then BATCH 2
  compare_with_bit_fields<13, 10, 11, 11>(all[0]);
  compare_with_bit_fields<12, 9, 10, 10>(all[1]);
  compare_with_bit_fields<13, 9, 10, 10>(all[2]);
  compare_with_bit_fields<13, 8, 10, 10>(all[3]);
  compare_with_bit_fields<13, 10, 10, 10>(all[4]);
  compare_with_bit_fields<12, 9, 9, 9>(all[5]);
  compare_with_bit_fields<13, 9, 9, 9>(all[6]);
  compare_with_bit_fields<13, 8, 9, 9>(all[7]);
  // Indices that are so narrow that a factor fits the lower half.
  compare_with_bit_fields<5, 3, 4, 4>(
      {.log_uop_buff_size = 7, .log_inp_buff_size = 8, .log_wgt_buff_size = 11, .log_acc_buff_size = 10});
}

TEST(Encode, RandomWordsComeBackOrAreRefused) {
  std::mt19937_64 random(7);
  for (const Params& params : {Params(), testing::usual_params()[5]}) {
    const Layout layout = layout_of(params);
    int decoded = 0;
    for (int i = 0; i < 100000; i++) {
      Word word = {random(), random()};
      // Most bits that no field has are zero in every second word, so that enough words decode.
      if (i % 2) word.low &= (uint64_t{1} << (50 + random() % 14)) - 1;
      std::string wrong;
      const std::optional<Instruction> one = decode(layout, word, wrong);
      if (!one) {
        ASSERT_FALSE(wrong.empty());
        continue;
      }
      decoded++;
      ASSERT_EQ(encode(layout, *one, wrong), word) << disassemble(*one) << ": " << wrong;
    }
    EXPECT_GT(decoded, 5000);
    int micro_ops = 0;
    for (int i = 0; i < 100000; i++) {
      const auto word = static_cast<uint32_t>(random());
      std::string wrong;
      const std::optional<MicroOp> one = decode(layout, word, wrong);
      micro_ops += one.has_value();
      ASSERT_TRUE(one ? encode(layout, *one, wrong) == word : !wrong.empty());
    }
    EXPECT_GT(micro_ops, 1000);
  }
}

// Words that were written down from the published table of fields.
TEST(Encode, KnownWords) {
  const Layout layout = layout_of({});
  std::string wrong;
  EXPECT_EQ(encode(layout, Instruction{.opcode = Opcode::kFinish, .pop_next = true}, wrong), (Word{0x13, 0}));
  EXPECT_EQ(encode(layout,
                   Instruction{.opcode = Opcode::kLoad,
                               .push_next = true,
                               .memory = Memory::kInp,
                               .sram_base = 1,
                               .dram_base = 2,
                               .y_size = 3,
                               .x_size = 4,
                               .x_stride = 5,
                               .x_pad_1 = 6},
                   wrong),
            (Word{0x40 | 2 << 7 | 1 << 10 | uint64_t{2} << 26,
                  3 | 4 << 16 | uint64_t{5} << 32 | uint64_t{6} << 60}));
  EXPECT_EQ(encode(layout, MicroOp{1, 2, 3}, wrong), 1u | 2u << 11 | 3u << 22);
}

std::string refusal(const Instruction& one) {
  std::string wrong;
  EXPECT_FALSE(encode(layout_of({}), one, wrong));
  return wrong;
}

TEST(Encode, NamesTheFieldThatDoesNotFit) {
  EXPECT_EQ(refusal({.opcode = Opcode::kGemm, .uop_bgn = 8192}),
            "`uop_bgn` is 8192, and its 13 bits hold 0 to 8191");
  EXPECT_EQ(refusal({.opcode = Opcode::kLoad, .y_pad_0 = 16}),
            "`y_pad_0` is 16, and its 4 bits hold 0 to 15");
  EXPECT_EQ(refusal({.opcode = Opcode::kFinish, .imm = 3}), "`finish` has no field `imm`, which is 3");
  EXPECT_EQ(refusal({.opcode = Opcode::kAlu, .wgt_factor_in = 1}),
            "`alu` has no field `wgt_factor_in`, which is 1");
  EXPECT_EQ(refusal({.opcode = static_cast<Opcode>(6)}), "`opcode` has no value 6");
  EXPECT_EQ(refusal({.opcode = Opcode::kLoad, .memory = static_cast<Memory>(6)}), "`memory` has no value 6");
}

TEST(Decode, NamesTheBitOrTheFieldThatIsWrong) {
  const Layout layout = layout_of({});
  const auto said = [&](Word word) {
    std::string wrong;
    EXPECT_FALSE(decode(layout, word, wrong));
    return wrong;
  };
  EXPECT_EQ(said({5, 0}), "`opcode` has no value 5");
  EXPECT_EQ(said({3, 1}), "bit 64 is set, and no field has it");
  EXPECT_EQ(said({uint64_t{1} << 60, 0}), "bit 60 is set, and no field has it");
  EXPECT_EQ(said({6 << 7, 0}), "`memory` has no value 6");
  EXPECT_EQ(said({4, uint64_t{7} << 44}), "`alu_op` has no value 7");
}

TEST(Decode, FilesHaveWholeInstructions) {
  const Layout layout = layout_of({});
  const std::vector<Instruction> all = {{.opcode = Opcode::kGemm, .reset = true, .uop_end = 1, .iter_out = 1},
                                        {.opcode = Opcode::kFinish}};
  Diagnostics d;
  std::vector<uint8_t> bytes = *encode(layout, all, d);
  EXPECT_EQ(bytes.size(), 32u);
  EXPECT_EQ(*decode_instructions(layout, bytes, d), all);
  bytes[16] = 7;
  EXPECT_FALSE(decode_instructions(layout, bytes, d).ok());
  bytes.resize(20);
  bytes[16] = 3;
  EXPECT_FALSE(decode_instructions(layout, bytes, d).ok());
  EXPECT_FALSE(decode_micro_ops(layout, std::vector<uint8_t>(5), d).ok());
  EXPECT_FALSE(encode(layout, std::vector<MicroOp>{{}, {1 << 20, 0, 0}}, d).ok());
  EXPECT_EQ(d.render(SourceMap()),
            "error: instruction 1: `opcode` has no value 7 [vta-instruction]\n"
            "error: instruction 1: it has 4 bytes of 16 [vta-instruction]\n"
            "error: micro-op 1: it has 1 bytes of 4 [vta-instruction]\n"
            "error: micro-op 1: `dst` is 1048576, and its 11 bits hold 0 to 2047 [vta-instruction]\n");
}

}  // namespace
}  // namespace relay::vta
