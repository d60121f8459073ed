// Branches and loops: what types they get, and what becomes of models that would take for ever.
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"
#include "ir/traverse.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

// A graph of one node that gives `output`.
::onnx::GraphProto graph_of(const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& output) {
  ::onnx::GraphProto g;
  ::onnx::NodeProto& n = *g.add_node();
  n.set_op_type(op);
  for (const std::string& i : inputs) n.add_input(i);
  n.add_output(output);
  g.add_output()->set_name(output);
  return g;
}

// y<i> has one dimension more than `from`, or not, as input c<i> says.
void add_choice(TestModel& m, const std::string& from, int i) {
  const std::string n = std::to_string(i);
  m.input("c" + n, {}, ::onnx::TensorProto::BOOL).node("If", {"c" + n}, {"y" + n});
  m.attr("then_branch", graph_of("Unsqueeze", {from, "axis"}, "t" + n));
  m.attr("else_branch", graph_of("Neg", {from}, "e" + n));
}

size_t count(const Imported& i, ExprKind kind) {
  size_t out = 0;
  for (Expr e : post_order(i.module.function("main")->body)) out += e->kind == kind;
  return out;
}

TEST(Branches, ThatMeetAtOnceCostOneIfEach) {
  TestModel m;
  m.input("x", {2, 3}).ints("axis", {0}).ints("shape", {2, 3});
  std::string at = "x";
  for (int i = 0; i < 100; ++i) {
    add_choice(m, at, i);
    at = cat("r", i);
    m.node("Reshape", {cat("y", i), "shape"}, {at});
  }
  m.output(at);
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(2, 3), float32]");
  EXPECT_EQ(count(i, ExprKind::kIf), 100u);
}

TEST(Branches, ThatNeverMeetAreRefusedBeforeTheyAreTooMany) {
  for (const int choices : {6, 7, 40}) {
    TestModel m;
    m.input("x", {2, 3}).ints("axis", {0});
    for (int i = 0; i < choices; ++i) add_choice(m, i == 0 ? "x" : cat("y", i - 1), i);
    m.node("ReduceMax", {cat("y", choices - 1)}, {"z"}).attr("keepdims", 0).output("z");
    if (choices == 6) {
      EXPECT_TRUE(import_model(m).ok) << import_model(m).messages;
    } else {
      expect_refused(m, ImportFailure::kLimit,
                     "`If` (node `the_If`): what follows an `If` is converted once");
    }
  }
}

TEST(Branches, LongTailsOfManyWaysAreRefusedInTime) {
  TestModel m;
  m.input("x", {2, 3}).ints("axis", {0});
  for (int i = 0; i < 6; ++i) add_choice(m, i == 0 ? "x" : cat("y", i - 1), i);
  std::string at = "y5";
  for (int i = 0; i < 3000; ++i) {
    m.node("Relu", {at}, {cat("r", i)});
    at = cat("r", i);
  }
  m.node("ReduceMax", {at}, {"z"}).attr("keepdims", 0).output("z");
  const auto start = std::clock();
  expect_refused(m, ImportFailure::kLimit, "more than 100000 nodes");
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
}

TEST(Branches, OutputsOfOtherRanksAreRefusedByName) {
  TestModel m;
  m.input("x", {2, 3}).ints("axis", {0});
  add_choice(m, "x", 0);
  m.node("Relu", {"y0"}, {"z"}).output("z");
  expect_refused(m, ImportFailure::kUnsupported,
                 "its branches give `z` the types Tensor[(1, 2, 3), float32] and Tensor[(2, 3), float32]");
  expect_refused(m, ImportFailure::kUnsupported, "input `c0` says which branch is taken");
}

TEST(Branches, DTypesMayDifferToo) {
  TestModel m;
  m.input("x", {2}).input("c", {1}, ::onnx::TensorProto::BOOL).node("If", {"c"}, {"y"});
  ::onnx::GraphProto yes = graph_of("Cast", {"x"}, "t");
  ::onnx::AttributeProto& to = *yes.mutable_node(0)->add_attribute();
  to.set_name("to");
  to.set_type(::onnx::AttributeProto::INT);
  to.set_i(::onnx::TensorProto::INT64);
  m.attr("then_branch", yes).attr("else_branch", graph_of("Neg", {"x"}, "e"));
  m.node("Cast", {"y"}, {"z"}).attr("to", ::onnx::TensorProto::INT32).output("z");
  EXPECT_EQ(import_model(m).type, "Tensor[(2), int32]") << import_model(m).messages;
}

// Also where the condition is known, and where what is taken divides again.
TEST(Branches, GiveAsManyOutputsAsTheirNode) {
  for (const size_t outputs : {1, 3}) {
    TestModel choice;
    choice.ints("axis", {0});
    add_choice(choice, "x", 0);
    ::onnx::GraphProto two;
    *two.add_node() = *choice.last;
    ::onnx::NodeProto& other = *two.add_node();
    other.set_op_type("Neg");
    other.add_input("x");
    other.add_output("other");
    for (const char* name : {"y0", "other"}) two.add_output()->set_name(name);
    const std::vector<std::string> names{"z0", "z1", "z2"};
    TestModel m;
    m.input("x", {2, 3}).input("c0", {}, ::onnx::TensorProto::BOOL).ints("axis", {0}).ints("one", {1});
    m.node("Cast", {"one"}, {"yes"}).attr("to", ::onnx::TensorProto::BOOL);
    m.node("If", {"yes"}, {names.begin(), names.begin() + static_cast<ptrdiff_t>(outputs)});
    m.attr("then_branch", two).attr("else_branch", two);
    for (size_t i = 0; i < outputs; ++i)
      m.node("ReduceMax", {names[i]}, {cat("r", i)}).attr("keepdims", 0).output(cat("r", i));
    expect_refused(m, ImportFailure::kBadModel, "its branches and its outputs differ in number");
  }
}

// What follows is converted on the ways of the branch, and uses names from around the node.
TEST(Branches, ThatAreKnownToBeTakenMayDivide) {
  TestModel choice;
  choice.ints("axis", {0});
  add_choice(choice, "x", 0);
  ::onnx::GraphProto taken;
  *taken.add_node() = *choice.last;
  taken.add_output()->set_name("y0");
  TestModel m;
  m.input("x", {2, 3}).input("c0", {}, ::onnx::TensorProto::BOOL).ints("axis", {0}).ints("one", {1});
  m.node("Cast", {"one"}, {"yes"}).attr("to", ::onnx::TensorProto::BOOL);
  m.node("If", {"yes"}, {"y"}).attr("then_branch", taken).attr("else_branch", taken);
  m.node("Relu", {"x"}, {"around"}).node("Add", {"y", "around"}, {"sum"});
  m.node("ReduceMax", {"sum"}, {"z"}).attr("keepdims", 0).output("z");
  EXPECT_EQ(import_model(m).type, "float32") << import_model(m).messages;
}

TEST(Branches, ResultsThatNobodyUsesMayDiffer) {
  TestModel m;
  m.input("x", {2, 3}).ints("axis", {0});
  add_choice(m, "x", 0);
  m.node("Relu", {"x"}, {"z"}).output("z");
  EXPECT_EQ(import_model(m).type, "Tensor[(2, 3), float32]") << import_model(m).messages;
}

// Loops within loops, whose states all change their extents: each level is
// converted more than once.
TEST(Loops, WithinEachOtherAreRefusedBeforeTheyAreTooMany) {
  for (const int depth : {3, 24}) {
    ::onnx::NodeProto inner;
    for (int level = 0; level < depth; ++level) {
      const std::string l = std::to_string(level);
      ::onnx::GraphProto body;
      for (const std::string& name : {"i" + l, "go" + l, "s" + l}) body.add_input()->set_name(name);
      if (level > 0) *body.add_node() = inner;
      ::onnx::NodeProto& twice = *body.add_node();
      twice.set_op_type("Concat");
      const std::string from = level > 0 ? cat("y", level - 1) : "s0";
      for (int k = 0; k < 2; ++k) twice.add_input(from);
      twice.add_output("d" + l);
      ::onnx::AttributeProto& axis = *twice.add_attribute();
      axis.set_name("axis");
      axis.set_type(::onnx::AttributeProto::INT);
      for (const std::string& name : {"go" + l, "d" + l}) body.add_output()->set_name(name);
      inner.Clear();
      inner.set_op_type("Loop");
      for (const std::string& name :
           {std::string("count"), std::string(), level + 1 < depth ? cat("s", level + 1) : "x"})
        inner.add_input(name);
      inner.add_output("y" + l);
      ::onnx::AttributeProto& a = *inner.add_attribute();
      a.set_name("body");
      a.set_type(::onnx::AttributeProto::GRAPH);
      *a.mutable_g() = body;
    }
    TestModel m;
    m.input("x", {1}).input("count", {}, ::onnx::TensorProto::INT64).output(cat("y", depth - 1));
    *m.graph->add_node() = inner;
    const auto start = std::clock();
    const Imported i = import_model(m);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 30) << depth;
    if (depth == 3) {
      EXPECT_EQ(i.type, "Tensor[(?), float32]") << i.messages;
    } else {
      EXPECT_EQ(i.failure, ImportFailure::kLimit) << i.messages;
    }
  }
}

TEST(Loops, LongLayersAreLoops) {
  TestModel m;
  m.input("x", {10, 1, 2}).floats("w", {1, 3, 2}).floats("r", {1, 3, 3});
  for (int i = 0; i < 3; ++i) m.node("RNN", {"x", "w", "r"}, {cat("y", i)}).output(cat("y", i));
  ImportOptions options;
  options.all_unrolled_steps = 30;
  EXPECT_EQ(count(import_model(m, options), ExprKind::kIf), 0u);
  options.all_unrolled_steps = 29;
  EXPECT_EQ(count(import_model(m, options), ExprKind::kIf), 1u);
  options.unrolled_steps = 9;
  const Imported all = import_model(m, options);
  EXPECT_EQ(count(all, ExprKind::kIf), 3u);
  const std::string each = "Tensor[(10, 1, 1, 3), float32]";
  EXPECT_EQ(all.type, cat("(", each, ", ", each, ", ", each, ")"));
}

TEST(Loops, ActivationsAreKnownAndHaveTheirNumbers) {
  const auto layer = [](const char* activation) {
    TestModel m;
    m.input("x", {"n", 1, 2})
        .floats("w", {1, 3, 2})
        .floats("r", {1, 3, 3})
        .node("RNN", {"x", "w", "r"}, {"y"});
    m.attribute("activations", ::onnx::AttributeProto::STRINGS).add_strings(activation);
    m.output("y");
    return m;
  };
  EXPECT_TRUE(import_model(layer("HardSigmoid")).ok);
  expect_refused(layer("Mish"), ImportFailure::kUnsupported, "activation `Mish` is not supported");
  expect_refused(layer("ScaledTanh"), ImportFailure::kBadModel,
                 "`scaledtanh` needs the attribute `activation_alpha`");
}

TEST(Loops, LayersHaveWeightsOfOneSize) {
  const auto layer = [](const std::vector<int64_t>& r, const std::vector<int64_t>& bias, int lengths,
                        const std::vector<int64_t>& peepholes) {
    TestModel m;
    m.input("x", {"n", 2, 2}).input("lengths", {lengths}, ::onnx::TensorProto::INT32);
    m.floats("w", {1, 4, 2}).floats("r", r).floats("b", bias).floats("p", peepholes);
    m.node("LSTM", {"x", "w", "r", "b", "lengths", "", "", "p"}, {"y"}).output("y");
    return m;
  };
  EXPECT_TRUE(import_model(layer({1, 4, 1}, {1, 8}, 2, {1, 3})).ok);
  const auto refused = [](const TestModel& m, const std::string& expected) {
    expect_refused(m, ImportFailure::kBadModel, expected);
  };
  refused(layer({1, 1, 1}, {1, 8}, 2, {1, 3}), "its weights are for another number of gates");
  refused(layer({1, 4, 1}, {1, 12}, 2, {1, 3}), "its bias must have two numbers");
  refused(layer({1, 4, 1}, {8}, 2, {1, 3}), "its bias must have two numbers");
  refused(layer({1, 4, 1}, {1, 8}, 3, {1, 3}), "another number of sequence lengths");
  refused(layer({1, 4, 1}, {1, 8}, 2, {1, 4}), "another number of peepholes");
}

// Weights of their own for each step would be as many times larger when they are folded and packed.
TEST(Loops, StepsThatAreWrittenOutShareTheirWeights) {
  for (const char* layer : {"LSTM", "GRU", "RNN"}) {
    const int64_t gates = *layer == 'L' ? 4 : *layer == 'G' ? 3 : 1;
    TestModel m;
    m.input("x", {3, 1, 2}).floats("w", {1, gates, 2}).floats("r", {1, gates, 1});
    m.node(layer, {"x", "w", "r"}, {"y"}).attr("linear_before_reset", *layer == 'G' ? 1 : 0);
    if (*layer != 'G') m.last->clear_attribute();
    const Imported i = import_model(m.output("y"));
    ASSERT_TRUE(i.ok) << i.messages;
    int products = 0;
    std::set<Expr> weights;
    for (Expr e : post_order(i.module.function("main"))) {
      if (op::callee(e) != &op::kMatmul) continue;
      ++products;
      weights.insert(e->as<Call>()->args[1]);
    }
    EXPECT_EQ(products, 4) << layer;
    EXPECT_EQ(weights.size(), 2u) << layer << ": one for the inputs, one for the states";
  }
}

TEST(Loops, ScansSayHowManyInputsTheyScan) {
  TestModel m;
  m.input("x", {"n", 2}).node("Scan", {"x"}, {"y"}).attr("body", graph_of("Neg", {"e"}, "r")).output("y");
  m.graph->mutable_node(0)->mutable_attribute(0)->mutable_g()->add_input()->set_name("e");
  expect_refused(m, ImportFailure::kBadModel, "its attribute `num_scan_inputs` is missing");
  m.attr("num_scan_inputs", 2);
  expect_refused(m, ImportFailure::kBadModel, "its attribute `num_scan_inputs` is wrong");
  m.last->mutable_attribute(1)->set_i(1);
  EXPECT_EQ(import_model(m).type, "Tensor[(n, 2), float32]") << import_model(m).messages;
}

// Joined in each step, all rows so far would be copied each time.
TEST(Loops, RowsAreJoinedBehindTheSteps) {
  TestModel m;
  m.input("x", {"n", 2}).node("Scan", {"x"}, {"y"}).attr("body", graph_of("Neg", {"e"}, "r")).output("y");
  m.graph->mutable_node(0)->mutable_attribute(0)->mutable_g()->add_input()->set_name("e");
  const Imported i = import_model(m.attr("num_scan_inputs", 1));
  ASSERT_TRUE(i.ok) << i.messages;
  const auto joins = [](Expr root) {
    size_t out = 0;
    for (Expr e : post_order(root)) out += op::callee(e) == &op::kConcatenate;
    return out;
  };
  const Expr body = i.module.function("main")->body;
  size_t loops = 0;
  for (Expr e : post_order(body)) {
    const auto* let = e->as<Let>();
    if (!let || !let->x->name.text().starts_with("loop")) continue;
    ++loops;
    EXPECT_EQ(joins(let->value), 0u);
  }
  EXPECT_EQ(loops, 1u);
  EXPECT_EQ(joins(body), 1u);
}

}  // namespace
}  // namespace relay::frontend
