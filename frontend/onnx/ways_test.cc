// What is wrong on one way only: the model is imported, and a run that takes the way fails.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"
#include "ir/traverse.h"

namespace relay::frontend {
namespace {

::onnx::GraphProto graph_of(const std::string& op, const std::vector<std::string>& inputs) {
  ::onnx::GraphProto g;
  ::onnx::NodeProto& n = *g.add_node();
  n.set_op_type(op);
  n.set_name("inner_" + op);
  for (const std::string& i : inputs) n.add_input(i);
  n.add_output("of_" + op);
  g.add_output()->set_name("of_" + op);
  return g;
}

// `y` is x with an axis before the others, or the negative of x, as the input `c` says.
TestModel deeper_or_not() {
  TestModel m;
  m.input("x", {2, 3}).input("c", {}, ::onnx::TensorProto::BOOL).ints("axis", {0});
  m.node("If", {"c"}, {"y"}).attr("then_branch", graph_of("Unsqueeze", {"x", "axis"}));
  m.attr("else_branch", graph_of("Neg", {"x"}));
  return m;
}

size_t traps(const Imported& i) {
  size_t out = 0;
  for (Expr e : post_order(i.module.function("main")->body)) out += e->kind == ExprKind::kMatch;
  return out;
}

void expect_warned(const TestModel& m, const std::string& type,
                   std::initializer_list<std::string_view> said) {
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, type);
  EXPECT_EQ(traps(i), 1u);
  EXPECT_EQ(i.module.kernels().size(), 1u);
  for (const std::string_view part : said)
    EXPECT_NE(i.messages.find(part), std::string::npos) << i.messages << " <- " << part;
  EXPECT_EQ(i.messages.find("error:"), std::string::npos) << i.messages;
}

TEST(Ways, ThatAreInvalidAfterABranch) {
  // Multiplying matrices needs two axes, and three where the first is a batch: only that way fits.
  TestModel m = deeper_or_not();
  m.floats("w", {1, 4, 3}).floats("r", {1, 4, 1}).node("LSTM", {"y", "w", "r"}, {"z"}).output("z");
  expect_warned(m, "Tensor[(1, 1, 2, 1), float32]",
                {"warning: `LSTM` (node `the_LSTM`): its input must have three dimensions [onnx-invalid]",
                 "input `c` says which branch is taken", "a run that needs the result fails"});
}

TEST(Ways, ThatAreNotSupportedInABranch) {
  TestModel m;
  m.input("x", {1, 4}).input("c", {}, ::onnx::TensorProto::BOOL);
  ::onnx::GraphProto window = graph_of("LRN", {"x"});
  ::onnx::AttributeProto& size = *window.mutable_node(0)->add_attribute();
  size.set_name("size");
  size.set_type(::onnx::AttributeProto::INT);
  size.set_i(2);
  m.node("If", {"c"}, {"y"}).attr("then_branch", window).attr("else_branch", graph_of("Neg", {"x"}));
  m.output("y");
  expect_warned(m, "Tensor[(1, 4), float32]", {"warning: `LRN` (node `inner_LRN`): an even window"});
}

TEST(Ways, ThatFailWithinAnotherBranch) {
  // Of three ways one fails.
  TestModel inner;
  inner.node("If", {"d"}, {"y"}).attr("then_branch", graph_of("Unsqueeze", {"x"}));
  inner.attr("else_branch", graph_of("Neg", {"x"})).output("y");
  TestModel m;
  for (const char* condition : {"c", "d"}) m.input(condition, {}, ::onnx::TensorProto::BOOL);
  m.input("x", {2}).node("If", {"c"}, {"z"}).attr("then_branch", *inner.graph);
  m.attr("else_branch", graph_of("Exp", {"x"})).output("z");
  expect_warned(m, "Tensor[(2), float32]",
                {"input `c` says which branch is taken", "input `d` says which branch is taken"});
}

TEST(Ways, ThatAreAllInvalidRefuseTheModel) {
  // In the branches, and after them: each is reported with its place.
  TestModel m;
  m.input("x", {2, 3}).input("c", {}, ::onnx::TensorProto::BOOL);
  m.node("If", {"c"}, {"y"}).attr("then_branch", graph_of("Unsqueeze", {"x"}));
  m.attr("else_branch", graph_of("DepthToSpace", {"x"})).output("y");
  expect_refused(m, ImportFailure::kBadModel, "error: `Unsqueeze` (node `inner_Unsqueeze`)");
  expect_refused(m, ImportFailure::kBadModel, "error: `DepthToSpace` (node `inner_DepthToSpace`)");
  TestModel after = deeper_or_not();
  after.floats("w", {1, 4, 3}).floats("r", {1, 8, 1}).node("LSTM", {"y", "w", "r"}, {"z"}).output("z");
  expect_refused(after, ImportFailure::kBadModel, "error: `LSTM` (node `the_LSTM`)");
}

// Each of two results fails on another way. They meet in between, so each has its warning.
TEST(Ways, ThatFailOneAfterTheOther) {
  TestModel m = deeper_or_not();
  m.floats("w", {1, 4, 3}).floats("r", {1, 4, 1}).node("LSTM", {"y", "w", "r"}, {"z"});
  m.node("If", {"c"}, {"v"}).attr("then_branch", graph_of("Det", {"y"}));
  m.attr("else_branch", graph_of("Neg", {"y"})).output("z").output("v");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(traps(i), 2u);
  for (const char* said : {"warning: `LSTM` (node `the_LSTM`)", "warning: `Det` (node `inner_Det`)"})
    EXPECT_NE(i.messages.find(said), std::string::npos) << i.messages;
}

// A result that nobody needs is no reason to fail.
TEST(Ways, ThatAreNotNeededDoNotFail) {
  TestModel m = deeper_or_not();
  m.floats("w", {1, 4, 3}).floats("r", {1, 4, 1}).node("LSTM", {"y", "w", "r"}, {"z"});
  m.node("ReduceMax", {"y"}, {"u"}).attr("keepdims", 0).output("u");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(traps(i), 0u);
  EXPECT_TRUE(i.module.kernels().empty());
}

// Names that do not exist are mistakes of the model, whichever way a run takes.
TEST(Ways, DoNotExcuseABrokenGraph) {
  TestModel m;
  m.input("x", {2, 3}).input("c", {}, ::onnx::TensorProto::BOOL);
  m.node("If", {"c"}, {"y"}).attr("then_branch", graph_of("Neg", {"nothing"}));
  m.attr("else_branch", graph_of("Exp", {"x"})).output("y");
  expect_refused(m, ImportFailure::kBadModel, "it uses `nothing`, which nothing before it defines");
}

}  // namespace
}  // namespace relay::frontend
