// What an import is refused for: each message names the culprit and says what to do instead.
#include <gtest/gtest.h>

#include <ctime>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

struct Refused {
  std::string slugs;  // of all errors, in order
  std::string text;   // as it is rendered
};

Refused refuse(const std::string& bytes, const ImportOptions& options = {}) {
  Diagnostics d;
  const Module empty;
  EXPECT_FALSE(import_onnx(bytes, "m.onnx", nullptr, empty, options, d).ok());
  return {join(d.all(), ", ", [](const Diagnostic& one) { return one.slug().name(); }),
          d.render(empty.context().sources())};
}
Refused refuse(const TestModel& m, const ImportOptions& options = {}) { return refuse(m.bytes(), options); }

void expect_said(const Refused& refused, std::string_view slugs,
                 std::initializer_list<std::string_view> said) {
  EXPECT_EQ(refused.slugs, slugs) << refused.text;
  for (std::string_view part : said)
    EXPECT_NE(refused.text.find(part), std::string::npos) << refused.text << " <- " << part;
}

::onnx::TensorProto weight(int type) {
  ::onnx::TensorProto t;
  t.set_name("w");
  t.set_data_type(type);
  t.add_dims(2);
  return t;
}

TEST(Refusal, DamagedModelsWithThePlace) {
  const std::string good = relu().bytes();
  expect_said(refuse(good.substr(0, good.size() - 1)), "onnx-malformed",
              {"cannot read the model `m.onnx`: it is cut short", cat("(byte ", good.size() - 2, ")")});
  expect_said(refuse("\x0f"), "onnx-malformed", {"it is damaged or no ONNX model (byte 1)"});
  expect_said(refuse("version https://git-lfs.github.com/spec/v1"), "onnx-git-lfs",
              {"`m.onnx`", "`git lfs pull` fetches it"});
}

TEST(Refusal, NodesThatContradictThemselves) {
  expect_said(
      refuse(TestModel().input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).attr("axis", "one").output("y")),
      "onnx-wrong-attribute-kind",
      {"m.onnx:1:1", "`Softmax` (node `the_Softmax`)",
       "its attribute `axis` has a value of another kind than it should"});
  expect_said(refuse(TestModel().input("x", {1}).node("Relu", {"nothing"}, {"y"}).output("y")),
              "onnx-undefined-value",
              {"`Relu` (node `the_Relu`): it uses `nothing`, which nothing before it defines"});
}

TEST(Refusal, TensorsThatContradictThemselves) {
  TestModel m = relu();
  *m.graph->add_initializer() = weight(::onnx::TensorProto::FLOAT);
  expect_said(refuse(m), "onnx-tensor-invalid",
              {"tensor `w` of `m.onnx`: its shape (2,) needs 2 elements and it has 0"});
}

TEST(Refusal, DTypes) {
  TestModel m = relu();
  *m.graph->add_initializer() = weight(::onnx::TensorProto::COMPLEX64);
  expect_said(refuse(m), "unsupported-dtype",
              {"tensor `w` of `m.onnx`: elements of type COMPLEX64 are not supported; booleans, integers and "
               "floats are"});
}

// Texts pass through what only moves elements; the message says where numbers begin.
TEST(Refusal, InputsOfTexts) {
  constexpr auto kText = ::onnx::TensorProto::STRING;
  expect_said(refuse(TestModel().input("names", {1}, kText).output("names")), "unsupported-dtype",
              {"input `names` of `m.onnx` has elements of type STRING",
               "no number comes of its texts, which end in output `names`"});
  TestModel m;
  m.input("names", {2}, kText).input("x", {2}).ints("shape", {2, 1});
  m.node("Reshape", {"names", "shape"}, {"column"}).node("Shape", {"column"}, {"sizes"});
  m.node("TfIdfVectorizer", {"column"}, {"counts"}).node("Mul", {"counts", "x"}, {"y"});
  expect_said(
      refuse(m.output("y").output("column").output("sizes")), "unsupported-dtype",
      {"input `names` of `m.onnx` has elements of type STRING",
       "numbers are made of the texts by `Shape` (node `the_Shape`), `TfIdfVectorizer` (node "
       "`the_TfIdfVectorizer`): compute these before the model runs, and begin the model behind them: "
       "onnx.utils.extract_model(\"m.onnx\", \"numbers.onnx\", [\"x\", \"sizes\", \"counts\"], [\"y\"])"});
  TestModel long_way;
  long_way.input("names", {1}, kText);
  for (int i = 0; i < 9; ++i) long_way.node("TfIdfVectorizer", {"names"}, {cat("h", i)}).output(cat("h", i));
  expect_said(refuse(long_way), "unsupported-dtype",
              {"(node `the_TfIdfVectorizer`) and 6 more: compute these before the model runs, and begin the "
               "model behind them"});
}

// A graph inside a node sees the texts around it, although they are no inputs of the node.
TEST(Refusal, TextsThatAGraphInsideANodeReads) {
  ::onnx::GraphProto branch;
  branch.set_name("branch");
  branch.add_output()->set_name("counts");
  ::onnx::NodeProto& node = *branch.add_node();
  node.set_op_type("TfIdfVectorizer");
  node.add_input("names");
  node.add_output("counts");
  TestModel m;
  m.input("names", {2}, ::onnx::TensorProto::STRING).input("c", {}, ::onnx::TensorProto::BOOL);
  m.node("If", {"c"}, {"y"}).attr("then_branch", branch).attr("else_branch", branch).output("y");
  expect_said(refuse(m), "unsupported-dtype",
              {"numbers are made of the texts by `If` (node `the_If`): compute these before the model runs"});
}

// The call is for Python, in which a quote ends a name: then the words alone say it.
TEST(Refusal, TextsBesideNamesThatNeedEscapes) {
  for (const char* name : {"a\"b", "a\\", "a\nb"}) {
    TestModel m;
    m.input("names", {2}, ::onnx::TensorProto::STRING).input(name, {2});
    m.node("TfIdfVectorizer", {"names"}, {"counts"}).node("Mul", {"counts", name}, {"y"}).output("y");
    const Refused refused = refuse(m);
    expect_said(refused, "unsupported-dtype", {"and begin the model behind them"});
    EXPECT_EQ(refused.text.find("extract_model"), std::string::npos) << refused.text;
  }
}

TEST(Refusal, TensorsOfTexts) {
  TestModel m = relu();
  ::onnx::TensorProto& label = *m.graph->add_initializer();
  label.set_name("label");
  label.set_data_type(::onnx::TensorProto::STRING);
  label.add_string_data("cat");
  m.node("Identity", {"label"}, {"z"}).output("z");
  expect_said(refuse(m), "unsupported-dtype",
              {"tensor `label` of `m.onnx` has elements of type STRING",
               "end in output `z`: keep them beside the model, and leave them out of it"});
  TestModel constant;
  constant.node("Constant", {}, {"y"}).attr("value_string", "cat");
  expect_said(refuse(constant.output("y")), "unsupported-operator-form",
              {"its value is a tensor of strings", "keep the texts beside the model"});
}

TEST(Refusal, InputsThatAreNoTensors) {
  TestModel m = relu();
  ::onnx::ValueInfoProto& list = *m.graph->add_input();
  list.set_name("list");
  TestModel::declare(list, "list", {}, ::onnx::TensorProto::FLOAT);
  list.mutable_type()->mutable_sequence_type();
  expect_said(refuse(m), "unsupported-input",
              {"input `list` of `m.onnx` is a sequence, and its elements are not tensors",
               "export the model with an input for each tensor"});
}

TEST(Refusal, TensorsInOtherForms) {
  TestModel m = relu();
  *m.graph->add_initializer() = weight(::onnx::TensorProto::FLOAT);
  m.graph->mutable_initializer(0)->mutable_segment()->set_begin(0);
  expect_said(refuse(m), "unsupported-tensor",
              {"tensor `w` of `m.onnx`: tensors in segments are not supported; save it whole"});
  TestModel sparse = relu();
  sparse.graph->add_sparse_initializer();
  expect_said(refuse(sparse), "unsupported-tensor",
              {"`m.onnx` has sparse initialisers", "save its weights as dense tensors"});
}

TEST(Refusal, OperatorsAndTheirVersions) {
  expect_said(
      refuse(TestModel(17).input("x", {1}).node("Softmix", {"x"}, {"y"}).output("y")), "unsupported-operator",
      {"m.onnx:1:1: error: operator `Softmix` of version 17 (node `the_Softmix`) on FLOAT is not supported",
       "did you mean `Softmax`? `relay ops --onnx` lists all"});
  expect_said(refuse(TestModel(17).input("x", {1}).node("LayerNorm", {"x"}, {"y"}).output("y")),
              "unsupported-operator", {"supported and nearest in name: LayerNormalization; "});
  const Refused texts = refuse(TestModel(20).input("x", {1}).node("StringConcatt", {"x"}, {"y"}).output("y"));
  expect_said(texts, "unsupported-operator", {"`relay ops --onnx` lists all"});
  EXPECT_EQ(texts.text.find("did you mean"), std::string::npos) << "`StringConcat` is refused too";
  for (int64_t version : {0, 29}) {
    expect_said(refuse(TestModel(version).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y")),
                "unsupported-opset",
                {cat("`m.onnx` uses version ", version, " of ONNX's operator set; 1 to 28 are supported"),
                 "convert the model with onnx.version_converter"});
  }
}

TEST(Refusal, TooManyNodes) {
  ImportOptions one;
  one.nodes = 1;
  expect_said(
      refuse(TestModel().input("x", {1}).node("Relu", {"x"}, {"y"}).node("Relu", {"y"}, {"z"}).output("z"),
             one),
      "limit-nodes", {"`m.onnx`: it has 2 nodes, more than the limit of 1", "divide the model"});
}

TEST(Refusal, GraphsThatAreTooDeep) {
  ImportOptions two;
  two.graph_depth = 2;
  for (size_t depth : {2, 3}) {
    TestModel m = relu();
    ::onnx::GraphProto inner;
    inner.add_output()->set_name("x");
    for (size_t i = 0; i < depth; ++i) {
      ::onnx::GraphProto outer;
      ::onnx::NodeProto& n = *outer.add_node();
      n.set_op_type("If");
      n.set_name(cat("if", i));
      n.add_input("c");
      n.add_output(cat("y", i));
      for (const char* name : {"then_branch", "else_branch"}) {
        ::onnx::AttributeProto& a = *n.add_attribute();
        a.set_name(name);
        a.set_type(::onnx::AttributeProto::GRAPH);
        *a.mutable_g() = inner;
      }
      outer.add_output()->set_name(cat("y", i));
      inner = outer;
    }
    m.input("c", {}, ::onnx::TensorProto::BOOL);
    *m.graph->add_node() = inner.node(0);
    if (depth == 2) {
      EXPECT_TRUE(import_model(m, two).ok) << import_model(m, two).messages;
      continue;
    }
    expect_said(refuse(m, two), "limit-graph-depth",
                {"`m.onnx`: `If` (node `if0`) has a graph within more than 2 others",
                 "export the model with its inner graphs written out"});
  }
}

// As many steps as are written out are read in a fraction of what a file may take.
TEST(Refusal, LongSequencesAreReadInLinearTime) {
  const auto start = std::clock();
  const Imported i = import_model(TestModel(14)
                                      .input("x", {4096, 1, 2})
                                      .floats("w", {1, 9, 2})
                                      .floats("r", {1, 9, 3})
                                      .node("GRU", {"x", "w", "r"}, {"", "y"})
                                      .output("y"));
  EXPECT_TRUE(i.ok) << i.messages;
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.5);
}

}  // namespace
}  // namespace relay::frontend
