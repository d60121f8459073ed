// Assembly: comes back, and says what is wrong where.
#include "vta/isa/text.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "vta/isa/testing.h"

namespace relay::vta {
namespace {

using testing::layout_of;

TEST(Text, ComesBack) {
  std::mt19937_64 random(3);
  for (const Params& params : testing::usual_params()) {
    const Layout layout = layout_of(params);
    Stream stream;
    for (int i = 0; i < 2000; i++) {
      stream.instructions.push_back(testing::random_instruction(layout, random));
      stream.micro_ops.push_back(testing::random_record(layout.micro_op(), random));
    }
    SourceMap sources;
    Diagnostics d;
    const uint32_t file = sources.add("stream.vta", disassemble(stream));
    const Result<Stream> again = assemble(layout, sources, file, d);
    ASSERT_TRUE(again.ok()) << d.render(sources);
    EXPECT_EQ(*again, stream);
  }
}

TEST(Text, Reads) {
  SourceMap sources;
  Diagnostics d;
  const uint32_t file =
      sources.add("stream.vta",
                  "# moves, then multiplies\n"
                  "load push_next memory=inp dram_base=0x100 y_size=1 x_size=16 x_stride=16\r\n"
                  "\n"
                  "  alu alu_op=shr use_imm imm=-0x8 # to the left\n"
                  "uop dst=1 wgt=2\n"
                  "finish");
  const Result<Stream> stream = assemble(layout_of({}), sources, file, d);
  ASSERT_TRUE(stream.ok()) << d.render(sources);
  EXPECT_EQ(disassemble(*stream),
            "load push_next memory=inp dram_base=256 y_size=1 x_size=16 x_stride=16\n"
            "alu alu_op=shr use_imm imm=-8\n"
            "finish\n"
            "uop dst=1 wgt=2\n");
}

// Reading looks at no line twice: to look for the end of each word and comment in the whole text
// would take minutes here.
TEST(Text, AMegabyteOfShortLinesIsReadAtOnce) {
  std::string text;
  for (int i = 0; i < 250000; i++) text += "uop\n";
  SourceMap sources;
  Diagnostics d;
  const Result<Stream> stream = assemble(layout_of({}), sources, sources.add("long.vta", text), d);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->micro_ops.size(), 250000u);
}

TEST(Text, PointsAtEachMistake) {
  SourceMap sources;
  Diagnostics d;
  const uint32_t file = sources.add("bad.vta",
                                    "lood memory=inp\n"
                                    "load memory=imp\n"
                                    "gemm uop_bgn=8192 x_size=1\n"
                                    "finish push_next=1\n"
                                    "alu imm=1 imm=2 use_imm alu_op\n"
                                    "uop dst=-1 src=1e3 wgt=\n"
                                    "alu imm=-32769 opcode=2\n");
  EXPECT_FALSE(assemble(layout_of({}), sources, file, d).ok());
  EXPECT_EQ(
      d.render(sources),
      R"(bad.vta:1:1: error: there is no instruction `lood`; did you mean `load`? There are: uop, load, store, gemm, finish, alu [vta-text]
  lood memory=inp
  ^~~~
bad.vta:2:13: error: there is no value of `memory` `imp`; did you mean `inp`? There are: uop, wgt, inp, acc, out, acc8 [vta-text]
  load memory=imp
              ^~~
bad.vta:3:14: error: `uop_bgn` has 13 bits: 0 to 8191, and not 8192 [vta-text]
  gemm uop_bgn=8192 x_size=1
               ^~~~
bad.vta:3:19: error: there is no field of `gemm` `x_size`; there are: pop_prev, pop_next, push_prev, push_next, reset, uop_bgn, uop_end, iter_out, iter_in, dst_factor_out, dst_factor_in, src_factor_out, src_factor_in, wgt_factor_out, wgt_factor_in [vta-text]
  gemm uop_bgn=8192 x_size=1
                    ^~~~~~
bad.vta:4:17: error: `push_next` is a flag: it has no value [vta-text]
  finish push_next=1
                  ^~
bad.vta:5:11: error: `imm` is written twice [vta-text]
  alu imm=1 imm=2 use_imm alu_op
            ^~~~~
bad.vta:5:5: here: first
  alu imm=1 imm=2 use_imm alu_op
      ^~~~~
bad.vta:5:25: error: `alu_op` needs a value: `alu_op=...` [vta-text]
  alu imm=1 imm=2 use_imm alu_op
                          ^~~~~~
bad.vta:6:9: error: `dst` has 11 bits: 0 to 2047, and not -1 [vta-text]
  uop dst=-1 src=1e3 wgt=
          ^~
bad.vta:6:16: error: `1e3` is not a number of 64 bits [vta-text]
  uop dst=-1 src=1e3 wgt=
                 ^~~
bad.vta:6:20: error: `wgt` needs a value: `wgt=...` [vta-text]
  uop dst=-1 src=1e3 wgt=
                     ^~~~
bad.vta:7:9: error: `imm` has 16 bits: -32768 to 32767, and not -32769 [vta-text]
  alu imm=-32769 opcode=2
          ^~~~~~
bad.vta:7:16: error: there is no field of `alu` `opcode`; there are: pop_prev, pop_next, push_prev, push_next, reset, uop_bgn, uop_end, iter_out, iter_in, dst_factor_out, dst_factor_in, src_factor_out, src_factor_in, alu_op, use_imm, imm [vta-text]
  alu imm=-32769 opcode=2
                 ^~~~~~
)");
}

TEST(Text, AnyBytesEnd) {
  std::mt19937_64 random(11);
  const std::string seed =
      "load push_next memory=inp sram_base=12 y_size=1\nalu alu_op=shr use_imm imm=-8\nuop dst=1 # x\n";
  const Layout layout = layout_of({});
  int refused = 0;
  for (int i = 0; i < 20000; i++) {
    std::string text = seed;
    for (uint64_t k = 0; k <= random() % 4; k++) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 5); break;
        case 2: text.insert(at, 1 + random() % 30, "=- #9x\n"[random() % 7]); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
      if (text.empty()) text = " ";
    }
    SourceMap sources;
    Diagnostics d;
    const uint32_t file = sources.add("mutated.vta", text);
    const Result<Stream> stream = assemble(layout, sources, file, d);
    ASSERT_EQ(stream.ok(), !d.has_errors());
    refused += !stream.ok();
  }
  EXPECT_GT(refused, 5000);
}

TEST(Text, ShowsInstructionsThatHaveNoBits) {
  EXPECT_EQ(disassemble(Instruction{.opcode = static_cast<Opcode>(7)}), "opcode=7");
  EXPECT_EQ(disassemble(Instruction{.opcode = Opcode::kStore, .memory = static_cast<Memory>(7)}),
            "store memory=7");
}

}  // namespace
}  // namespace relay::vta
