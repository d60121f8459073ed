// Models in forms that others read: `compile --emit onnx` and `--emit dot`.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class WaysOut : public Cli {};

TEST_F(WaysOut, AnOnnxModelGivesTheBitsOfTheModelItComesFrom) {
  works({"compile", mnist(), "--emit", "onnx", "-o", "again.onnx"});
  works({"run", mnist(), "-i", mnist_inputs(), "-o", "a.npz"});
  works({"run", "again.onnx", "-i", mnist_inputs(), "-o", "b.npz"});
  EXPECT_EQ(read("a.npz"), read("b.npz"));
  // The same bytes each time, and a model of a model is that model.
  works({"compile", "again.onnx", "--emit", "onnx", "-o", "third.onnx"});
  works({"compile", "again.onnx", "--emit", "onnx", "-o", "fourth.onnx"});
  EXPECT_EQ(read("third.onnx"), read("fourth.onnx"));
}

TEST_F(WaysOut, APictureIsPrinted) {
  write_sum("sum.relay");
  const std::string text = works({"compile", "sum.relay", "--emit", "dot"});
  EXPECT_EQ(text.find("digraph \"main\" {"), 0u) << text;
  EXPECT_NE(text.find("add"), std::string::npos) << text;
  works({"compile", "sum.relay", "--emit", "dot", "-o", "sum.dot"});
  EXPECT_EQ(read("sum.dot"), text);
}

TEST_F(WaysOut, OptionsThatMeanNothingAreRefused) {
  write_sum("sum.relay");
  refused({"compile", "sum.relay", "--emit", "onnx"}, kUsage, {"--emit onnx: name the file: -o model.onnx"});
  refused({"compile", "sum.relay", "--emit", "dot", "--threads", "2"}, kUsage, {"--threads", "--emit dot"});
  refused({"compile", "sum.relay", "--emit", "onnx", "-o", "x.onnx", "--weights-file"}, kUsage,
          {"--weights-file"});
  refused({"compile", "sum.relay", "-o", "x.onnx"}, kUsage, {"--emit onnx writes an ONNX model"});
}

TEST_F(WaysOut, AnOperatorWithoutAFormIsNamedWithItsPlace) {
  write("log.relay", "def @main(%x: Tensor[(2), float32]) { log1p(%x) }\n");
  refused({"compile", "log.relay", "--emit", "onnx", "-o", "x.onnx"}, kUnsupported,
          {"log.relay:1:", "`log1p` has no form in ONNX here", "[unsupported-operator]"});
}

}  // namespace
}  // namespace relay::tests
