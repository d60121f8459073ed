// A run that never ends, or never ends well, ends with a message that names the limit and the option.
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
  std::string text = "def @main() {\n  let %a0 = 1f;\n";
  for (int i = 1; i <= 60; ++i) text += cat("  let %a", i, " = (%a", i - 1, ", %a", i - 1, ");\n");
  write("shared.relay", text + "  %a60\n}\n");
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
  refused({"run", "m.relay", "--max-time", "-1"}, kUsage, {"--max-time"});
  refused({"run", "m.relay", "--max-memory", "much"}, kUsage, {"--max-memory"});
}

TEST_F(Limits, AMillionPendingCallsRun) {
  write("m.relay", std::string(kDeep) + "def @main() { @down(1000000) }\n");
  EXPECT_NE(works({"run", "m.relay"}).find("1000000"), std::string::npos);
}

}  // namespace
}  // namespace relay::tests
