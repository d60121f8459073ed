// A run that never ends, or never ends well, ends with a message that names the
// limit and the option.
#include "base/cat.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Limits = Cli;

constexpr const char* kForever = "def @main(%x: int32) -> int32 { @main(add(%x, 1)) }\n";
constexpr const char* kDeep =
    "def @down(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { add(1, @down(subtract(%n, 1))) } }\n";

TEST_F(Limits, EachIsNamedWithItsOption) {
  write("m.relay", kForever);
  refused({"run", "m.relay", "--fuel", "1000"}, kLimit, {"more than 1000 steps", "--fuel"});
  refused({"run", "m.relay", "--max-time", "0.1"}, kLimit, {"more than 0.1 s", "--max-time"});
  write("deep.relay", "def @main(%x: int32) -> int32 { add(1, @main(%x)) }\n");
  refused({"run", "deep.relay", "--max-depth", "1000"}, kLimit, {"more than 1000 deep", "--max-depth"});
  refused({"run", "deep.relay", "--max-memory", "256MB"}, kLimit, {"more than 256 MiB", "--max-memory"});
}

// 2^60 tensors in 61 values.
TEST_F(Limits, AResultThatSharesItsPartsIsBounded) {
  std::string lets;
  for (int i = 1; i <= 60; ++i) lets += cat("  let %a", i, " = (%a", i - 1, ", %a", i - 1, ");\n");
  write("shared.relay", cat("def @main() {\n  let %a0 = 1f;\n", lets, "  %a60\n}\n"));
  // Its extents are compared with its type, too.
  write("open.relay", cat("def @main(%a0: Tensor[(n), float32]) {\n", lets, "  %a60\n}\n"));
  refused({"run", "open.relay", "--input-shapes", "a0:[3]"}, kLimit,
          {"the result has more than 1048576 parts"});
  works({"check", "shared.relay"});
  refused({"run", "shared.relay"}, kLimit, {"the result has more than 1048576 parts"});
  refused({"run", "shared.relay", "--engine", "graph"}, kUnsupported,
          {"a tuple has more than 65536 tensors"});
  const std::string session = works({"debug", "shared.relay"}, {.input = "break @main if nan\ncontinue\n"});
  EXPECT_NE(session.find("the program ended with\n  ((((("), std::string::npos) << session;
  const Ended traced = relay({"debug", "shared.relay"}, {.input = "record t.jsonl\n"});
  EXPECT_EQ(traced.exit_code, kUsage);
  EXPECT_NE(traced.out.find("refused: a value has more than 65536 parts"), std::string::npos) << traced.out;
}

TEST_F(Limits, WhatIsNoLimitIsRefused) {
  write("m.relay", kForever);
  const Words count{"is not a whole number from 1 on"}, size{"is not a size of at least one byte"},
      seconds{"is not a number of seconds, 0 or more"};
  for (const std::string command : {"run", "debug"}) {
    for (const std::string option : {"--fuel", "--max-depth"}) {
      for (const std::string text : {"-5", "0", "1e3", "0x10", "much", "99999999999999999999"})
        refused({command, "m.relay", option, text}, kUsage, {option + ": `" + text + "`", count[0]});
    }
    for (const std::string text : {"-1", "0", "much", "1.5.0MB", "99999999999999999999"})
      refused({command, "m.relay", "--max-memory", text}, kUsage, {"--max-memory: `" + text + "`", size[0]});
    for (const std::string text : {"-1", "nan", "inf", "1e400", "soon"})
      refused({command, "m.relay", "--max-time", text}, kUsage, {"--max-time: `" + text + "`", seconds[0]});
  }
}

TEST_F(Limits, AnEngineWithoutALimitRefusesIt) {
  write_sum("sum.relay");
  for (const std::string engine : {"graph", "aot-cpp"}) {
    refused({"run", "sum.relay", "--engine", engine, "--fuel", "10"}, kUsage,
            {"--fuel", "`" + engine + "`", "jit"});
    refused({"run", "sum.relay", "--engine", engine, "--max-memory", "1GB"}, kUsage,
            {"--max-memory", engine});
  }
  works({"run", "sum.relay", "--engine", "jit", "--fuel", "100", "--max-memory", "1GB"});
}

// What counts is what a process has allocated: the memory of one that runs next to nothing is
// files that it maps.
TEST_F(Limits, MemoryIsBoundedOnBothEngines) {
  write("m.relay",
        "def @main(%x: Tensor[(1500, 1000), float32], %y: Tensor[(1000, 1500), float32]) {\n"
        "  let %a = add(%x, 1f);\n  let %b = multiply(%a, %x);\n  let %c = nn.matmul(%b, %y);\n"
        "  (%a, %b, %c, cast(%c, dtype=\"float64\"))\n}\n");
  write_sum("little.relay");
  constexpr uint64_t kMegabyte = 1 << 20;
  for (const std::string engine : {"interp", "jit"}) {
    const Ended little = relay({"run", "little.relay", "--engine", engine});
    ASSERT_EQ(little.exit_code, kOk) << little.err;
    // Between them is what it needs: however a run ends, it keeps to its bound.
    for (const uint64_t most : {50, 60, 70, 80, 100, 120}) {
      const Ended ended =
          relay({"run", "m.relay", "--engine", engine, "--max-memory", cat(most, "MB"), "--print", "1"});
      EXPECT_TRUE(ended.exit_code == kOk || ended.exit_code == kLimit) << ended.err;
      EXPECT_LT(ended.most_memory, little.most_memory + (most + 8) * kMegabyte) << engine << " " << most;
    }
    for (const uint64_t most : {20, 40}) {
      const Ended ended = refused({"run", "m.relay", "--engine", engine, "--max-memory", cat(most, "MB")},
                                  kLimit, {cat("more than ", most, " MiB"), "--max-memory"});
      EXPECT_LT(ended.most_memory, little.most_memory + (most + 8) * kMegabyte) << engine << " " << most;
    }
    EXPECT_EQ(
        relay({"run", "m.relay", "--engine", engine, "--max-memory", "400MB", "--print", "1"}).exit_code,
        kOk);
    refused({"run", "little.relay", "--engine", engine, "--max-memory", "1MB"}, kLimit,
            {"1024 KiB", "--max-memory"});
  }
}

// Without any option: the message names the limit, the function and the line.
TEST_F(Limits, EndlessRecursionEnds) {
  write("r.relay",
        "def @f(%x: float32) -> float32 {\n  add(@f(%x), 1f)\n}\ndef @main(%x: float32) { @f(%x) }\n");
  for (const std::string engine : {"interp", "jit"}) {
    const Ended ended = refused({"run", "r.relay", "--engine", engine}, kLimit,
                                {"nested more than 1048576 deep (--max-depth)", "@f", "r.relay:2:"});
    EXPECT_LT(ended.most_memory, uint64_t{1000} << 20) << engine;
  }
  refused({"run", "r.relay", "--engine", "aot-cpp"}, kLimit, {"calls are nested too deeply"});
}

// A loop takes no memory: it ends when its fuel or its time does.
TEST_F(Limits, AnEndlessLoopNamesItsPlace) {
  write(
      "t.relay",
      "def @loop(%x: float32) -> float32 {\n  @loop(add(%x, 1f))\n}\ndef @main(%x: float32) { @loop(%x) }\n");
  for (const std::string engine : {"interp", "jit"}) {
    refused({"run", "t.relay", "--engine", engine, "--fuel", "100000"}, kLimit,
            {"100000 steps (--fuel)", "@loop", "t.relay:"});
    refused({"run", "t.relay", "--engine", engine, "--max-time", "0.2"}, kLimit,
            {"0.2 s (--max-time)", "@loop", "t.relay:"});
  }
}

TEST_F(Limits, AMillionPendingCallsRun) {
  write("m.relay", std::string(kDeep) + "def @main() { @down(1000000) }\n");
  EXPECT_NE(works({"run", "m.relay"}).find("1000000"), std::string::npos);
}

}  // namespace
}  // namespace relay::tests
