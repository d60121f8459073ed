// Numbers that go wrong: who says so, and where it begins.
#include <nlohmann/json.hpp>

#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class NonFinite : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // Of -1 the logarithm is NaN, of 0 it is an infinity.
    write("log.relay",
          "def @main(%x: Tensor[(3), float32]) {\n"
          "  let %y = log(%x);\n"
          "  nn.relu(multiply(%y, 2f))\n"
          "}\n");
    write("x.relay", "def @main() { (tensor(shape=[3], dtype=\"float32\", [1, -1, 0])) }\n");
  }
};

TEST_F(NonFinite, RunCountsThemAndNamesTheFirst) {
  write("const.relay", "def @main(%x: Tensor[(3), float32]) {\n  log(negative(%x))\n}\n");
  for (const std::string engine : {"interp", "jit", "graph"}) {
    const Ended ended = relay({"run", "const.relay", "--fill", "ones", "--engine", engine});
    EXPECT_EQ(ended.exit_code, kOk) << ended.err;
    for (const std::string word :
         {"has 3 NaN among 3 elements", "the first NaN comes from `log` at const.relay:2:3"})
      EXPECT_NE(ended.err.find(word), std::string::npos) << engine << ": " << ended.err;
  }
  // Only results: nothing but them.
  EXPECT_EQ(relay({"run", "const.relay", "--fill", "ones", "-q"}).err, "");
}

TEST_F(NonFinite, AnInfinityBeforeTheNanIsNamedToo) {
  write("inf.relay", "def @main(%x: Tensor[(2), float32]) {\n  let %y = log(%x);\n  subtract(%y, %y)\n}\n");
  const Ended ended = relay({"run", "inf.relay", "--fill", "zeros"});
  for (const std::string word : {"the first NaN comes from `subtract` at inf.relay:3:3",
                                 "before it, the first infinity comes from `log` at inf.relay:2:12"})
    EXPECT_NE(ended.err.find(word), std::string::npos) << ended.err;
}

TEST_F(NonFinite, OfAnOnnxModelTheNodeIsShown) {
  const frontend::TestModel model =
      frontend::TestModel().input("x", {2}).node("Neg", {"x"}, {"n"}).node("Sqrt", {"n"}, {"y"}).output("y");
  write("m.onnx", model.proto.SerializeAsString());
  const Ended ended = relay({"run", "m.onnx", "--fill", "ones"});
  EXPECT_NE(ended.err.find("output `y` has 2 NaN"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("(n) -> (y)"), std::string::npos) << ended.err;
}

TEST_F(NonFinite, AsJsonItIsOneObject) {
  write("const.relay", "def @main(%x: Tensor[(3), float32]) { log(%x) }\n");
  const Ended ended = relay({"run", "const.relay", "--fill", "zeros", "--json"});
  const nlohmann::json j = nlohmann::json::parse(ended.err);
  EXPECT_EQ(j.at("outputs").at(0).at("infinities"), 3);
  EXPECT_EQ(j.at("outputs").at(0).at("nans"), 0);
  EXPECT_NE(j.at("origin").get<std::string>().find("`log`"), std::string::npos);
}

TEST_F(NonFinite, ATrapStopsAtTheFirst) {
  write("const.relay", "def @main(%x: Tensor[(3), float32]) {\n  nn.relu(log(negative(%x)))\n}\n");
  for (const std::string engine : {"interp", "jit"}) {
    const Ended ended = relay({"run", "const.relay", "--fill", "ones", "--engine", engine, "--nan-trap"});
    EXPECT_EQ(ended.exit_code, kMismatch) << engine;
    EXPECT_NE(ended.err.find("gives 3 NaN"), std::string::npos) << engine << ": " << ended.err;
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_NE(relay({"run", "const.relay", "--fill", "ones", "--nan-trap"})
                .err.find("`log` gives 3 NaN at const.relay:2:11"),
            std::string::npos);
  refused({"run", "const.relay", "--engine", "graph", "--nan-trap"}, kUsage, {"--nan-trap", "--engine jit"});
  works({"run", "const.relay", "--fill", "zeros", "--nan-trap"});  // -inf is no NaN
}

TEST_F(NonFinite, VerifyNeverCallsThemOk) {
  write("const.relay", "def @main(%x: Tensor[(3), float32]) { log(negative(%x)) }\n");
  const Ended ended =
      relay({"verify", "const.relay", "--fill", "ones", "--engines", "interp,jit", "--levels", "2"});
  EXPECT_EQ(ended.exit_code, kMismatch);
  EXPECT_NE(ended.out.find("has no number to compare"), std::string::npos) << ended.out;
}

TEST_F(NonFinite, WhatLeavesTheRangeOfFloat32IsSaid) {
  write("wide.relay",
        "def @main(%x: Tensor[(3), float32]) { let %y = exp(multiply(%x, 100f)); divide(%y, exp(multiply(%x, "
        "99f))) }\n");
  const Ended ended = relay({"verify", "wide.relay", "--fill", "ones", "--engines", "interp"});
  EXPECT_NE(ended.out.find("3 elements are numbers in float64 and not in float32"), std::string::npos)
      << ended.out;
}

// Infinity by infinity is a NaN with its sign bit set on x86, which means nothing.
TEST_F(NonFinite, VerifyShowsNoSignOfOne) {
  write("quotient.relay", "def @main(%x: Tensor[(1), float32]) { divide(exp(%x * 100f), exp(%x * 99f)) }\n");
  works({"run", "quotient.relay", "--fill", "ones", "--engine", "jit", "-o", "theirs.npz"});
  const Ended ended = relay({"verify", "quotient.relay", "--fill", "ones", "--engines", "jit", "--levels",
                             "2", "--expected", "theirs.npz"});
  EXPECT_NE(ended.out.find("got nan, wanted "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("theirs nan, ours "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("1 element is a number in float64"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("-nan"), std::string::npos) << ended.out;
}

TEST_F(NonFinite, TheDebuggerStopsAtTheFirst) {
  const std::string session =
      works({"debug", "log.relay", "--fill", "zeros"}, {.input = "break * if nan|inf\ncontinue\nquit\n"});
  EXPECT_NE(session.find("breakpoint 1: * if nan | inf"), std::string::npos) << session;
  EXPECT_NE(session.find("`log` at log.relay:2:12"), std::string::npos) << session;
}

}  // namespace
}  // namespace relay::tests
