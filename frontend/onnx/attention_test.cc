// Attention, FlexAttention, RotaryEmbedding, LinearAttention and CausalConvWithState: the types of
// their results, with open axes too, and what is refused.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr int kBoolCode = ::onnx::TensorProto::BOOL, kInt64Code = ::onnx::TensorProto::INT64;

void expect_type(const TestModel& m, const std::string& type) {
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, type);
}

TestModel flat_attention(int64_t opset = 23) {
  TestModel m(opset);
  m.input("q", {"b", "s", 24}).input("k", {"b", "t", 12}).input("v", {"b", "t", 20});
  m.node("Attention", {"q", "k", "v"}, {"y"}).attr("q_num_heads", 4).attr("kv_num_heads", 2).output("y");
  return m;
}

TEST(Attention, SplitsHeadsOfOpenSequences) {
  expect_type(flat_attention(), "Tensor[(b, s, 40), float32]");
  TestModel width(23);
  width.input("q", {"b", "s", "w"}).node("Attention", {"q", "q", "q"}, {"y"}).output("y");
  width.attr("q_num_heads", 2).attr("kv_num_heads", 2);
  expect_type(width, "Tensor[(b, s, 2*(w // 2)), float32]");
  TestModel causal = flat_attention();
  causal.attr("is_causal", 1);
  expect_type(causal, "Tensor[(b, s, 40), float32]");
}

TEST(Attention, KeepsKeysAndValuesOfEarlierSteps) {
  TestModel m(23);
  m.input("q", {2, 4, "s", 8}).input("k", {2, 4, "s", 8}).input("v", {2, 4, "s", 6});
  m.input("pk", {2, 4, "p", 8}).input("pv", {2, 4, "p", 6});
  m.node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv", "scores"}).attr("is_causal", 1);
  m.output("y").output("nk").output("nv").output("scores");
  expect_type(m,
              "(Tensor[(2, 4, s, 6), float32], Tensor[(2, 4, p + s, 8), float32], Tensor[(2, 4, p + s, 6), "
              "float32], Tensor[(2, 4, s, p + s), float32])");
}

TEST(Attention, PadsAMaskOfAnExternalCache) {
  TestModel m(24);
  m.input("q", {2, 4, 3, 8}).input("k", {2, 4, 6, 8}).input("v", {2, 4, 6, 8});
  m.input("mask", {3, 4}, kBoolCode).input("lengths", {2}, kInt64Code);
  m.node("Attention", {"q", "k", "v", "mask", "", "", "lengths"}, {"y"}).attr("is_causal", 1).output("y");
  expect_type(m, "Tensor[(2, 4, 3, 8), float32]");
  m.graph->mutable_input(3)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(1);
  expect_refused(m, ImportFailure::kUnsupported, "its mask has one key");
}

TEST(Attention, RefusesWhatContradictsItself) {
  TestModel precision = flat_attention();
  precision.attr("softmax_precision", (int64_t{1} << 32) + 1);  // FLOAT, if the high bits were cut off
  expect_refused(precision, ImportFailure::kBadModel, "its attribute `softmax_precision` names no float");
  TestModel heads = flat_attention();
  heads.last->mutable_attribute(0)->set_i(5);
  expect_refused(heads, ImportFailure::kBadModel,
                 "the width of its queries, 24, cannot be divided into 5 heads");
  TestModel shared = flat_attention();
  shared.last->mutable_attribute(0)->set_i(3);
  expect_refused(shared, ImportFailure::kBadModel, "its 3 heads of queries cannot share 2 heads of keys");
  TestModel past = flat_attention();
  past.input("p", {1, 2, 3, 6}).last->add_input("");
  past.last->add_input("p");
  expect_refused(past, ImportFailure::kBadModel, "past_key and past_value come together");
  TestModel scale = flat_attention();
  scale.attribute("scale", ::onnx::AttributeProto::FLOAT).set_f(0);
  expect_refused(scale, ImportFailure::kBadModel, "its attribute `scale` is 0");
}

TestModel flex(const char* op) {
  TestModel m(23);
  auto* set = m.proto.add_opset_import();
  set->set_domain("ai.onnx.preview");
  set->set_version(1);
  ::onnx::GraphProto graph;
  TestModel::declare(*graph.add_input(), "scores", {}, ::onnx::TensorProto::FLOAT);
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.add_input("scores");
  node.add_output("changed");
  graph.add_output()->set_name("changed");
  m.input("q", {1, 2, "s", 8}).node("FlexAttention", {"q", "q", "q"}, {"y"}).output("y");
  m.last->set_domain("ai.onnx.preview");
  m.attr("score_mod", graph);
  return m;
}

TEST(FlexAttention, TakesGraphsThatKeepTheType) {
  expect_type(flex("Abs"), "Tensor[(1, 2, s, 8), float32]");
  expect_refused(flex("IsNaN"), ImportFailure::kBadModel, "its graph `score_mod` must keep rank and dtype");
}

TEST(RotaryEmbedding, TurnsPairsOfHeads) {
  TestModel flat(23);
  flat.input("x", {"b", "s", 24}).input("c", {50, 2}).input("at", {"b", "s"}, kInt64Code);
  flat.node("RotaryEmbedding", {"x", "c", "c", "at"}, {"y"}).attr("num_heads", 4);
  flat.attr("rotary_embedding_dim", 4).output("y");
  expect_type(flat, "Tensor[(b, s, 24), float32]");
  TestModel heads(23);
  heads.input("x", {1, 4, "s", 6}).input("c", {1, "s", 3});
  heads.node("RotaryEmbedding", {"x", "c", "c"}, {"y"}).attr("interleaved", 1).output("y");
  expect_type(heads, "Tensor[(1, 4, s, 6), float32]");
}

TEST(RotaryEmbedding, RefusesCachesOfAnotherSize) {
  TestModel m(23);
  m.input("x", {1, 4, 5, 6})
      .input("c", {1, 5, 2})
      .node("RotaryEmbedding", {"x", "c", "c"}, {"y"})
      .output("y");
  expect_refused(m, ImportFailure::kBadModel, "its caches have 2 angles for 6 elements");
}

TestModel linear(const TestDim& steps) {
  TestModel m(27);
  m.input("q", {"b", steps, 16}).input("k", {"b", steps, 8}).input("v", {"b", steps, 6});
  m.input("g", {"b", steps, 2}).input("beta", {"b", steps, 2});
  m.node("LinearAttention", {"q", "k", "v", "", "g", "beta"}, {"y", "state"});
  m.attr("q_num_heads", 4).attr("kv_num_heads", 2).output("y").output("state");
  return m;
}

TEST(LinearAttention, WritesItsStepsOutOrLoops) {
  expect_type(linear(3), "(Tensor[(b, 3, 12), float32], Tensor[(b, 2, 4, 3), float32])");
  expect_type(linear("s"), "(Tensor[(b, s, 12), float32], Tensor[(b, 2, 4, 3), float32])");
}

TEST(LinearAttention, ComparesItsInputsWithItsRule) {
  TestModel rule = linear(3);
  rule.attr("update_rule", "linear");
  expect_refused(rule, ImportFailure::kBadModel, "its rule linear has no decay");
  TestModel width(27);
  width.input("q", {1, 2, "w"}).node("LinearAttention", {"q", "q", "q"}, {"y", "state"}).output("y");
  width.attr("q_num_heads", 2).attr("kv_num_heads", 2).attr("update_rule", "linear");
  expect_type(width, "Tensor[(1, 2, 2*(w // 2)), float32]");
  width.input("k", {1, 2, 6}).last->set_input(1, "k");
  width.input("k4", {1, 2, 4}).last->set_input(0, "k4");
  expect_refused(width, ImportFailure::kBadModel, "its queries and keys have other sizes");
}

TEST(CausalConvWithState, KeepsTheLastElements) {
  TestModel m(27);
  m.input("x", {"b", 4, "s"}).input("w", {4, 1, 3}).input("past", {"b", 4, 2});
  m.node("CausalConvWithState", {"x", "w", "", "past"}, {"y", "present"}).attr("activation", "silu");
  m.output("y").output("present");
  expect_type(m, "(Tensor[(b, 4, s), float32], Tensor[(b, 4, 2), float32])");
  m.last->mutable_attribute(0)->set_s("relu");
  expect_refused(m, ImportFailure::kBadModel, "its attribute `activation` is unknown");
}

}  // namespace
}  // namespace relay::frontend
