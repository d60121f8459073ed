// The cycle model: by hand on single instructions, by bounds on streams.
#include "vta/sim/cycles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "vta/isa/testing.h"
#include "vta/isa/text.h"
#include "vta/sim/simulator.h"
#include "vta/sim/testing.h"

namespace relay::vta {
namespace {

using testing::layout_of;

std::vector<Instruction> assembled(const std::string& text) {
  SourceMap sources;
  Diagnostics d;
  const Result<Stream> stream = assemble(layout_of({}), sources, sources.add("test.vta", text), d);
  EXPECT_TRUE(stream.ok()) << d.render(sources);
  return stream->instructions;
}

Cycles counted(const std::string& text, const Timing& timing = {}) {
  return count_cycles(layout_of({}), assembled(text), timing);
}

// The first instruction is there after the latency and two beats; the next ones
// take two beats each.
TEST(Cycles, OfSingleInstructions) {
  const std::string text =
      "load memory=inp y_size=2 x_size=3 x_stride=8 x_pad_0=1\n"  // 2 x 48 bytes: 12 beats, and 2 zeros
      "load memory=wgt y_size=4 x_size=1 x_stride=1\n"            // 1024 bytes in one: 128 beats
      "gemm uop_end=3 iter_out=5 iter_in=7\n"                     // 105
      "alu uop_end=1 iter_out=10 iter_in=1 use_imm alu_op=add\n"  // 10
      "alu uop_end=1 iter_out=10 iter_in=1 alu_op=add\n"          // 20
      "store memory=out y_size=1 x_size=4 x_stride=4\n"           // 64 bytes: 8 beats
      "finish\n";
  const Cycles cycles = counted(text);
  ASSERT_FALSE(cycles.refusal);
  const auto length = [&](size_t i) { return cycles.times[i].end - cycles.times[i].begin; };
  EXPECT_EQ(cycles.times[0].begin, 66u);
  EXPECT_EQ(length(0), 12u + 64 + 2);
  EXPECT_EQ(cycles.times[1].begin, cycles.times[0].end);
  EXPECT_EQ(length(1), 128u + 64);
  EXPECT_EQ(cycles.times[2].begin, 70u);
  EXPECT_EQ(length(2), 8u + 105);
  EXPECT_EQ(length(3), 8u + 10);
  EXPECT_EQ(length(4), 8u + 20);
  EXPECT_EQ(cycles.times[5].begin, 76u);
  EXPECT_EQ(length(5), 8u + 64);
  EXPECT_EQ(length(6), 1u);
  EXPECT_EQ(cycles.total, cycles.times[1].end);
  EXPECT_EQ(cycles.gemm, 105u);
  EXPECT_EQ(cycles.alu, 20u);
  EXPECT_EQ(cycles.waits[0], (Waits{.fetch = 66}));
  EXPECT_EQ(cycles.busy[0], cycles.times[1].end - 66);
}

TEST(Cycles, LoadsInFlightHideTheLatency) {
  const std::string text =
      "load memory=inp y_size=1 x_size=8 x_stride=8\nload memory=inp y_size=1 x_size=8 x_stride=8\nfinish\n";
  const Cycles one = counted(text), two = counted(text, {.loads_in_flight = 2});
  EXPECT_EQ(one.times[1].begin, one.times[0].end);
  EXPECT_EQ(two.times[1].begin, two.times[0].begin + 16);
}

TEST(Cycles, EnginesShareReadPorts) {
  const std::string text =
      "load memory=inp y_size=1 x_size=64 x_stride=64\nload memory=acc y_size=1 x_size=1\nfinish\n";
  const Cycles one = counted(text), two = counted(text, {.read_ports = 2});
  EXPECT_EQ(one.times[1].begin, one.times[0].begin + 128);
  EXPECT_EQ(one.waits[1].port, 126u);
  EXPECT_EQ(two.times[1].begin, 68u);
  EXPECT_EQ(two.waits[1].port, 0u);
}

TEST(Cycles, TokensAreWaitedFor) {
  const Cycles cycles = counted(
      "load push_next memory=inp y_size=1 x_size=8 x_stride=8\n"
      "gemm pop_prev push_next uop_end=1 iter_out=10 iter_in=1\n"
      "store pop_prev push_prev memory=out y_size=1 x_size=1\n"
      "finish pop_next\n");
  EXPECT_EQ(cycles.times[1].begin, cycles.times[0].end);
  EXPECT_EQ(cycles.times[2].begin, cycles.times[1].end);
  EXPECT_EQ(cycles.times[3].begin, cycles.times[2].end);
  EXPECT_EQ(cycles.waits[1], (Waits{.fetch = 68, .prev = cycles.times[0].end - 68, .next = 8 / 4 + 64}));
}

TEST(Cycles, BoundsHoldAndTwoBuffersAreFaster) {
  for (const Params& params : testing::usual_params()) {
    const Layout layout = layout_of(params);
    for (const int tile : {2, 8}) {
      for (const int depth : {1, 4}) {
        Cycles cycles[2];
        for (const int buffers : {1, 2}) {
          std::mt19937_64 random(1);
          Simulator simulator(layout);
          const testing::MatrixProduct shape = {
              .rows = 16, .columns = 4, .depth = depth, .tile = tile, .width = 2, .buffers = buffers};
          const auto stream = testing::matrix_product(layout, shape, simulator.dram(), random);
          const Outcome outcome = simulator.run(stream);
          ASSERT_FALSE(outcome.refusal);
          Cycles& c = cycles[buffers - 1];
          const Timing timing;
          c = count_cycles(layout, stream, timing);
          ASSERT_FALSE(c.refusal);
          EXPECT_EQ(c.gemm, outcome.counters.gemm);
          EXPECT_EQ(c.alu, outcome.counters.alu);
          EXPECT_EQ(c.bytes, outcome.counters.bytes);
          EXPECT_GE(c.total, c.gemm);
          uint64_t read = 0;
          for (const Memory m : {Memory::kUop, Memory::kWgt, Memory::kInp})
            read += c.bytes[static_cast<size_t>(m)];
          EXPECT_GE(c.total, read / static_cast<uint64_t>(timing.bus_bytes));
        }
        EXPECT_LT(cycles[1].total, cycles[0].total);
      }
    }
  }
}

// With enough work for each byte, the engine `compute` waits for nobody but at the
// begin and the end.
TEST(Cycles, TwoBuffersHideTheMemory) {
  const Layout layout = layout_of({});
  std::mt19937_64 random(1);
  Dram dram;
  const testing::MatrixProduct shape = {.rows = 512, .columns = 16, .depth = 16, .tile = 64, .width = 8};
  const auto stream = testing::matrix_product(layout, shape, dram, random);
  const Cycles cycles = count_cycles(layout, stream, {});
  EXPECT_GT(static_cast<double>(cycles.busy[1]), 0.93 * static_cast<double>(cycles.total));
  EXPECT_GT(cycles.utilisation(), 0.72);
}

TEST(Cycles, AFullQueueStalls) {
  // The second LOAD has no room while the first one waits for GEMM, which comes behind it.
  const std::string text =
      "load pop_next memory=inp\nload memory=inp\nload memory=inp\ngemm push_prev\nfinish\n";
  EXPECT_FALSE(counted(text).refusal);
  const Cycles cycles = counted(text, {.queue_length = 2});
  ASSERT_TRUE(cycles.refusal);
  Diagnostics d;
  report(*cycles.refusal, d);
  EXPECT_EQ(d.render(SourceMap()),
            "error: instruction 0 `load pop_next memory=inp`: it waits for a token, and the instructions "
            "behind it wait "
            "for room in the queue of `load`, which holds 2 [vta-stall]\n");
  EXPECT_EQ(counted("load pop_next memory=inp\nfinish\n").refusal->cause,
            "it waits for a token that nobody pushes");
  EXPECT_EQ(counted("gemm uop_bgn=1\nfinish\n").refusal->slug, Slug("vta-instruction"));
}

TEST(Cycles, ShorterQueuesAreNoFaster) {
  const Layout layout = layout_of({});
  std::mt19937_64 random(1);
  Dram dram;
  const auto stream = testing::matrix_product(layout, {.rows = 64, .columns = 4}, dram, random);
  uint64_t last = 0;
  for (const int64_t length : {512, 8, 3}) {
    const Cycles cycles = count_cycles(layout, stream, {.queue_length = length});
    ASSERT_FALSE(cycles.refusal) << length << cycles.refusal->cause;
    EXPECT_GE(cycles.total, last);
    last = cycles.total;
  }
}

TEST(Cycles, TimingIsChecked) {
  Diagnostics d;
  EXPECT_TRUE(check_timing({}, d));
  EXPECT_FALSE(check_timing({.bus_bytes = 0, .gemm_interval = -1}, d));
  EXPECT_EQ(d.render(SourceMap()),
            "error: `bus-bytes` is 0, and has to be 1 to 4096 [vta-parameters]\n"
            "error: `gemm-interval` is -1, and has to be 1 to 1000 [vta-parameters]\n");
}

TEST(Trace, HasEachInstruction) {
  const std::vector<Instruction> stream =
      assembled("load memory=inp y_size=1 x_size=1\nalu alu_op=max\nfinish\n");
  const Cycles cycles = count_cycles(layout_of({}), stream, {});
  const auto trace = nlohmann::json::parse(chrome_trace(stream, cycles));
  const auto& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 3u + 3);
  EXPECT_EQ(events[1]["args"]["name"], "compute");
  EXPECT_EQ(events[3]["name"], "load inp");
  EXPECT_EQ(events[3]["tid"], 0);
  EXPECT_EQ(events[3]["ts"], 66);
  EXPECT_EQ(events[3]["dur"], 66);
  EXPECT_EQ(events[4]["name"], "alu max");
  EXPECT_EQ(events[4]["args"]["text"], "alu alu_op=max");
  EXPECT_EQ(events[5]["args"]["index"], 2);
}

}  // namespace
}  // namespace relay::vta
