// Refusals that more knowledge of the inputs lifts: the command to give instead is
// printed, and it works.
#include <nlohmann/json.hpp>
#include <sstream>

#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using frontend::TestModel;

class Remedy : public Cli {
 protected:
  // The rank of its result follows from an extent, which is open: no type says that.
  void write_model(const std::string& name) const {
    const TestModel model = TestModel(19)
                                .input("ids of the words", {"batch", "length", 4})
                                .ints("one", {1})
                                .ints("64", {64})
                                .node("Shape", {"ids of the words"}, {"lengths"})
                                .attr("start", 1)
                                .attr("end", 2)
                                .node("Div", {"lengths", "64"}, {"rank"})
                                .node("Expand", {"one", "rank"}, {"ones"})
                                .node("ReduceSum", {"ids of the words"}, {"sum"})
                                .attr("keepdims", 0)
                                .node("Expand", {"sum", "ones"}, {"y"})
                                .output("y");
    write(name, model.proto.SerializeAsString());
  }
  // The line after `remedy:`, as a shell takes it apart.
  std::vector<std::string> command_in(const std::string& messages) const {
    const size_t at = messages.find("remedy: ");
    EXPECT_NE(at, std::string::npos) << messages;
    if (at == std::string::npos) return {};
    const size_t begin = messages.find('\n', at) + 1;
    const std::string line = messages.substr(begin, messages.find('\n', begin) - begin);
    write("words.sh", "set -- " + line + "\nshift\nprintf '%s\\n' \"$@\"\n");
    const Ended words = run({.command = {"/bin/bash", path("words.sh")}, .folder = path("")});
    std::vector<std::string> out;
    std::istringstream in(words.out);
    for (std::string word; std::getline(in, word);) out.push_back(word);
    return out;
  }
};

TEST_F(Remedy, TheCommandThatIsPrintedWorks) {
  write_model("m.onnx");
  const Ended ended = relay({"check", "m.onnx"});
  EXPECT_EQ(ended.exit_code, kUnsupported) << ended.err;
  const std::vector<std::string> command = command_in(ended.err);
  EXPECT_EQ(command, (std::vector<std::string>{"check", "m.onnx", "--input-shapes",
                                               "ids of the words:[batch,128,4]"}));
  EXPECT_NE(works(command).find("input  ids of the words: Tensor[(batch, 128, 4), float32]"),
            std::string::npos);
}

TEST_F(Remedy, WhatIsKnownAlreadyIsKept) {
  write_model("m.onnx");
  const Ended ended = relay({"check", "--input-shapes", "ids of the words:[2,?,4]", "m.onnx"});
  EXPECT_EQ(command_in(ended.err),
            (std::vector<std::string>{"check", "m.onnx", "--input-shapes", "ids of the words:[2,128,4]"}));
}

TEST_F(Remedy, ARefusedModelSaysWhatItTakes) {
  write_model("m.onnx");
  const Ended ended = relay({"check", "m.onnx"});
  EXPECT_NE(ended.err.find("input  ids of the words: Tensor[(batch, length, 4), float32]"), std::string::npos)
      << ended.err;
  EXPECT_NE(ended.err.find("output y: ?"), std::string::npos) << ended.err;

  // As JSON each is an object of its line.
  std::istringstream lines(relay({"check", "m.onnx", "--json"}).err);
  std::vector<std::string> kinds;
  for (std::string line; std::getline(lines, line);)
    kinds.push_back(nlohmann::json::parse(line).at("severity"));
  EXPECT_EQ(kinds, (std::vector<std::string>{"error", "interface", "remedy"}));
}

TEST_F(Remedy, ThereIsNoneWhereNothingIsOpen) {
  write(
      "m.onnx",
      TestModel().input("x", {2}).node("NoSuchOperator", {"x"}, {"y"}).output("y").proto.SerializeAsString());
  const Ended ended = refused({"check", "m.onnx"}, kUnsupported, {"NoSuchOperator"});
  EXPECT_EQ(ended.err.find("remedy:"), std::string::npos) << ended.err;
}

TEST_F(Remedy, ThereIsNoneThatDoesNotHelp) {
  write("m.onnx", TestModel()
                      .input("x", {"n"})
                      .node("NoSuchOperator", {"x"}, {"y"})
                      .output("y")
                      .proto.SerializeAsString());
  const Ended ended = refused({"check", "m.onnx"}, kUnsupported, {"NoSuchOperator"});
  EXPECT_EQ(ended.err.find("remedy:"), std::string::npos) << ended.err;
}

TEST_F(Remedy, ExamplesSayTheExtents) {
  write_model("m.onnx");
  write("zeros.relay", "def @main() { zeros(shape=[2, 3, 4], dtype=\"float32\") }\n");
  works({"run", "zeros.relay", "-o", "x.npy"});
  const Ended ended = relay({"run", "m.onnx", "--inputs", "x.npy"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("with the extents of its inputs in x.npy"), std::string::npos) << ended.err;
  works({"compile", "m.onnx", "--inputs", "x.npy", "--emit", "header", "-o", "m.h"});
  EXPECT_NE(read("m.h").find("2, 3, 4"), std::string::npos) << read("m.h");
}

TEST_F(Remedy, ExtentsThatNobodyGaveAreSmall) {
  write("m.relay", "def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(n + 1), float32]) { (%x, %y) }\n");
  for (const std::string command : {"run", "bench", "verify", "debug"}) {
    const Ended ended = relay({command, "m.relay"}, {.input = "continue\n"});
    EXPECT_EQ(ended.exit_code, kOk) << command << ended.err;
    const std::string others =
        "for others, with your numbers: relay " + command + " m.relay --input-shapes 'x:[1,3]'\n";
    for (const std::string& part : {std::string("type-check: n = 1\n"), others})
      EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  }
  EXPECT_EQ(relay({"run", "m.relay", "-q"}).err, "");
  // Options win.
  const Ended given = relay({"run", "m.relay", "--input-shapes", "x:[2,3]", "--fill", "ones"});
  EXPECT_EQ(given.err, "");
  EXPECT_NE(given.out.find("Tensor[(2, 3), float32]"), std::string::npos) << given.out;
}

TEST_F(Remedy, ExtentsAreAsLargeAsAWindowNeeds) {
  write("m.relay",
        "def @main(%x: Tensor[(n, 3, h, w), float32], %k: Tensor[(4, 3, 3, 5), float32], %z: Tensor[(?), "
        "float32]) { (nn.conv2d(%x, %k, channels=4, kernel_size=[3, 5]), %z) }\n");
  const Ended ended = relay({"run", "m.relay"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("n = 1, h = 3, w = 5, axis 0 of `z` = 1\n"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("Tensor[(1, 4, 1, 1), float32]"), std::string::npos) << ended.out;
}

TEST_F(Remedy, ExtentsThatAreNotFoundAreToBeGiven) {
  write("m.relay", "def @main(%x: Tensor[(n), float32]) { reshape(%x, newshape=[1250, 4]) }\n");
  const Ended ended =
      refused({"run", "m.relay"}, kUsage, {"no small extents were found", "n: give them", "remedy:"});
  EXPECT_EQ(command_in(ended.err), (std::vector<std::string>{"run", "m.relay", "--input-shapes", "x:[1]"}));
  works({"run", "m.relay", "--input-shapes", "x:[5000]"});
}

TEST_F(Remedy, AModelThatNeedsExtentsIsRunWithSmallOnes) {
  write_model("m.onnx");
  const Ended ended = relay({"run", "m.onnx"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("type-check: batch = 1, length = 1\n"), std::string::npos) << ended.err;
  EXPECT_NE(
      ended.err.find(
          "for others, with your numbers: relay run m.onnx --input-shapes 'ids of the words:[1,128,4]'\n"),
      std::string::npos)
      << ended.err;
  // It compiles for extents that were asked for only.
  refused({"compile", "m.onnx", "-o", "m.so"}, kUnsupported, {"remedy:"});
}

TEST_F(Remedy, ExtentsAreTakenFromExamplesWhereThatIsAskedFor) {
  write_model("m.onnx");
  write("zeros.relay", "def @main() { zeros(shape=[2, 3, 4], dtype=\"float32\") }\n");
  works({"run", "zeros.relay", "-o", "x.npy"});
  const Ended ended =
      relay({"compile", "m.onnx", "--extents", "from:x.npy", "--emit", "header", "-o", "m.h"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_NE(ended.err.find("with the extents of its inputs in x.npy"), std::string::npos) << ended.err;
  EXPECT_NE(read("m.h").find("2, 3, 4"), std::string::npos) << read("m.h");
  // What can stay open does.
  write("open.relay", "def @main(%x: Tensor[(n, 3, 4), float32]) { nn.relu(%x) }\n");
  works({"compile", "open.relay", "--extents", "from:x.npy", "--emit", "header", "-o", "open.h"});
  EXPECT_EQ(read("open.h").find("2, 3, 4"), std::string::npos) << read("open.h");
  works({"compile", "open.relay", "--extents", "from:x.npy", "--emit", "graph", "-o", "g"});
  refused({"compile", "m.onnx", "--extents", "x.npy", "-o", "m.so"}, kUsage, {"--extents x.npy", "from:DIR"});
  refused({"compile", "m.onnx", "--extents", "from:x.npy", "-i", "x.npy", "-o", "m.so"}, kUsage,
          {"--inputs", "--extents"});
}

TEST_F(Remedy, CheckSaysWhichEnginesTakeTheModel) {
  write("m.relay", "def @main(%x: Tensor[(n), float32]) { add(%x, 1f) }\n");
  const std::string out = works({"check", "m.relay"});
  for (const std::string line :
       {"engine interp   takes it\n", "engine jit      takes it\n", "engine aot-cpp  takes it\n",
        "engine graph    no: the shape of", "engine aot-cuda takes it\n"})
    EXPECT_NE(out.find(line), std::string::npos) << out;
  const nlohmann::json j = nlohmann::json::parse(works({"check", "m.relay", "--json"}));
  EXPECT_EQ(j.at("engines").at("jit").at("takes"), true);
  EXPECT_EQ(j.at("engines").at("graph").at("takes"), false);
  EXPECT_FALSE(j.at("engines").at("graph").at("why_not").get<std::string>().empty());
}

}  // namespace
}  // namespace relay::tests
