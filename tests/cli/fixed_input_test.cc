// --fix-input: inputs that are constants, and no inputs any more.
#include <filesystem>

#include "frontend/data/inputs.h"
#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using frontend::TestModel;

// Commands that read a model.
const Words kCommands = {"check", "run", "verify", "bench", "compile", "opt", "debug", "import"};

class FixedInput : public Cli {
 protected:
  // If sr is 16000 it gives the elements of x in a row, else twice x: tensors of other ranks.
  void SetUp() override {
    Cli::SetUp();
    ::onnx::GraphProto row, twice;
    add_node(row, "Squeeze", {"x"}, "r");
    add_node(twice, "Add", {"x", "x"}, "t");
    TestModel m;
    m.input("x", {1, 3}).input("sr", {}, ::onnx::TensorProto::INT64).ints("rate", {16000}, true);
    m.node("Equal", {"sr", "rate"}, {"fast"}).node("If", {"fast"}, {"y"});
    m.attr("then_branch", row).attr("else_branch", twice).output("y");
    write("m.onnx", m.bytes());
    write("m.relay",
          "def @main(%x: Tensor[(3), float32], %sr: int64, %w: Tensor[(n), float32]) {\n"
          "  (if (equal(%sr, 16000i64)) { add(%x, %x) } else { %x }, %w)\n"
          "}\n");
    write("called.relay",
          "def @main(%x: int32, %y: int32) -> int32 { if (equal(%x, 0)) { %y } else { @main(0, %y) } }\n"
          "def @other(%z: int32) { @main(1, %z) }\n");
  }
  static void add_node(::onnx::GraphProto& graph, const char* op, const Words& inputs, const char* output) {
    auto* n = graph.add_node();
    n->set_op_type(op);
    for (const std::string& i : inputs) n->add_input(i);
    n->add_output(output);
    graph.add_output()->set_name(output);
  }
  void write_inputs(const std::string& to, const frontend::data::NamedTensors& tensors) const {
    Diagnostics d;
    ASSERT_TRUE(frontend::data::write_tensors(path(to), tensors, frontend::data::Role::kInput, d).ok())
        << d.render({});
  }

  const Tensor x_ = Tensor::of<float>(kFloat32, {1, 3}, std::vector<float>{1, 2, 3});
};

TEST_F(FixedInput, DecidesWhichBranchIsTaken) {
  refused({"run", "m.onnx"}, kUnsupported,
          {"[unsupported-operator-form]", "Tensor[(3), float32] and Tensor[(1, 3), float32]",
           "input `sr` says", "--fix-input NAME=VALUE"});
  write_inputs("in.npz", {{"x", x_}});
  for (const std::string engine : {"interp", "jit", "graph", "aot-cpp"}) {
    const Words run{"run", "m.onnx", "--engine", engine, "-i", "in.npz", "--fix-input"};
    Words fast = run, slow = run;
    fast.push_back("sr=16000");
    slow.push_back("sr=8000");
    EXPECT_EQ(works(fast), "y: Tensor[(3,), float32] [1, 2, 3]\n") << engine;
    EXPECT_EQ(works(slow), "y: Tensor[(1, 3), float32] [[2, 4, 6]]\n") << engine;
  }
}

TEST_F(FixedInput, IsNoInputAnyMore) {
  EXPECT_EQ(works({"check", "m.onnx", "--fix-input", "sr=8000"}).find("sr"), std::string::npos);
  const std::string text = works({"import", "m.onnx", "--fix-input", "sr=8000"});
  EXPECT_NE(text.find("@main(%x: Tensor[(1, 3), float32], input_names=[\"x\"]"), std::string::npos) << text;
  works({"compile", "m.onnx", "--fix-input", "sr=8000", "--emit", "graph", "-o", "g"});
  EXPECT_NE(works({"graph", "g"}).find("inputs: x\n"), std::string::npos);
  const std::string described =
      works({"compile", "m.onnx", "--fix-input", "sr=16000", "--json", "-o", "m.so"});
  EXPECT_NE(described.find("\"x\""), std::string::npos) << described;
  EXPECT_EQ(described.find("\"sr\""), std::string::npos) << described;
  works({"verify", "m.onnx", "--fix-input", "sr=16000"});
}

TEST_F(FixedInput, OfATextAndOfAGraph) {
  for (const std::string engine : {"interp", "jit", "graph", "aot-cpp"}) {
    EXPECT_EQ(works({"run", "m.relay", "--engine", engine, "--fix-input", "sr=16000", "--fix-input",
                     "w=[7,8.5]", "--input-shapes", "w:[2]", "--fill", "ones"}),
              "output_0: Tensor[(3,), float32] [2, 2, 2]\noutput_1: Tensor[(2,), float32] [7, 8.5]\n")
        << engine;
  }
  // What no constant decides is no static dataflow.
  refused({"run", "m.relay", "--engine", "graph", "--fix-input", "w=1", "--input-shapes", "w:[2]"},
          kUnsupported, {"[not-static-dataflow]", "m.relay:2:4", "`if`"});
  write_sum("sum.relay");
  works({"compile", "sum.relay", "--emit", "graph", "-o", "g"});
  // One number is every element, a list has them in order.
  for (const std::string value : {"y=2", "y=[2,2,2]"})
    EXPECT_NE(works({"run", "g", "--fix-input", value, "--fill", "ones"}).find("[3, 3, 3]"),
              std::string::npos);
}

TEST_F(FixedInput, FilesMayLeaveItOutOrSayTheSame) {
  const std::string row = "y: Tensor[(3,), float32] [1, 2, 3]\n";
  const Tensor rate = Tensor::scalar_int(kInt64, 16000), other = Tensor::scalar_int(kInt64, 8000);
  write_inputs("both.npz", {{"x", x_}, {"sr", rate}});
  write_inputs("test_data_set_0", {{"x", x_}, {"sr", rate}});
  write_inputs("x.npy", {{"x", x_}});
  for (const std::string from : {"both.npz", "test_data_set_0", "x.npy"})
    EXPECT_EQ(works({"run", "m.onnx", "--fix-input", "sr=16000", "-i", from}), row) << from;
  write_inputs("other.npz", {{"x", x_}, {"sr", other}});
  write_inputs("dtype.npz", {{"x", x_}, {"sr", Tensor::scalar_int(kInt32, 16000)}});
  const Words words{"[input-value-conflict]", "another `sr`", "int64] 16000"};
  for (const std::string command : {"run", "verify", "bench"}) {
    refused({command, "m.onnx", "--fix-input", "sr=16000", "-i", "other.npz"}, kUsage, words);
    refused({command, "m.onnx", "--fix-input", "sr=16000", "-i", "dtype.npz"}, kUsage, words);
  }
  write_inputs("none.npz", {{"sr", rate}});
  refused({"run", "m.onnx", "--fix-input", "sr=16000", "-i", "none.npz"}, kUsage,
          {"[tensor-missing]", "the input `x`"});
}

TEST_F(FixedInput, MayBeInAFile) {
  const Tensor w = Tensor::of<float>(kFloat32, {2}, std::vector<float>{7, 8.5});
  const Tensor rate = Tensor::scalar_int(kInt64, 16000);
  write_inputs("w.npy", {{"w", w}});
  write_inputs("both.npz", {{"w", w}, {"sr", rate}});
  write_inputs("rate.safetensors", {{"sr", rate}});
  fs::create_directory(path("test_data_set_0"));
  write_inputs("test_data_set_0", {{"", rate}});
  fs::copy_file(path("test_data_set_0/input_0.pb"), path("rate.pb"));
  const std::string want =
      "output_0: Tensor[(3,), float32] [2, 2, 2]\noutput_1: Tensor[(2,), float32] [7, 8.5]\n";
  for (const auto& [sr, w_file] : {std::pair<std::string, std::string>{"both.npz", "w.npy"},
                                   {"rate.safetensors", "both.npz"},
                                   {"rate.pb", "./w.npy"},
                                   {path("both.npz"), "w.npy"}}) {
    EXPECT_EQ(works({"run", "m.relay", "--engine", "graph", "--fix-input", "sr=" + sr, "--fix-input",
                     "w=" + w_file, "--input-shapes", "w:[2]", "--fill", "ones"}),
              want)
        << sr << " " << w_file;
  }
  write_inputs("x.npy", {{"x", x_}});
  EXPECT_EQ(works({"run", "m.onnx", "--fix-input", "sr=both.npz", "-i", "x.npy"}),
            "y: Tensor[(3,), float32] [1, 2, 3]\n");
}

TEST_F(FixedInput, AFileThatHoldsNoSuchTensorIsRefused) {
  write_inputs("three.npy", {{"w", Tensor::of<float>(kFloat32, {3}, std::vector<float>{1, 2, 3})}});
  write_inputs("float.npy", {{"sr", Tensor::of<float>(kFloat32, {}, std::vector<float>{16000})}});
  write_inputs("x.npz", {{"x", x_}});
  write("bad.npy", "no array");
  for (const std::string& command : kCommands) {
    refused({command, "m.onnx", "--fix-input", "sr=missing.npy"}, kUsage,
            {"[file-unreadable]", "missing.npy"});
    refused({command, "m.onnx", "--fix-input", "sr=x.npz"}, kUsage,
            {"[tensor-missing]", "`x.npz` has no tensor for the input `sr`", "it holds `x`"});
    refused({command, "m.onnx", "--fix-input", "sr=bad.npy"}, kUsage, {"bad.npy"});
    refused({command, "m.onnx", "--fix-input", "sr=float.npy"}, kUsage,
            {"[input-value-mismatch]", "`float.npy`", "Tensor[(), float32], not Tensor[(), int64]"});
    if (command == "import") continue;
    refused({command, "m.relay", "--input-shapes", "w:[2]", "--fix-input", "w=three.npy"}, kUsage,
            {"[input-value-mismatch]", "`three.npy`", "Tensor[(3,), float32], not Tensor[(2,), float32]"});
    refused({command, "m.relay", "--fix-input", "w=three.npy"}, kUsage,
            {"[input-value-mismatch]", "`w`", "Tensor[(n), float32]", "--input-shapes"});
  }
  // The file is one of those that are read.
  refused({"compile", "m.onnx", "--fix-input", "sr=rate.npy", "-o", "rate.npy"}, kUsage, {"rate.npy"});
  write_inputs("rate.npy", {{"sr", Tensor::scalar_int(kInt64, 16000)}});
  refused({"compile", "m.onnx", "--fix-input", "sr=rate.npy", "--emit", "cpp", "-o", "rate.npy"}, kUsage,
          {"[output-is-input]", "`rate.npy`"});
}

TEST_F(FixedInput, WhatIsNoValueIsNamedWithWhatIsOne) {
  for (const std::string& command : kCommands) {
    for (const std::string text : {"sr", "sr=", "=1", "sr=fast", "sr=16k", "sr=[1", "sr:16000"}) {
      refused({command, "m.onnx", "--fix-input", text}, kUsage,
              {"--fix-input " + text, "NAME=VALUE", "16000", "[1,2,3]", "w.npy"});
    }
  }
  refused({"run", "m.onnx", "--fix-input", "sr=1", "--fix-input", "sr=2"}, kUsage, {"sr=2", "once"});
}

TEST_F(FixedInput, AValueThatTheInputCannotHaveIsRefused) {
  for (const std::string& command : kCommands) {
    refused({command, "m.onnx", "--fix-input", "sr=1.5"}, kUsage,
            {"[input-value-mismatch]", "`sr`", "`1.5` is no int64"});
    refused({command, "m.onnx", "--fix-input", "sr=16000", "--fix-input", "x=[1,2]"}, kUsage,
            {"[input-value-mismatch]", "`x`", "3 elements and the list 2"});
    refused({command, "m.onnx", "--fix-input", "rate=1"}, kUsage, {"[input-unknown]", "`rate`", "x, sr"});
    if (command == "import") continue;
    refused({command, "m.relay", "--fix-input", "sr=true"}, kUsage,
            {"[input-value-mismatch]", "m.relay:1:", "`sr`", "`true` is no int64"});
    refused({command, "m.relay", "--fix-input", "w=1"}, kUsage,
            {"[input-value-mismatch]", "`w`", "Tensor[(n), float32]", "--input-shapes"});
    refused({command, "m.relay", "--fix-input", "s=1"}, kUsage, {"[input-unknown]", "`s`", "x, sr, w"});
  }
}

TEST_F(FixedInput, AFunctionThatOthersCallKeepsItsInputs) {
  refused({"run", "called.relay", "--fix-input", "x=1"}, kUsage,
          {"[input-not-fixed]", "calls @main", "with all of its inputs", "--function"});
  EXPECT_EQ(works({"run", "called.relay", "--function", "other", "--fix-input", "z=5"}),
            "output: Tensor[(), int32] 5\n");
}

TEST_F(FixedInput, IsAboutOneModel) {
  fs::create_directories(path("models/a"));
  fs::create_directories(path("models/b"));
  write_sum("models/a/model.relay");
  write_sum("models/b/model.relay");
  refused({"verify", "models", "--fix-input", "x=1"}, kUsage, {"--fix-input", "one model"});
}

}  // namespace
}  // namespace relay::tests
