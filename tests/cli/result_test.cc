// Results that are more than tensors: what `relay run` shows of them.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Results : public Cli {
 protected:
  // What a run on the interpreter and on `jit` prints, which is the same.
  std::string shown(const std::string& text) const {
    write("m.relay", text);
    const std::string out = works({"run", "m.relay", "--fill", "ones"});
    EXPECT_EQ(works({"run", "m.relay", "--fill", "ones", "--engine", "jit"}), out) << text;
    return out;
  }
};

TEST_F(Results, ConstructorsInsideATupleAreShown) {
  const std::string out = shown(
      "type T { A(int32), B(int32), C }\n"
      "def @main(%n: int32) { (A(%n), B(%n), C) }\n");
  EXPECT_NE(out.find("(A(Tensor[(), int32] 1), B(Tensor[(), int32] 1), C)\n"), std::string::npos) << out;
  EXPECT_NE(out.find("output_1: Tensor[(), int32] 1\n"), std::string::npos) << out;
}

TEST_F(Results, FunctionsAndCellsInsideATupleAreShown) {
  const std::string out =
      shown("def @main(%n: float32) { (%n, (fn (%x: float32) { add(%x, %n) }, ref(%n))) }\n");
  EXPECT_NE(out.find("(Tensor[(), float32] 1, (<closure>, ref(Tensor[(), float32] 1)))\n"), std::string::npos)
      << out;
}

TEST_F(Results, TensorsHaveTheirNamesAlone) {
  const std::string out = shown("def @main(%n: int32) { (%n, (%n, ())) }\n");
  EXPECT_EQ(out, "output_0: Tensor[(), int32] 1\noutput_1: Tensor[(), int32] 1\n");
}

}  // namespace
}  // namespace relay::tests
