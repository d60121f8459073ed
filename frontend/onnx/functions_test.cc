// Functions that a model brings: what calls of them become, and which are refused.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"
#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

constexpr const char* kDomain = "com.example";

// Adds a function of `kDomain` without nodes.
FunctionProto& function(TestModel& m, const std::string& name, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, int64_t opset = 13) {
  FunctionProto& f = *m.proto.add_functions();
  f.set_name(name);
  f.set_domain(kDomain);
  for (const std::string& i : inputs) f.add_input(i);
  for (const std::string& o : outputs) f.add_output(o);
  f.add_opset_import()->set_version(opset);
  ::onnx::OperatorSetIdProto& own = *f.add_opset_import();
  own.set_domain(kDomain);
  own.set_version(1);
  return f;
}

NodeProto& node(FunctionProto& f, const std::string& op, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::string& domain = {}) {
  NodeProto& n = *f.add_node();
  n.set_op_type(op);
  n.set_domain(domain);
  for (const std::string& i : inputs) n.add_input(i);
  for (const std::string& o : outputs) n.add_output(o);
  return n;
}

void refer(NodeProto& n, const std::string& name, const std::string& to, AttributeProto::AttributeType type) {
  AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  a.set_ref_attr_name(to);
  a.set_type(type);
}

// A field that the installed headers of ONNX lack.
void set_unknown(google::protobuf::Message& m, int number, const std::string& bytes) {
  m.GetReflection()->MutableUnknownFields(&m)->AddLengthDelimited(number, bytes);
}

// A model whose node calls the function: x -> y.
TestModel calls(const std::string& name, int64_t opset = 13) {
  TestModel m(opset);
  ::onnx::OperatorSetIdProto& own = *m.proto.add_opset_import();
  own.set_domain(kDomain);
  own.set_version(1);
  m.input("x", {2, 6}).node(name, {"x"}, {"y"}).output("y");
  m.last->set_domain(kDomain);
  return m;
}

// The operators of @main, in order of evaluation.
std::vector<std::string> operators(const Imported& i) {
  std::vector<std::string> out;
  for (Expr e : post_order(i.module.function("main"))) {
    if (const op::OpDef* def = op::callee(e)) out.emplace_back(def->name);
  }
  return out;
}

TEST(Functions, BodiesStandWhereTheyAreCalled) {
  TestModel m = calls("Twice");
  FunctionProto& f = function(m, "Twice", {"a"}, {"b"});
  node(f, "Relu", {"a"}, {"y"});  // a name of the model's graph means something else here
  node(f, "Neg", {"y"}, {"b"});
  m.node("Twice", {"y"}, {"z"});
  m.last->set_domain(kDomain);
  m.graph->mutable_output(0)->set_name("z");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(operators(i), (std::vector<std::string>{"nn.relu", "negative", "nn.relu", "negative"}));
}

TEST(Functions, AttributesAreThoseOfTheCall) {
  const auto axis_of = [](bool in_call, bool by_default) {
    TestModel m = calls("Flat");
    if (in_call) m.attr("where", 2);
    FunctionProto& f = function(m, "Flat", {"a"}, {"b"});
    if (by_default) {
      AttributeProto a;
      a.set_name("where");
      a.set_type(AttributeProto::INT);
      a.set_i(0);
      set_unknown(f, 11, a.SerializeAsString());
    } else {
      f.add_attribute("where");
    }
    refer(node(f, "Flatten", {"a"}, {"b"}), "axis", "where", AttributeProto::INT);
    const Imported i = import_model(m);
    EXPECT_TRUE(i.ok) << i.messages;
    return i.type;
  };
  EXPECT_EQ(axis_of(true, true), "Tensor[(12, 1), float32]");
  EXPECT_EQ(axis_of(false, true), "Tensor[(1, 12), float32]");
  EXPECT_EQ(axis_of(false, false), "Tensor[(2, 6), float32]") << "the operator's own default";
}

TEST(Functions, AttributesGoThroughCallsAndBranches) {
  TestModel m = calls("Outer");
  m.attr("outer", 2);
  FunctionProto& outer = function(m, "Outer", {"a"}, {"b"});
  NodeProto& call = node(outer, "Inner", {"a"}, {"b"}, kDomain);
  refer(call, "inner", "outer", AttributeProto::INT);
  FunctionProto& inner = function(m, "Inner", {"a"}, {"b"});
  // A branch sees the function's names and its attributes.
  NodeProto& truth = node(inner, "Constant", {}, {"true"});
  AttributeProto& value = *truth.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(::onnx::TensorProto::BOOL);
  value.mutable_t()->add_int32_data(1);
  NodeProto& branches = node(inner, "If", {"true"}, {"b"});
  for (const char* name : {"then_branch", "else_branch"}) {
    AttributeProto& a = *branches.add_attribute();
    a.set_name(name);
    a.set_type(AttributeProto::GRAPH);
    NodeProto& n = *a.mutable_g()->add_node();
    n.set_op_type("Flatten");
    n.add_input("a");
    n.add_output("flat");
    refer(n, "axis", "inner", AttributeProto::INT);
    a.mutable_g()->add_output()->set_name("flat");
  }
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(12, 1), float32]");
}

TEST(Functions, InputsMayBeLeftOut) {
  TestModel m = calls("Clipped");
  FunctionProto& f = function(m, "Clipped", {"a", "least", "most"}, {"b"});
  node(f, "Clip", {"a", "least", "most"}, {"b"});
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(2, 6), float32]");
}

// Squeeze has its axes as an attribute before version 13, and as an input from then on.
TEST(Functions, OperatorSetsAreTheFunctionsOwn) {
  TestModel m = calls("Old", 13);
  m.graph->clear_input();
  m.input("x", {1, 6});
  FunctionProto& f = function(m, "Old", {"a"}, {"b"}, 11);
  AttributeProto& axes = *node(f, "Squeeze", {"a"}, {"b"}).add_attribute();
  axes.set_name("axes");
  axes.set_type(AttributeProto::INTS);
  axes.add_ints(0);
  m.ints("axes", {0}).node("Squeeze", {"x", "axes"}, {"z"}).output("z");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "(Tensor[(6), float32], Tensor[(6), float32])");
}

TEST(Functions, OverloadsAreTold) {
  TestModel m = calls("F");
  set_unknown(*m.last, 8, "second");
  for (const char* overload : {"first", "second"}) {
    FunctionProto& f = function(m, "F", {"a"}, {"b"});
    set_unknown(f, 13, overload);
    node(f, std::string(overload) == "first" ? "Relu" : "Neg", {"a"}, {"b"});
  }
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(operators(i), (std::vector<std::string>{"negative"}));
}

TEST(Functions, TwoImportsOfOneDomainMeanTheHigherVersion) {
  TestModel m(13);
  m.proto.add_opset_import()->set_version(11);
  m.proto.mutable_opset_import(1)->set_domain("ai.onnx");
  m.input("x", {1, 6}).ints("axes", {0}).node("Squeeze", {"x", "axes"}, {"y"}).output("y");
  EXPECT_EQ(import_model(m).type, "Tensor[(6), float32]");
}

// Each function has the sets that its nodes need. All sets of the model in each of many functions
// would be 4 * 10^8 entries.
TEST(Functions, ManyFunctionsAndManySetsTakeTimeForBothAlone) {
  TestModel m = calls("F0");
  for (int i = 0; i < 20000; ++i) {
    node(function(m, cat("F", i), {"a"}, {"b"}), "Relu", {"a"}, {"b"});
    ::onnx::OperatorSetIdProto& set = *m.proto.add_opset_import();
    set.set_domain(cat("d", i));
    set.set_version(1);
  }
  const std::clock_t start = std::clock();
  const Imported i = import_model(m);
  EXPECT_TRUE(i.ok) << i.messages;
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
}

TEST(Functions, WhatIsNotCalledIsNotAskedFor) {
  TestModel m = calls("F");
  node(function(m, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  node(function(m, "Unused", {"a"}, {"b"}), "Frobnicate", {"a"}, {"b"});
  EXPECT_TRUE(import_model(m).ok);
}

TEST(Functions, RefusesWhatBodiesNeed) {
  TestModel m = calls("F");
  node(function(m, "F", {"a"}, {"b"}), "Frobnicate", {"a"}, {"b"});
  expect_refused(m, ImportFailure::kUnsupported, "m.onnx:3:3: error: operator `Frobnicate` of version 13");

  TestModel typed = calls("F");
  FunctionProto& f = function(typed, "F", {"a"}, {"b"});
  node(f, "Flatten", {"a"}, {"flat"});
  node(f, "MatMul", {"a", "a"}, {"b"});
  expect_refused(typed, ImportFailure::kBadModel,
                 "it is in the model's function `com.example.F`, which the node `the_F` calls");
}

TEST(Functions, RefusesCallsThatDoNotFit) {
  TestModel many = calls("F");
  many.last->add_input("x");
  node(function(many, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  expect_refused(many, ImportFailure::kBadModel, "takes 1 inputs and not 2");

  TestModel wide = calls("F");
  wide.last->add_output("z");
  node(function(wide, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  expect_refused(wide, ImportFailure::kBadModel, "gives 1 outputs and not 2");

  TestModel undefined = calls("F");
  node(function(undefined, "F", {"a"}, {"b"}), "Relu", {"a"}, {"c"});
  expect_refused(undefined, ImportFailure::kBadModel, "nothing defines the output `b`");

  TestModel captures = calls("F");
  node(function(captures, "F", {"a"}, {"b"}), "Add", {"a", "x"}, {"b"});
  expect_refused(captures, ImportFailure::kBadModel, "it uses `x`, which nothing before it defines");

  TestModel twice = calls("F");
  for (int k = 0; k < 2; ++k) node(function(twice, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  expect_refused(twice, ImportFailure::kBadModel, "two functions called `com.example.F`");

  TestModel old = calls("F");
  node(function(old, "F", {"a"}, {"b"}, 99), "Relu", {"a"}, {"b"});
  expect_refused(old, ImportFailure::kUnsupported, "function `com.example.F` of `m.onnx` uses version 99");
}

TEST(Functions, RefusesRecursion) {
  TestModel self = calls("F");
  node(function(self, "F", {"a"}, {"b"}), "F", {"a"}, {"b"}, kDomain);
  expect_refused(self, ImportFailure::kBadModel, "its function `com.example.F` calls itself");

  TestModel through = calls("F");
  node(function(through, "F", {"a"}, {"b"}), "G", {"a"}, {"b"}, kDomain);
  node(function(through, "G", {"a"}, {"b"}), "F", {"a"}, {"b"}, kDomain);
  expect_refused(through, ImportFailure::kBadModel, "calls itself, through `com.example.G`");
}

// Each function calls the next one twice: 2^40 nodes in a file of a few kilobytes.
TEST(Functions, RefusesBombs) {
  const auto start = std::clock();
  TestModel m = calls("F0");
  for (int k = 0; k < 40; ++k) {
    FunctionProto& f = function(m, cat("F", k), {"a"}, {"b"});
    const std::string next = cat("F", k + 1);
    node(f, next, {"a"}, {"c"}, kDomain);
    node(f, next, {"c"}, {"b"}, kDomain);
  }
  node(function(m, "F40", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  ImportOptions options;
  options.nodes = 20'000;
  expect_refused(m, ImportFailure::kLimit, "more nodes than the limit of 20000", options);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2);
}

TEST(Functions, RefusesDeepCalls) {
  TestModel m = calls("F0");
  for (int k = 0; k < 1000; ++k)
    node(function(m, cat("F", k), {"a"}, {"b"}), cat("F", k + 1), {"a"}, {"b"}, kDomain);
  node(function(m, "F1000", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  expect_refused(m, ImportFailure::kLimit, "it is called within more than 128 others");
}

}  // namespace
}  // namespace relay::frontend
