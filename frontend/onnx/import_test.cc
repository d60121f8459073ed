#include <gtest/gtest.h>

#include "base/file.h"
#include "frontend/onnx/testing.h"
#include "ir/analysis.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

void expect_refused(const TestModel& m, ImportFailure failure, const std::string& expected,
                    const ImportOptions& options = {}) {
  const Imported i = import_model(m, options);
  EXPECT_FALSE(i.ok) << expected;
  EXPECT_EQ(i.failure, failure) << i.messages;
  EXPECT_NE(i.messages.find(expected), std::string::npos) << i.messages << " <- " << expected;
}

TestModel relu() { return TestModel().input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y"); }

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
  expect_refused(m, ImportFailure::kUnsupported, "a scale of 1.5 does not make a whole size");
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
  expect_refused(m, ImportFailure::kUnsupported,
                 "shapes say which branch is taken: fix dynamic axes with --input-shapes");
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

TEST(Import, EverythingUnsupportedIsListedAtOnce) {
  const Imported i = import_model(TestModel(17)
                                      .input("x", {1, 4})
                                      .node("Frobnicate", {"x"}, {"a"})
                                      .node("Relu", {"a"}, {"b"})
                                      .node("StringNormalizer", {"b"}, {"c"})
                                      .node("ReduceMeen", {"x"}, {"d"})
                                      .output("c")
                                      .output("d"));
  EXPECT_EQ(i.failure, ImportFailure::kUnsupported);
  EXPECT_NE(i.messages.find("m.onnx:1:1: error: operator `Frobnicate` of version 17 (node `the_Frobnicate`) "
                            "on FLOAT is not supported"),
            std::string::npos)
      << i.messages;
  EXPECT_NE(i.messages.find("m.onnx:3:1"), std::string::npos);
  EXPECT_NE(i.messages.find("nearest in name: ReduceMean, ReduceMax"), std::string::npos) << i.messages;
  EXPECT_EQ(i.messages.find("Relu`"), std::string::npos) << "what only depends on it is not blamed";
}

TEST(Import, TypeErrorsPointAtTheNode) {
  expect_refused(TestModel().input("x", {2, 3}).input("y", {4}).node("Add", {"x", "y"}, {"z"}).output("z"),
                 ImportFailure::kBadModel, "Add \"the_Add\" opset 13 (x, y) -> (z)");
}

TEST(Import, RefusesBadModels) {
  expect_refused(TestModel().input("x", {1}).node("Relu", {"nothing"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "uses `nothing`, which nothing before it defines");
  expect_refused(TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).output("z"), ImportFailure::kBadModel,
                 "nothing defines the output `z`");
  expect_refused(TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}), ImportFailure::kBadModel,
                 "has no outputs");
  expect_refused(
      TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "is defined already");
  expect_refused(TestModel().input("x", {1}).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "two inputs are called `x`");
  expect_refused(TestModel().input("", {1}).output("y"), ImportFailure::kBadModel, "an input has no name");
  expect_refused(TestModel().floats("w", {1}).floats("w", {1}).output("w"), ImportFailure::kBadModel,
                 "two initialisers");
  expect_refused(TestModel().input("x", {1}).node("Relu", {}, {"y"}).output("y"), ImportFailure::kBadModel,
                 "its input 0 is missing");
  expect_refused(TestModel()
                     .input("x", {1, 2})
                     .node("Transpose", {"x"}, {"y"})
                     .attr("perm", std::vector<int64_t>{0})
                     .output("y"),
                 ImportFailure::kBadModel, "`perm`");
  expect_refused(TestModel().input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).attr("axis", 5).output("y"),
                 ImportFailure::kBadModel, "axis");
  expect_refused(TestModel().input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).attr("axis", "one").output("y"),
                 ImportFailure::kBadModel, "value of another kind");
  expect_refused(TestModel().input("x", {1, 2}).node("Cast", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "`to` is missing");
  expect_refused(TestModel()
                     .input("x", {1, 1, 8, 8})
                     .floats("w", {1, 1, 3, 3})
                     .node("Conv", {"x", "w"}, {"y"})
                     .attr("strides", std::vector<int64_t>{0, 1})
                     .output("y"),
                 ImportFailure::kBadModel, "out of range");
  expect_refused(TestModel()
                     .input("x", {1, 1, 8, 8})
                     .floats("w", {1, 1, 3, 3})
                     .node("Conv", {"x", "w"}, {"y"})
                     .attr("pads", std::vector<int64_t>{INT64_MAX, 1, 1, 1})
                     .output("y"),
                 ImportFailure::kBadModel, "out of range");
  expect_refused(TestModel()
                     .input("x", {1, 1, 8, 8})
                     .floats("w", {1, 1, 3, 3})
                     .node("Conv", {"x", "w"}, {"y"})
                     .attr("group", -1)
                     .output("y"),
                 ImportFailure::kBadModel, "out of range");
  expect_refused(TestModel().input("x", {4}).ints("i", {9}).node("Gather", {"x", "i"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "outside of the 4 elements");
  expect_refused(TestModel().input("x", {4}).ints("s", {3}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "");
  expect_refused(
      TestModel().input("x", {4}).ints("s", {-1, -1}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "");
  expect_refused(TestModel().input("x", {4}).ints("s", {-7}).node("Reshape", {"x", "s"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "negative extent");
}

TEST(Import, RefusesWhatIsNotSupported) {
  expect_refused(TestModel(6).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kUnsupported, "version 6 of ONNX's operator set; 7 to 21");
  expect_refused(TestModel(22).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kUnsupported, "version 22");
  expect_refused(TestModel().input("x", {1}, ::onnx::TensorProto::STRING).output("x"),
                 ImportFailure::kUnsupported, "type STRING");
  expect_refused(TestModel()
                     .input("x", {1, 1, 4, 4, 4})
                     .floats("w", {1, 1, 3, 3, 3})
                     .node("Conv", {"x", "w"}, {"y"})
                     .output("y"),
                 ImportFailure::kUnsupported, "3 spatial axes");
  expect_refused(TestModel()
                     .input("x", {1, 1, 4, 4})
                     .node("MaxPool", {"x"}, {"y", "i"})
                     .attr("kernel_shape", std::vector<int64_t>{2, 2})
                     .output("y"),
                 ImportFailure::kUnsupported, "indices");
  expect_refused(
      TestModel().input("x", {4}).input("s", {1}, kInt64Code).node("Reshape", {"x", "s"}, {"y"}).output("y"),
      ImportFailure::kUnsupported, "depends on the data");
  TestModel other = relu();
  other.last->set_domain("com.example");
  expect_refused(other, ImportFailure::kUnsupported,
                 "ONNX's own `Relu` is supported; the one of `com.example` is not");
  TestModel no_shape = relu();
  no_shape.graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  expect_refused(no_shape, ImportFailure::kUnsupported, "does not say what its shape is");
  ImportOptions o;
  o.input_shapes["x"] = {{2, ""}, {-1, "k"}};
  EXPECT_EQ(import_model(no_shape, o).type, "Tensor[(2, k), float32]");
}

TEST(Import, RefusesOptionsThatDoNotFit) {
  const auto with = [](std::string name, std::vector<InputDim> dims) {
    ImportOptions o;
    o.input_shapes[name] = std::move(dims);
    return o;
  };
  expect_refused(relu(), ImportFailure::kBadModel, "no input of `m.onnx`", with("y", {{1, ""}}));
  expect_refused(relu(), ImportFailure::kBadModel, "it has 2 dimensions", with("x", {{1, ""}}));
  expect_refused(relu(), ImportFailure::kBadModel, "its extent 1 is always 4", with("x", {{1, ""}, {5, ""}}));
  ImportOptions value;
  value.input_values["y"] = {{"1"}};
  expect_refused(relu(), ImportFailure::kBadModel, "a value was given for `y`, which is no input", value);
  value.input_values = {{"x", {{"true"}}}};
  expect_refused(relu(), ImportFailure::kBadModel, "`true` is no float32", value);
  value.input_values = {{"x", {{"1", "2"}, true}}};
  expect_refused(relu(), ImportFailure::kBadModel, "it has 4 elements and the list 2", value);
  value.input_values = {{"x", {{"1"}}}};
  expect_refused(TestModel().input("x", {"n"}).node("Relu", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "whose extents are not known", value);
  value.input_values = {{"w", {{"1"}}}};
  expect_refused(
      TestModel().input("x", {2}).input("w", {2}).floats("w", {2}).node("Add", {"x", "w"}, {"y"}).output("y"),
      ImportFailure::kBadModel, "which is no input", value);
  ImportOptions o = with("x", {{2, ""}});
  o.input_shapes["y"] = {{3, ""}};
  expect_refused(TestModel().input("x", {"n"}).input("y", {"n"}).node("Add", {"x", "y"}, {"z"}).output("z"),
                 ImportFailure::kBadModel, "cannot be both 2 and 3", o);
}

TEST(Import, RefusesWhatIsOverTheLimits) {
  ImportOptions few;
  few.nodes = 1;
  expect_refused(
      TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).node("Relu", {"y"}, {"z"}).output("z"),
      ImportFailure::kLimit, "more than the limit of 1", few);
  ::onnx::GraphProto inner;
  inner.add_output()->set_name("x");
  for (int i = 0; i < 40; ++i) {
    ::onnx::GraphProto outer;
    auto* n = outer.add_node();
    n->set_op_type("If");
    n->add_input("c");
    n->add_output("y");
    for (const char* name : {"then_branch", "else_branch"}) {
      if (i > 10 && std::string(name) == "else_branch") continue;  // or it would be 2^40 graphs
      auto* a = n->add_attribute();
      a->set_name(name);
      a->set_type(::onnx::AttributeProto::GRAPH);
      *a->mutable_g() = inner;
    }
    outer.add_output()->set_name("y");
    inner = outer;
  }
  TestModel deep;
  deep.input("x", {1}).input("c", {}, ::onnx::TensorProto::BOOL);
  *deep.graph->mutable_node() = inner.node();
  deep.output("y");
  const Imported i = import_model(deep);
  EXPECT_FALSE(i.ok);
  TestModel steps;
  steps.input("x", {5000, 1, 2})
      .floats("w", {1, 3, 2})
      .floats("r", {1, 3, 3})
      .node("RNN", {"x", "w", "r"}, {"y"})
      .output("y");
  expect_refused(steps, ImportFailure::kLimit, "longer than the limit of 4096");
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

TEST(Import, RefusesShapesThatGrowWithoutBound) {
  // (n + 1) squared, and squared again: the number of terms doubles each time.
  TestModel m;
  m.input("x", {"n"}).ints("one", {1}).node("Shape", {"x"}, {"s"}).node("Add", {"s", "one"}, {"t0"});
  for (int i = 0; i < 40; ++i) {
    m.node("Mul", {"t" + std::to_string(i), "t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});
  }
  m.output("t40");
  expect_refused(m, ImportFailure::kLimit, "too complicated");
}

TEST(Import, ArithmeticOnConstantsIsBounded) {
  // Each slice asks for a bound that takes a million additions to know.
  TestModel m;
  m.input("x", {4}).floats("one", {1}, 1).ints("shape", {1'000'000}).ints("axes", {0}).ints("end", {4});
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    m.node("Expand", {"one", "shape"}, {"e" + n}).node("ReduceSum", {"e" + n, "axes"}, {"r" + n});
    m.node("Cast", {"r" + n}, {"c" + n})
        .attr("to", kInt64Code)
        .node("Slice", {"x", "c" + n, "end"}, {"y" + n});
  }
  m.output("y1999");
  EXPECT_FALSE(import_model(m).ok);
}

TEST(Import, RefusesFilesThatAreNoModels) {
  EXPECT_NE(import_bytes("").messages.find("it is empty"), std::string::npos);
  EXPECT_NE(import_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:1").messages.find("Git LFS"),
            std::string::npos);
  EXPECT_NE(import_bytes("PK\x03\x04").messages.find("m.onnx"), std::string::npos);
  const std::string good = relu().bytes();
  for (size_t n = 1; n < good.size(); ++n) EXPECT_FALSE(import_bytes(good.substr(0, n)).ok) << n;
  EXPECT_FALSE(import_bytes(std::string(1000, '\x3a')).ok);
  EXPECT_FALSE(import_bytes(std::string(1 << 20, '\xff')).ok);
  std::string nested;
  for (int i = 0; i < 200; ++i)
    nested = "\x3a" + std::string(1, static_cast<char>(std::min<size_t>(nested.size(), 127))) + nested;
  EXPECT_FALSE(import_bytes(nested).ok);
}

TEST(Import, AMillionEmptyNodesAreRefusedByNumber) {
  // Two bytes a node: an amplification that must be seen before the message is parsed.
  std::string graph;
  for (int i = 0; i < 1'000'001; ++i) graph += std::string("\x0a\x00", 2);
  ::onnx::ModelProto rest;
  rest.add_opset_import()->set_version(13);
  std::string bytes = rest.SerializeAsString() + "\x3a";
  for (size_t n = graph.size(); n > 0; n >>= 7) bytes += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
  const Imported i = import_bytes(bytes + graph);
  EXPECT_EQ(i.failure, ImportFailure::kLimit) << i.messages.substr(0, 300);
}

TEST(Import, ExternalDataIsRefusedWithoutAFolder) {
  TestModel m = relu();
  m.floats_in_file("w", {1}, "../../etc/passwd");
  EXPECT_NE(import_model(m).messages.find("another file"), std::string::npos);
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  ASSERT_EQ(write_file_atomically(folder.path() + "/m.onnx", m.bytes()), "");
  Diagnostics d;
  const Module empty;
  EXPECT_FALSE(import_onnx(folder.path() + "/m.onnx", empty, {}, d).ok());
  EXPECT_NE(d.render(empty.context().sources()).find("contains `..`"), std::string::npos);
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

TEST(Import, AFileThatIsNotThere) {
  Diagnostics d;
  EXPECT_FALSE(import_onnx("/no/such/file.onnx", Module(), {}, d).ok());
  EXPECT_EQ(import_failure(d), ImportFailure::kUnreadable);
}

TEST(Import, IsDeterministic) {
  const TestModel m = relu();
  const Imported a = import_model(m), b = import_model(m);
  EXPECT_TRUE(alpha_equal(a.module, b.module));
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
