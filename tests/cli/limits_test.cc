// A run that never ends, or never ends well, ends with a message that names the limit and the option.
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
