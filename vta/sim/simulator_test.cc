// The simulator: gives what the oracle gives, in every order, and finds what is
// wrong with a stream.
#include "vta/sim/simulator.h"

#include <gtest/gtest.h>

#include <map>

#include "base/cat.h"
#include "vta/isa/encode.h"
#include "vta/isa/testing.h"
#include "vta/isa/text.h"
#include "vta/sim/oracle.h"
#include "vta/sim/testing.h"

namespace relay::vta {
namespace {

using testing::layout_of;
using Stream = std::vector<Instruction>;

std::string shown(const std::optional<Refusal>& refusal) {
  Diagnostics d;
  if (refusal) report(*refusal, d);
  return d.render(SourceMap());
}

// Small scratchpads: machines are made quickly.
Params small_params(int log_block = 3) {
  return {.log_block = log_block,
          .log_uop_buff_size = 8,
          .log_inp_buff_size = 6 + log_block,
          .log_wgt_buff_size = 6 + 2 * log_block,
          .log_acc_buff_size = 8 + log_block};
}

// The kinds of products that run on this machine, with parameters that they take.
void for_each_kind(const Params& params, auto test) {
  int kinds = 0;
  for (const Products& products : all_products()) {
    if (!runs_here(products) || !products.takes(params)) continue;
    SCOPED_TRACE(products.target);
    test(products);
    kinds++;
  }
  EXPECT_GE(kinds, 1);
}

TEST(Simulator, RandomProgramsGiveWhatTheOracleGives) {
  std::vector<Params> all = {small_params(3), small_params(4), small_params(5)};
  all.push_back({.log_inp_width = 4,
                 .log_wgt_width = 5,
                 .log_out_width = 4,
                 .log_block = 3,
                 .log_uop_buff_size = 8,
                 .log_inp_buff_size = 10,
                 .log_wgt_buff_size = 14,
                 .log_acc_buff_size = 11});
  for (size_t i = 0, n = all.size(); i < n; i++) {
    Params two = all[i];
    two.log_batch = 1;
    two.log_inp_buff_size++, two.log_acc_buff_size++;  // as many elements
    all.push_back(two);
  }
  uint64_t products = 0;
  for (const Params& params : all) {
    const Layout layout = layout_of(params);
    for_each_kind(params, [&](const Products& kind) {
      std::mt19937_64 random(17);
      for (int i = 0; i < 500; i++) {
        Simulator simulator(layout, {.products = &kind});
        const Stream stream = testing::random_program(layout, simulator.dram(), random);
        Dram oracle = simulator.dram();
        const Outcome outcome = simulator.run(stream);
        ASSERT_EQ(shown(outcome.refusal), "");
        ASSERT_EQ(run_oracle(layout, stream, oracle), "");
        ASSERT_EQ(simulator.dram().buffers(), oracle.buffers()) << disassemble(vta::Stream{stream, {}});
        products += outcome.counters.gemm;
      }
    });
  }
  EXPECT_GT(products, 10000u);
}

TEST(Simulator, TheHardestNumbersAreExact) {
  const Params params = {};
  const Layout layout = layout_of(params);
  for_each_kind(params, [&](const Products& kind) {
    for (const uint8_t inp : {0x80, 0x7f, 0xff}) {
      for (const uint8_t wgt : {0x80, 0x7f, 0xff}) {
        Simulator simulator(layout, {.products = &kind});
        std::mt19937_64 random(1);
        const Stream stream =
            testing::matrix_product(layout, {.depth = 4, .shift = 9}, simulator.dram(), random);
        auto buffer = simulator.dram().buffers().begin();
        for (const uint8_t fill : {inp, wgt}) {
          const auto& [address, bytes] = *buffer++;
          std::fill_n(simulator.dram().find(address, bytes.size()), bytes.size(), fill);
        }
        Dram oracle = simulator.dram();
        ASSERT_EQ(shown(simulator.run(stream).refusal), "");
        ASSERT_EQ(run_oracle(layout, stream, oracle), "");
        ASSERT_EQ(simulator.dram().buffers(), oracle.buffers());
      }
    }
  });
}

TEST(Simulator, Counts) {
  const Layout layout = layout_of({});
  Simulator simulator(layout);
  std::mt19937_64 random(1);
  const testing::MatrixProduct shape = {.rows = 8, .columns = 2, .depth = 3, .tile = 4};
  const Outcome outcome = simulator.run(testing::matrix_product(layout, shape, simulator.dram(), random));
  ASSERT_EQ(shown(outcome.refusal), "");
  // Four steps: each loads 3 x 4 vectors and 3 tiles, computes 4 vectors, and stores them.
  Counters expected;
  expected.bytes = {8 * 4, 4 * 3 * 256, 4 * 12 * 16, 0, 4 * 4 * 16, 0};
  expected.gemm = 4 * 12, expected.reset = 4 * 4, expected.alu = 4 * 3 * 4;
  expected.instructions = {8, 1 + 4 * 5 + 1, 4};
  EXPECT_EQ(outcome.counters, expected);
}

TEST(Simulator, EveryOrderGivesOneResult) {
  const Layout layout = layout_of(small_params());
  std::mt19937_64 random(2);
  Dram begin;
  const Stream stream = testing::matrix_product(layout, {.rows = 12, .columns = 3}, begin, random);
  std::optional<Outcome> first;
  std::map<uint64_t, std::vector<uint8_t>> result;
  for (uint64_t order = 0; order < 1000; order++) {
    Simulator simulator(layout, {.order = order});
    simulator.dram() = begin;
    const Outcome outcome = simulator.run(stream);
    ASSERT_EQ(shown(outcome.refusal), "");
    if (!first) first = outcome, result = simulator.dram().buffers();
    ASSERT_EQ(outcome.counters, first->counters);
    ASSERT_EQ(simulator.dram().buffers(), result);
  }
}

// Every token of a double-buffered stream is needed: without a pop there is a race, and without a
// push somebody waits for ever.
TEST(Simulator, EveryMissingTokenIsFound) {
  const Layout layout = layout_of(small_params());
  std::mt19937_64 random(2);
  Dram dram;
  const Stream stream = testing::matrix_product(layout, {.rows = 12, .columns = 2}, dram, random);
  std::map<std::string, int> found;
  for (size_t i = 0; i < stream.size(); i++) {
    for (bool Instruction::* token :
         {&Instruction::pop_prev, &Instruction::pop_next, &Instruction::push_prev, &Instruction::push_next}) {
      if (!(stream[i].*token)) continue;
      const bool pop = token == &Instruction::pop_prev || token == &Instruction::pop_next;
      Stream injured = stream;
      injured[i].*token = false;
      for (uint64_t order = 0; order < 5; order++) {
        Simulator simulator(layout, {.order = order});
        simulator.dram() = dram;
        const Outcome outcome = simulator.run(injured);
        ASSERT_TRUE(outcome.refusal) << i << " " << disassemble(stream[i]);
        ASSERT_EQ(outcome.refusal->slug, pop ? Slug("vta-race") : Slug("vta-stall"))
            << shown(outcome.refusal);
        found[std::string(outcome.refusal->slug.name())]++;
      }
    }
  }
  EXPECT_GT(found["vta-race"], 5 * 20);
  EXPECT_GT(found["vta-stall"], 5 * 20);
}

TEST(Simulator, MutatedStreamsEnd) {
  const Layout layout = layout_of(small_params());
  std::mt19937_64 random(99);
  Dram begin;
  Diagnostics d;
  const std::vector<uint8_t> seed =
      *encode(layout, testing::matrix_product(layout, {.rows = 4, .tile = 2}, begin, random), d);
  std::map<std::string, int> found;
  for (int i = 0; i < 100000; i++) {
    std::vector<uint8_t> bytes = seed;
    const size_t count = bytes.size() / kInstructionBytes;
    for (uint64_t k = 0; k <= random() % 2; k++) {
      const size_t at = random() % count * kInstructionBytes, other = random() % count * kInstructionBytes;
      switch (random() % 5) {
        case 0: std::swap_ranges(&bytes[at], &bytes[at] + kInstructionBytes, &bytes[other]); break;
        case 1: std::copy_n(&bytes[at], kInstructionBytes, &bytes[other]); break;
        default: bytes[at + random() % kInstructionBytes] ^= static_cast<uint8_t>(1 << random() % 8);
      }
    }
    Diagnostics wrong;
    const Result<Stream> stream = decode_instructions(layout, bytes, wrong);
    if (!stream) {
      found["undecoded"]++;
      continue;
    }
    Simulator simulator(layout, {.order = random(), .most_operations = 20000});
    simulator.dram() = begin;
    const Outcome outcome = simulator.run(*stream);
    found[outcome.refusal ? std::string(outcome.refusal->slug.name()) : "accepted"]++;
    if (outcome.refusal) {
      ASSERT_FALSE(outcome.refusal->cause.empty());
      ASSERT_LT(outcome.refusal->index, stream->size());
      continue;
    }
    Dram oracle = begin;
    ASSERT_EQ(run_oracle(layout, *stream, oracle), "");
    ASSERT_EQ(simulator.dram().buffers(), oracle.buffers());
  }
  for (const char* kind :
       {"undecoded", "accepted", "vta-instruction", "vta-stall", "vta-race", "vta-leftover", "vta-limit"})
    EXPECT_GT(found[kind], 20) << kind;
}

// --- what is said

class Said : public ::testing::Test {
 protected:
  // Runs assembly; memory has a page of zeros at 0x1000.
  std::string said(const std::string& text, uint64_t most_operations = 1 << 20) {
    const Layout layout = layout_of({});
    SourceMap sources;
    Diagnostics d;
    const Result<vta::Stream> stream = assemble(layout, sources, sources.add("test.vta", text), d);
    EXPECT_TRUE(stream.ok()) << d.render(sources);
    Simulator simulator(layout, {.most_operations = most_operations});
    EXPECT_EQ(*simulator.dram().allocate(4096, d), 0x1000u);
    return shown(simulator.run(stream->instructions).refusal);
  }
};

TEST_F(Said, OfAStall) {
  EXPECT_EQ(
      said("load pop_next push_next memory=inp dram_base=256 y_size=1 x_size=1\n"
           "gemm pop_prev push_prev uop_end=1 iter_out=1 iter_in=1\n"
           "finish\n"),
      "error: instruction 0 `load pop_next push_next memory=inp dram_base=256 y_size=1 x_size=1`: it waits "
      "for "
      "a token of `compute`, whose instruction 1 `gemm pop_prev push_prev uop_end=1 iter_out=1 iter_in=1` "
      "waits "
      "for a token of `load`, whose instruction 0 `load pop_next push_next memory=inp dram_base=256 y_size=1 "
      "x_size=1` waits [vta-stall]\n");
  EXPECT_EQ(said("load pop_next memory=inp\nfinish\n"),
            "error: instruction 0 `load pop_next memory=inp`: it waits for a token of `compute`, which has "
            "no instructions left [vta-stall]\n");
}

TEST_F(Said, OfARaceForAScratchpad) {
  EXPECT_EQ(
      said("load memory=inp dram_base=256 y_size=1 x_size=2\n"
           "gemm uop_end=1 iter_out=1 iter_in=2 src_factor_in=1\n"
           "finish\n"),
      "error: instruction 0 `load memory=inp dram_base=256 y_size=1 x_size=2`: it writes element 0 of `inp`, "
      "which "
      "instruction 1 `gemm uop_end=1 iter_out=1 iter_in=2 src_factor_in=1` reads; no token orders the two "
      "[vta-race]\n");
}

TEST_F(Said, OfARaceForDram) {
  const std::string store = "store push_prev memory=out dram_base=256 y_size=1 x_size=1\n";
  const std::string pass = "load pop_next push_prev memory=uop\n";
  const std::string load = "load pop_next memory=inp dram_base=256 y_size=1 x_size=1\n";
  EXPECT_EQ(said(store + pass + load + "finish\n"), "");
  EXPECT_EQ(said(store + "load push_prev memory=uop\n" + load + "load pop_next memory=uop\nfinish\n"),
            "error: instruction 2 `load pop_next memory=inp dram_base=256 y_size=1 x_size=1`: it reads "
            "0x1000 of DRAM, "
            "which instruction 0 `store push_prev memory=out dram_base=256 y_size=1 x_size=1` writes; no "
            "token orders "
            "the two [vta-race]\n");
}

TEST_F(Said, OfResultsThatTheHostReadsTooEarly) {
  EXPECT_EQ(said("store memory=out dram_base=256 y_size=1 x_size=1\nfinish\n"),
            "error: instruction 1 `finish`: the host reads what instruction 0 `store memory=out "
            "dram_base=256 y_size=1 "
            "x_size=1` writes; no token orders the two [vta-race]\n");
}

TEST_F(Said, OfATokenThatIsLeftOver) {
  EXPECT_EQ(said("load push_next memory=inp\nfinish\n"),
            "error: instruction 0 `load push_next memory=inp`: nobody pops its token for `compute`, or one "
            "that was "
            "pushed before it [vta-leftover]\n");
}

TEST_F(Said, OfTheLimit) {
  EXPECT_EQ(said("gemm reset uop_end=1 iter_out=100 iter_in=100\nfinish\n", 1000),
            "error: instruction 0 `gemm reset uop_end=1 iter_out=100 iter_in=100`: the stream takes more "
            "micro-ops and "
            "elements than the simulator's limit [vta-limit]\n");
  EXPECT_EQ(said("gemm uop_end=8192 iter_out=16383 iter_in=16383\nfinish\n").find("error: instruction 0"),
            0u);
  Dram dram;
  Diagnostics d;
  EXPECT_FALSE(dram.allocate(uint64_t{1} << 40, d).ok());
}

TEST_F(Said, OfWhatIsOutOfRange) {
  const auto expect = [&](const std::string& line, const std::string& cause) {
    const std::string all = said(line + "\nfinish\n");
    EXPECT_EQ(all, "error: instruction 0 `" + line + "`: " + cause + " [vta-instruction]\n");
  };
  expect("load memory=inp sram_base=2047 y_size=1 x_size=2",
         "it fills elements 2047 to 2048 of `inp`, which has 2048");
  expect("load memory=inp dram_base=511 y_size=1 x_size=2",
         "row 0 is 32 bytes of DRAM at 0x1ff0, and no buffer has them all");
  expect("load memory=wgt dram_base=16 y_size=65535 x_size=1 y_pad_1=15",
         "it fills elements 0 to 65549 of `wgt`, which has 1024");
  expect("load memory=out y_size=1 x_size=1", "`load` moves no `out`, and this is `out`");
  expect("store memory=inp y_size=1 x_size=1", "`store` moves `out` alone, and this is `inp`");
  expect("store memory=out y_size=1 x_size=1 x_pad_0=1", "`store` has no pads");
  expect("load push_prev memory=inp", "it has a token of the previous engine, and `load` has none");
  expect("store pop_next memory=out", "it has a token of the next engine, and `store` has none");
  expect("gemm uop_bgn=2 uop_end=1", "its micro-ops end at 1, before they begin at 2");
  expect("gemm uop_end=8193", "its micro-ops end at 8193, and `uop` has 8192");
  expect("gemm uop_end=1 iter_out=2 iter_in=1025 dst_factor_in=2",
         "micro-op 0 `uop` reaches element 2048 of `acc`, which has 2048");
  expect("gemm uop_end=1 iter_out=1025 iter_in=1 wgt_factor_out=1",
         "micro-op 0 `uop` reaches element 1024 of `wgt`, which has 1024");
  expect("alu reset alu_op=min", "`alu` has no `reset`");
  expect("alu uop_end=1 iter_out=1 iter_in=1 alu_op=shr use_imm imm=32",
         "it shifts by 32, and amounts are -31 to 31");
}

TEST(Simulator, AStreamEndsWithOneFinish) {
  Simulator simulator(layout_of({}));
  EXPECT_EQ(simulator.run(Stream()).refusal->cause, "the stream has no instructions");
  EXPECT_EQ(simulator.run(Stream{{.opcode = Opcode::kGemm}}).refusal->cause,
            "the stream ends without `finish`");
  EXPECT_EQ(simulator.run(Stream{{.opcode = Opcode::kFinish}, {.opcode = Opcode::kFinish}}).refusal->cause,
            "instructions follow `finish`");
}

// A shift amount that the data has.
TEST(Simulator, ShiftsByAVectorAreChecked) {
  const Layout layout = layout_of({});
  Simulator simulator(layout);
  Diagnostics d;
  const uint64_t at = *simulator.dram().allocate(64, d);
  *simulator.dram().find(at, 1) = 40;
  const Stream stream = {
      {.opcode = Opcode::kLoad,
       .memory = Memory::kAcc,
       .dram_base = static_cast<uint32_t>(at / 64),
       .y_size = 1,
       .x_size = 1},
      {.opcode = Opcode::kAlu, .uop_end = 1, .iter_out = 1, .iter_in = 1, .alu_op = AluOp::kShr},
      {.opcode = Opcode::kFinish}};
  EXPECT_EQ(simulator.run(stream).refusal->cause, "it shifts by 40, and amounts are -31 to 31");
}

TEST(Simulator, ScratchpadsKeepWhatTheyHold) {
  const Layout layout = layout_of({});
  Simulator simulator(layout);
  Diagnostics d;
  const uint64_t from = *simulator.dram().allocate(16, d), to = *simulator.dram().allocate(16, d);
  std::fill_n(simulator.dram().find(from, 16), 16, 7);
  const Instruction move = {.opcode = Opcode::kLoad, .memory = Memory::kAcc8, .y_size = 1, .x_size = 1};
  Instruction load = move, store = move;
  load.dram_base = static_cast<uint32_t>(from / 16);
  store.opcode = Opcode::kStore, store.memory = Memory::kOut,
  store.dram_base = static_cast<uint32_t>(to / 16);
  store.push_prev = true;
  ASSERT_EQ(shown(simulator.run(Stream{load, {.opcode = Opcode::kFinish}}).refusal), "");
  ASSERT_EQ(shown(simulator.run(Stream{store, {.opcode = Opcode::kFinish, .pop_next = true}}).refusal), "");
  EXPECT_EQ(*simulator.dram().find(to + 15, 1), 7);
}

}  // namespace
}  // namespace relay::vta
