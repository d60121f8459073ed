// What becomes of a model: names, shapes and branches of the module.
#include <gtest/gtest.h>

#include "base/file.h"
#include "frontend/onnx/expect_refused.h"
#include "ir/analysis.h"

namespace relay::frontend {
namespace {

TEST(Import, KeepsNamesAndOrder) {
  const Imported i = import_model(TestModel()
                                      .input("b/1", {2})
                                      .input("a", {2})
                                      .node("Add", {"a", "b/1"}, {"s:0"})
                                      .node("Sub", {"a", "b/1"}, {"d"})
                                      .output("d")
                                      .output("s:0"));
  ASSERT_TRUE(i.ok) << i.messages;
  const Fn& main = *i.module.function("main");
  EXPECT_EQ(main.params[0]->name, "b/1");
  EXPECT_EQ(main.params[1]->name, "a");
  EXPECT_EQ(show(*main.attrs.find("output_names")), "[\"d\", \"s:0\"]");
  EXPECT_EQ(show(*main.attrs.find("input_names")), "[\"b/1\", \"a\"]");
  EXPECT_EQ(i.type, "(Tensor[(2), float32], Tensor[(2), float32])");
  EXPECT_TRUE(well_formed(i.module).empty());
}

TEST(Import, InitialisersThatAreInputsAreConstants) {
  const Imported i = import_model(TestModel()
                                      .input("x", {2})
                                      .input("w", {2})
                                      .floats("w", {2})
                                      .node("Add", {"x", "w"}, {"y"})
                                      .output("y"));
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.module.function("main")->params.size(), 1u);
}

TEST(Import, TextThatNobodyTakesIsLeftOut) {
  TestModel m;
  m.input("text", {1}, ::onnx::TensorProto::STRING).input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  ::onnx::TensorProto& label = *m.graph->add_initializer();
  label.set_name("label");
  label.set_data_type(::onnx::TensorProto::STRING);
  label.add_string_data("cat");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(show(*i.module.function("main")->attrs.find("input_names")), "[\"x\"]");
  EXPECT_FALSE(import_model(m.node("Identity", {"label"}, {"z"}).output("z")).ok);
}

TEST(Import, NamedAxesAreShapeVariables) {
  const Imported i = import_model(TestModel()
                                      .input("x", {"batch", 4})
                                      .input("y", {"batch", 4})
                                      .node("Add", {"x", "y"}, {"z"})
                                      .output("z"));
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(batch, 4), float32]");
}

TEST(Import, AxesWithoutAUsableName) {
  const Imported i = import_model(TestModel()
                                      .input("in put", {"", "1st.dim", "if", "a b", "a_b"})
                                      .node("Relu", {"in put"}, {"y"})
                                      .output("y"));
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(in_put_0, d1st_dim, if_, a_b, a_b_2), float32]");
}

// Extents that only an empty batch can have.
TEST(Import, WindowsPadLongAxesToTheSame) {
  TestModel m;
  m.input("x", {0, 1, 4}).node("MaxPool", {"x"}, {"y"}).attr("kernel_shape", std::vector<int64_t>{1});
  m.attr("strides", std::vector<int64_t>{4}).attr("auto_pad", "SAME_LOWER").output("y");
  auto& shape = *m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(2)->set_dim_value(INT64_MAX);
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(0, 1, 2305843009213693952), float32]");
}

TEST(Import, ScalesOfLongAxesAreRefused) {
  TestModel m;
  m.input("x", {0, 1, 2, 2})
      .floats("scales", {4}, 1.5f)
      .node("Resize", {"x", "", "scales"}, {"y"})
      .output("y");
  m.graph->mutable_initializer(0)->mutable_float_data()->Set(0, 1);
  m.graph->mutable_initializer(0)->mutable_float_data()->Set(1, 1);
  auto& shape = *m.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(2)->set_dim_value(INT64_MAX);
  expect_refused(m, ImportFailure::kUnsupported,
                 "a scale of 1.5 of 9223372036854775807 elements is not supported");
}

TEST(Import, WindowsOfLongWeightsAreRefused) {
  TestModel m;
  m.input("x", {1, 1, 4}).input("w", {1, 1, 4}).node("Conv", {"x", "w"}, {"y"}).output("y");
  m.attr("dilations", std::vector<int64_t>{4}).attr("auto_pad", "SAME_UPPER");
  auto& shape = *m.graph->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(2)->set_dim_value(int64_t{1} << 62);
  expect_refused(m, ImportFailure::kUnsupported, "a window of 4611686018427387904 elements along an axis");
}

TEST(Import, OptionsFixAxesEverywhere) {
  ImportOptions o;
  o.input_shapes["x"] = {{3, ""}, {-1, ""}};
  const Imported i = import_model(
      TestModel().input("x", {"n", "m"}).input("y", {"n", "m"}).node("Add", {"x", "y"}, {"z"}).output("z"),
      o);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(3, m), float32]");
}

TEST(Import, ShapesAreComputedOverSymbols) {
  // reshape(x, [shape(x)[0], shape(x)[1] * 2, -1])
  const Imported i = import_model(TestModel()
                                      .input("x", {"n", "m", 8})
                                      .ints("zero", {0}, true)
                                      .ints("one", {1}, true)
                                      .ints("two", {2}, true)
                                      .ints("axes", {0})
                                      .ints("rest", {-1})
                                      .node("Shape", {"x"}, {"s"})
                                      .node("Gather", {"s", "zero"}, {"n"})
                                      .node("Gather", {"s", "one"}, {"m"})
                                      .node("Mul", {"m", "two"}, {"m2"})
                                      .node("Unsqueeze", {"n", "axes"}, {"n1"})
                                      .node("Unsqueeze", {"m2", "axes"}, {"m21"})
                                      .node("Concat", {"n1", "m21", "rest"}, {"shape"})
                                      .attr("axis", 0)
                                      .node("Reshape", {"x", "shape"}, {"y"})
                                      .output("y"));
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(n, 2*m, 4), float32]");
}

TEST(Import, ShapesThatAreOutputsAreComputedWhenTheyRun) {
  const Imported i = import_model(TestModel().input("x", {"n", 3}).node("Shape", {"x"}, {"s"}).output("s"));
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(2), int64]");
}

TEST(Import, ConditionsThatAreKnownChooseABranch) {
  ::onnx::GraphProto yes, no;
  auto* a = yes.add_node();
  a->set_op_type("Relu");
  a->add_input("x");
  a->add_output("t");
  yes.add_output()->set_name("t");
  auto* b = no.add_node();
  b->set_op_type("NoSuchThing");  // refused even though it would not be chosen: all is listed
  b->add_output("e");
  no.add_output()->set_name("e");
  TestModel m;
  m.input("x", {4})
      .ints("one", {1})
      .node("Equal", {"one", "one"}, {"c"})
      .node("If", {"c"}, {"y"})
      .attr("then_branch", yes)
      .attr("else_branch", no)
      .output("y");
  expect_refused(m, ImportFailure::kUnsupported, "`NoSuchThing`");
  m.graph->mutable_node(1)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_op_type("Constant");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(4), float32]");
}

// y = `condition` ? squeeze(x) : x, where the condition is a bool that is defined before.
void add_squeeze_if(TestModel& m, const std::string& condition) {
  ::onnx::GraphProto yes, no;
  auto* n = yes.add_node();
  n->set_op_type("Squeeze");
  n->add_input("x");
  n->add_output("t");
  yes.add_output()->set_name("t");
  no.add_output()->set_name("x");
  m.node("If", {condition}, {"y"}).attr("then_branch", yes).attr("else_branch", no).output("y");
}

TEST(Import, ShapesChooseBetweenBranchesOfOtherRanks) {
  TestModel m;
  m.input("x", {"n", 3}).ints("zero", {0}, true).ints("one", {1}, true);
  m.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Equal", {"n", "one"}, {"c"});
  add_squeeze_if(m, "c");
  ImportOptions o;
  o.input_shapes["x"] = {{1, ""}, {3, ""}};
  EXPECT_EQ(import_model(m, o).type, "Tensor[(3), float32]");
  o.input_shapes["x"] = {{2, ""}, {3, ""}};
  EXPECT_EQ(import_model(m, o).type, "Tensor[(2, 3), float32]");
  // Which axes are 1 is not known. If the run's is, it takes the branch that squeezes, which traps.
  const Imported open = import_model(m);
  EXPECT_EQ(open.type, "Tensor[(n, 3), float32]") << open.messages;
  EXPECT_NE(open.messages.find("`Squeeze` without axes: a run traps if dimension 0"), std::string::npos)
      << open.messages;
}

TEST(Import, FixedInputsChooseBetweenBranchesOfOtherRanks) {
  TestModel m;
  m.input("x", {1, 3}).input("flat", {1}, ::onnx::TensorProto::BOOL);
  add_squeeze_if(m, "flat");
  ImportOptions o;
  o.input_values["flat"] = {{"true"}};
  const Imported i = import_model(m, o);
  EXPECT_EQ(i.type, "Tensor[(3), float32]") << i.messages;
  // Who takes the parameter away knows all names and their order.
  EXPECT_EQ(i.module.function("main")->params.size(), 2u);
  o.input_values["flat"] = {{"false"}};
  EXPECT_EQ(import_model(m, o).type, "Tensor[(1, 3), float32]");
  expect_refused(m, ImportFailure::kUnsupported,
                 "input `flat` says which branch is taken; what is always the same may be fixed with");
}

TEST(Import, ABranchThatDependsOnDataHasNoRemedy) {
  TestModel m;
  m.input("x", {1, 3}).node("ReduceMax", {"x"}, {"r"}).attr("keepdims", 0);
  m.node("Greater", {"r", "r"}, {"c"});
  add_squeeze_if(m, "c");
  const Imported i = import_model(m);
  EXPECT_EQ(i.failure, ImportFailure::kUnsupported);
  EXPECT_NE(i.messages.find("and which one is not known"), std::string::npos) << i.messages;
  EXPECT_EQ(i.messages.find("--fix-input"), std::string::npos) << i.messages;
}

TEST(Import, ASliceBackwardsStartsAtAnElement) {
  // ONNX moves the start into [0, extent - 1] and the end into [-1, extent - 1], after adding the
  // extent to what is negative.
  struct Case {
    int extent;
    int64_t start, end, step;
    std::string taken;
  };
  const Case cases[] = {{2, -3, -3, -2, "1"},        {2, -3, -4, -1, "1"},       {2, -3, 0, -1, "0"},
                        {3, -7, INT64_MIN, -1, "1"}, {3, -1, -7, -1, "3"},       {3, 7, -7, -2, "2"},
                        {3, -3, -3, -1, "0"},        {0, -3, -3, -1, "0"},       {3, -7, -7, 1, "0"},
                        {4, -2, INT64_MIN, -1, "3"}, {1, -2, INT64_MIN, -3, "1"}};
  for (const Case& c : cases) {
    TestModel m;
    m.input("x", {c.extent})
        .ints("start", {c.start})
        .ints("end", {c.end})
        .ints("axes", {0})
        .ints("steps", {c.step});
    m.node("Slice", {"x", "start", "end", "axes", "steps"}, {"y"}).output("y");
    const Imported out = import_model(m);
    EXPECT_EQ(out.type, "Tensor[(" + c.taken + "), float32]")
        << c.extent << " from " << c.start << " to " << c.end << " by " << c.step << "\n"
        << out.messages;
  }
}

TEST(Import, FilesOfTensorsAreNamedAlsoWhereNobodyReadsThem) {
  ::onnx::GraphProto yes, no;
  yes.add_output()->set_name("x");
  TestModel::lies_in_file(*no.add_initializer(), "w", {4}, "never.bin");
  no.add_output()->set_name("w");
  TestModel m;
  m.input("x", {4}).ints("c", {1}).node("Cast", {"c"}, {"b"}).attr("to", 9).node("If", {"b"}, {"y"});
  m.attr("then_branch", yes).attr("else_branch", no).output("y");
  m.floats_in_file("v", {4}, "always.bin");
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  ASSERT_EQ(write_file_atomically(folder.path() + "/m.onnx", m.bytes()), "");
  ASSERT_EQ(write_file_atomically(folder.path() + "/always.bin", std::string(16, '\0')), "");
  std::vector<std::string> named;
  ImportOptions o;
  o.names_file = [&](const std::string& file) { named.push_back(file); };
  Diagnostics d;
  EXPECT_TRUE(import_onnx(folder.path() + "/m.onnx", Module(), o, d).ok()) << d.render({});
  EXPECT_EQ(named, (std::vector<std::string>{folder.path() + "/always.bin", folder.path() + "/never.bin"}));
}

TEST(Import, IsDeterministic) {
  const TestModel m = relu();
  const Imported a = import_model(m), b = import_model(m);
  EXPECT_TRUE(alpha_equal(a.module, b.module));
}

TEST(Import, ElementsOfWeightsOutliveTheModel) {
  TestModel m;
  m.input("x", {2048}).node("Add", {"x", "w"}, {"t"}).node("Mul", {"t", "v"}, {"y"}).output("y");
  for (const auto& [name, value] : {std::pair("w", 3.0f), {"v", 5.0f}}) {
    ::onnx::TensorProto& t = *m.graph->add_initializer();
    t.set_name(name);
    t.set_data_type(::onnx::TensorProto::FLOAT);
    t.add_dims(2048);
    const std::vector<float> elements(2048, value);
    t.set_raw_data(elements.data(), elements.size() * sizeof(float));
  }
  std::vector<Tensor> weights;
  {
    const Imported model = import_model(m);
    ASSERT_TRUE(model.ok);
    for (Expr e : post_order(model.module.function("main"))) {
      if (const auto* c = e->as<Constant>()) weights.push_back(*c->value);
    }
  }
  ASSERT_EQ(weights.size(), 2u);
  weights.erase(weights.begin());
  EXPECT_EQ(weights[0].get(2047), 5);
}

TEST(Import, LongChainsOfNodes) {
  TestModel m;
  m.input("x", {4});
  std::string at = "x";
  for (int i = 0; i < 20'000; ++i) {
    const std::string next = "t" + std::to_string(i);
    m.node("Relu", {at}, {next});
    at = next;
  }
  m.output(at);
  EXPECT_TRUE(import_model(m).ok);
}

}  // namespace
}  // namespace relay::frontend
