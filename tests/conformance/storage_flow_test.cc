// Elements of 2 to 8 bits that no dtype of Relay is, through branches, loops, functions of the
// model and sequences: they keep their bits, and stay what they are.
#include <gtest/gtest.h>

#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::TestModel;
using ::onnx::TensorProto;

constexpr int kE4M3FNUZ = 18, kNewest = 28;

Value number(int64_t v) { return Value(Tensor::scalar_int(kInt64, v)); }
Value truth(bool v) { return Value(Tensor::scalar_int(kBool, v ? 1 : 0)); }

TestModel small_input() {
  TestModel m(kNewest);
  m.input("x", {2}, kE4M3FNUZ);
  return m;
}

// The model's input is 1 and -1.125. Its output `y` is given as it is, and cast to float32.
void expect_small(TestModel m, std::vector<Value> args, const std::vector<double>& patterns,
                  const std::vector<double>& values) {
  m.node("Cast", {"y"}, {"numbers"}).attr("to", TensorProto::FLOAT).output("y").output("numbers");
  args.insert(args.begin(), Value(tensor(kUInt8, {2}, {64, 193})));
  const std::vector<Tensor> out = run(m, args);
  ASSERT_EQ(out.size(), 2u);
  ASSERT_EQ(out[0].dtype(), kUInt8);
  ASSERT_EQ(out[0].size(), static_cast<int64_t>(patterns.size()));
  for (size_t i = 0; i < patterns.size(); ++i) {
    EXPECT_EQ(out[0].get(static_cast<int64_t>(i)), patterns[i]) << i;
    EXPECT_EQ(out[1].get(static_cast<int64_t>(i)), values[i]) << i;
  }
}

TEST(StorageFlow, Branches) {
  TestModel same(kNewest), first(kNewest);
  same.node("Identity", {"x"}, {"t"}).output("t");
  first.ints("zero", {0}).node("Gather", {"x", "zero"}, {"e"}).output("e");
  TestModel m = small_input();
  m.input("c", {}, TensorProto::BOOL).node("If", {"c"}, {"y"});
  m.attr("then_branch", *same.graph).attr("else_branch", *first.graph);
  expect_small(m, {truth(true)}, {64, 193}, {1, -1.125});
  expect_small(m, {truth(false)}, {64}, {1});
}

TEST(StorageFlow, Loops) {
  // The state doubles in each step, and each step gives its first element.
  TestModel body(kNewest);
  for (const char* name : {"i", "go", "s"}) body.graph->add_input()->set_name(name);
  body.ints("zero", {0}, true).node("Concat", {"s", "s"}, {"s2"}).attr("axis", 0);
  body.node("Gather", {"s", "zero"}, {"row"}).output("go").output("s2").output("row");
  for (const bool rows : {false, true}) {
    TestModel m = small_input();
    m.input("count", {}, TensorProto::INT64);
    m.node("Loop", {"count", "", "x"},
           rows ? std::vector<std::string>{"all", "y"} : std::vector<std::string>{"y"});
    m.attr("body", *body.graph);
    if (rows) {
      expect_small(m, {number(2)}, {64, 64}, {1, 1});
    } else {
      expect_small(m, {number(1)}, {64, 193, 64, 193}, {1, -1.125, 1, -1.125});
    }
  }
}

TEST(StorageFlow, FunctionsOfTheModel) {
  TestModel m = small_input();
  ::onnx::OperatorSetIdProto& own = *m.proto.add_opset_import();
  own.set_domain("com.example");
  own.set_version(1);
  ::onnx::FunctionProto& f = *m.proto.add_functions();
  f.set_name("Turn");
  f.set_domain("com.example");
  f.add_input("a");
  f.add_output("b");
  f.add_opset_import()->set_version(kNewest);
  ::onnx::NodeProto& twice = *f.add_node();
  twice.set_op_type("Concat");
  for (int i = 0; i < 2; ++i) twice.add_input("a");
  twice.add_output("b");
  ::onnx::AttributeProto& axis = *twice.add_attribute();
  axis.set_name("axis");
  axis.set_type(::onnx::AttributeProto::INT);
  m.node("Turn", {"x"}, {"y"});
  m.last->set_domain("com.example");
  expect_small(m, {}, {64, 193, 64, 193}, {1, -1.125, 1, -1.125});
}

TEST(StorageFlow, SequencesOfKnownLength) {
  TestModel m = small_input();
  m.ints("one", {1}, true).node("Identity", {"x"}, {"u"}).node("Concat", {"x", "x"}, {"w"}).attr("axis", 0);
  m.node("SequenceConstruct", {"u", "w"}, {"s"}).node("SequenceAt", {"s", "one"}, {"y"});
  expect_small(m, {}, {64, 193, 64, 193}, {1, -1.125, 1, -1.125});
}

}  // namespace
}  // namespace relay::tests
