// What operators of ai.onnx.ml and com.microsoft are refused for: a test for each family.
#include <gtest/gtest.h>

#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr auto kMl = "ai.onnx.ml", kMicrosoft = "com.microsoft";

TestModel node(const char* domain, const std::string& op, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs = {"y"}) {
  TestModel m(17);
  for (const auto& [name, version] : {std::pair(kMl, 3), std::pair(kMicrosoft, 1)}) {
    auto* set = m.proto.add_opset_import();
    set->set_domain(name);
    set->set_version(version);
  }
  m.input("x", {2, 4}).floats("w", {4}).node(op, inputs, outputs);
  m.last->set_domain(domain);
  for (const std::string& name : outputs) m.output(name);
  return m;
}

TestModel& floats(TestModel& m, const std::string& name, const std::vector<float>& values) {
  auto& a = m.attribute(name, ::onnx::AttributeProto::FLOATS);
  for (const float v : values) a.add_floats(v);
  return m;
}

TestModel& words(TestModel& m, const std::string& name, const std::vector<const char*>& values) {
  auto& a = m.attribute(name, ::onnx::AttributeProto::STRINGS);
  for (const char* v : values) a.add_strings(v);
  return m;
}

using Ints = std::vector<int64_t>;

// A tree of a node and two leaves.
TestModel tree(const std::string& op, const std::string& leaf, const Ints& yes = {1, 0, 0}) {
  TestModel m = op == "TreeEnsembleClassifier" ? node(kMl, op, {"x"}, {"y", "z"}) : node(kMl, op, {"x"});
  m.attr("nodes_treeids", Ints{0, 0, 0}).attr("nodes_nodeids", Ints{0, 1, 2});
  m.attr("nodes_featureids", Ints{0, 0, 0}).attr("nodes_truenodeids", yes);
  m.attr("nodes_falsenodeids", Ints{2, 0, 0});
  floats(m, "nodes_values", {0.5f, 0.f, 0.f});
  words(m, "nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"});
  m.attr(leaf + "_treeids", Ints{0, 0}).attr(leaf + "_nodeids", Ints{1, 2}).attr(leaf + "_ids", Ints{0, 0});
  floats(m, leaf + "_weights", {1.f, 2.f});
  return m;
}

TestModel regression(const Ints& yes = {1, 0, 0}) { return tree("TreeEnsembleRegressor", "target", yes); }

TEST(ContributedRefusal, TreesThatAreNone) {
  EXPECT_TRUE(import_model(regression().attr("n_targets", 1)).ok)
      << import_model(regression().attr("n_targets", 1)).messages;
  expect_refused(regression({0, 0, 0}).attr("n_targets", 1), ImportFailure::kBadModel,
                 "no way leads to one of them");
  expect_refused(regression({7, 0, 0}).attr("n_targets", 1), ImportFailure::kBadModel,
                 "node 0 of tree 0 leads to a node that does not exist");
  expect_refused(regression().attr("n_targets", 0), ImportFailure::kBadModel,
                 "number of targets is out of range");
  expect_refused(regression().attr("n_targets", int64_t{1} << 40), ImportFailure::kBadModel,
                 "number of targets is out of range");
  TestModel mode = regression().attr("n_targets", 1);
  for (auto& a : *mode.last->mutable_attribute()) {
    if (a.name() == "nodes_modes") a.set_strings(0, "BRANCH_MAYBE");
  }
  mode.last = mode.graph->mutable_node(0);
  expect_refused(mode, ImportFailure::kUnsupported, "nodes of mode `BRANCH_MAYBE` are not supported");
  TestModel feature = regression().attr("n_targets", 1);
  for (auto& a : *feature.last->mutable_attribute()) {
    if (a.name() == "nodes_featureids") a.set_ints(0, 4);
  }
  expect_refused(feature, ImportFailure::kBadModel, "a node compares feature 4 of 4");
  expect_refused(regression().attr("n_targets", 1).attr("post_transform", "LOGISTIC"),
                 ImportFailure::kUnsupported, "a post_transform of a single target is not supported");
}

// A way that leads from a node to itself, beside a root.
TEST(ContributedRefusal, TreesWithACycle) {
  TestModel m = node(kMl, "TreeEnsembleRegressor", {"x"}).attr("n_targets", 1);
  m.attr("nodes_treeids", Ints{0, 0, 0, 0}).attr("nodes_nodeids", Ints{0, 1, 2, 3});
  m.attr("nodes_featureids", Ints{0, 0, 0, 0});
  m.attr("nodes_truenodeids", Ints{1, 2, 1, 0}).attr("nodes_falsenodeids", Ints{3, 3, 3, 0});
  floats(m, "nodes_values", {0.f, 0.f, 0.f, 0.f});
  words(m, "nodes_modes", {"BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF"});
  m.attr("target_treeids", Ints{0}).attr("target_nodeids", Ints{3}).attr("target_ids", Ints{0});
  floats(m, "target_weights", {1.f});
  expect_refused(m, ImportFailure::kBadModel, "a way leads from a node to itself");
}

TEST(ContributedRefusal, ClassesOfTrees) {
  TestModel texts = tree("TreeEnsembleClassifier", "class");
  words(texts, "classlabels_strings", {"a", "b"});
  expect_refused(texts, ImportFailure::kUnsupported, "its labels are texts");
  TestModel one = tree("TreeEnsembleClassifier", "class").attr("classlabels_int64s", Ints{7});
  expect_refused(one, ImportFailure::kUnsupported, "a classifier with one label is not supported");
  TestModel both = tree("TreeEnsembleClassifier", "class").attr("classlabels_int64s", Ints{7, 8});
  for (auto& a : *both.last->mutable_attribute()) {
    if (a.name() == "class_ids") a.set_ints(1, 1);
  }
  expect_refused(both, ImportFailure::kUnsupported, "labels of two classes with weights for both");
}

TEST(ContributedRefusal, FeaturesAndLabels) {
  expect_refused(node(kMl, "CastMap", {"x"}), ImportFailure::kUnsupported, "maps are not supported");
  expect_refused(node(kMl, "CategoryMapper", {"x"}), ImportFailure::kUnsupported, "texts are not supported");
  expect_refused(node(kMl, "Normalizer", {"x"}).attr("norm", "L9"), ImportFailure::kBadModel,
                 "its attribute `norm` is none of MAX, L1 and L2");
  TestModel scaler = node(kMl, "Scaler", {"x"});
  floats(scaler, "scale", {1.f, 2.f});
  floats(scaler, "offset", {1.f, 2.f});
  expect_refused(scaler, ImportFailure::kBadModel, "its attribute `offset` has 2 numbers for 4 features");
  TestModel labels = node(kMl, "LabelEncoder", {"x"}).attr("keys_int64s", Ints{1, 2});
  words(labels, "values_strings", {"a", "b"});
  expect_refused(labels, ImportFailure::kUnsupported, "its labels are texts");
  expect_refused(node(kMl, "OneHotEncoder", {"x"}).attr("cats_int64s", Ints{3, 3}),
                 ImportFailure::kUnsupported, "it has a category twice");
}

TEST(ContributedRefusal, LinearModelsAndSupportVectors) {
  TestModel linear = node(kMl, "LinearRegressor", {"x"}).attr("targets", 3);
  floats(linear, "coefficients", {1.f, 2.f});
  expect_refused(linear, ImportFailure::kBadModel, "has not as many numbers for each result");
  TestModel wide = node(kMl, "LinearRegressor", {"x"}).attr("targets", 3);
  floats(wide, "coefficients", std::vector<float>(6, 1.f));
  expect_refused(
      wide, ImportFailure::kBadModel,
      "its attribute `coefficients` has 2 numbers for each of 3 results, but its input has 4 columns");
  TestModel two = node(kMl, "SVMClassifier", {"x"}, {"y", "z"}).attr("classlabels_ints", Ints{1, 2});
  expect_refused(two, ImportFailure::kUnsupported, "two classes without support vectors are not supported");
  // 180,000 pairs of 600 classes: a table of pairs and classes would take 400 MB.
  constexpr size_t kClasses = 600;
  Ints labels(kClasses), vectors(kClasses, 0);
  std::iota(labels.begin(), labels.end(), 0);
  vectors[0] = 1;
  TestModel many = node(kMl, "SVMClassifier", {"x"}, {"y", "z"}).attr("classlabels_ints", labels);
  many.attr("vectors_per_class", vectors);
  floats(many, "coefficients", std::vector<float>(kClasses - 1, 1.f));
  floats(many, "rho", std::vector<float>(kClasses * (kClasses - 1) / 2, 0.f));
  floats(many, "support_vectors", {1.f, 2.f, 3.f, 4.f});
  expect_refused(many, ImportFailure::kUnsupported, "600 classes with 1 support vectors are too many");
  TestModel kernel = node(kMl, "SVMRegressor", {"x"}).attr("kernel_type", "CUBE");
  expect_refused(kernel, ImportFailure::kBadModel, "its attribute `kernel_type` is none of");
}

TEST(ContributedRefusal, ProductsAndConvolutions) {
  expect_refused(node(kMicrosoft, "GemmFloat8", {"x", "x"}).attr("transB", 1).attr("dtype", 6),
                 ImportFailure::kBadModel, "its attribute `dtype` is no floating-point type");
  expect_refused(node(kMicrosoft, "GemmFloat8", {"x", "x", "", "w"}).attr("transB", 1),
                 ImportFailure::kBadModel, "its scales must be one number each");
  expect_refused(node(kMicrosoft, "FusedGemm", {"x", "x"}).attr("transB", 1).attr("activation", "Cube"),
                 ImportFailure::kUnsupported, "activation `Cube` is not supported");
  TestModel bits = node(kMicrosoft, "MatMulNBits", {"x", "x", "x"}).attr("N", 1).attr("K", 4);
  expect_refused(TestModel(bits).attr("block_size", 16).attr("bits", 3), ImportFailure::kUnsupported,
                 "3 bits are not supported");
  expect_refused(bits.attr("block_size", 7), ImportFailure::kBadModel, "block_size are out of range");
  TestModel few = node(kMicrosoft, "MatMulNBits", {"x", "q", "x", "", "w"}).attr("N", 1).attr("K", 8);
  few.input("q", {1, 1, 8}, ::onnx::TensorProto::UINT8);
  expect_refused(few.attr("block_size", 16), ImportFailure::kBadModel, "`g_idx` must be a list of int32");
  TestModel bnb = node(kMicrosoft, "MatMulBnb4", {"x", "q", "w"}).attr("N", 2).attr("K", 4);
  bnb.input("q", {4}, ::onnx::TensorProto::UINT8);
  expect_refused(bnb.attr("block_size", 16).attr("quant_type", 2), ImportFailure::kBadModel,
                 "`quant_type` is neither 0 (FP4) nor 1 (NF4)");
  expect_refused(node(kMicrosoft, "Inverse", {"x"}), ImportFailure::kBadModel, "its matrices are not square");
  expect_refused(node(kMicrosoft, "CDist", {"x", "x"}).attr("metric", "cosine"), ImportFailure::kBadModel,
                 "its attribute `metric` is neither");
  expect_refused(node(kMicrosoft, "ConvTransposeWithDynamicPads", {"x", "x"}), ImportFailure::kBadModel,
                 "needs batch, channels and at least one more");
  // Its pads are an input, which nothing else may decide.
  for (const char* decided : {"output_shape", "pads"}) {
    expect_refused(node(kMicrosoft, "ConvTransposeWithDynamicPads", {"x", "x"}).attr(decided, Ints{1, 1}),
                   ImportFailure::kBadModel, cat("has no attribute `", decided, "`"));
  }
  expect_refused(node(kMicrosoft, "Gelu", {"x"}).attr("mood", 1), ImportFailure::kBadModel,
                 "the operator has no attribute `mood`");
}

TEST(ContributedRefusal, GatherBlockQuantized) {
  const auto gather = [](const char* data) {
    TestModel m = node(kMicrosoft, "GatherBlockQuantized", {data, "i", "s"}).attr("block_size", 16);
    m.input("q", {2, 20}, ::onnx::TensorProto::UINT8).input("s", {2, 2}).input("long", {2, 3});
    return m.input("i", {3}, ::onnx::TensorProto::INT64);
  };
  expect_refused(gather("x"), ImportFailure::kUnsupported, "its data are neither uint8, int4, uint4, float8");
  expect_refused(gather("q").attr("bits", 3), ImportFailure::kBadModel,
                 "its attribute `bits` is not 2, 4 or 8");
  expect_refused(gather("q").attr("gather_axis", 1), ImportFailure::kUnsupported, "whole rows are gathered");
  expect_refused(gather("q"), ImportFailure::kBadModel,
                 "an axis of 40 in blocks of 16 needs 3 scales, not 2");
  expect_refused(gather("q").attr("bits", 8).attr("quantize_axis", 2), ImportFailure::kBadModel, "axis");
}

TEST(ContributedRefusal, Attention) {
  TestModel m = node(kMicrosoft, "RotaryEmbedding", {"x", "x", "x", "x"}).attr("is_packed_batching", 1);
  expect_refused(m, ImportFailure::kUnsupported, "is_packed_batching=1 is not supported");
  TestModel heads(17);
  heads.proto.add_opset_import()->set_domain(kMicrosoft);
  heads.proto.mutable_opset_import(1)->set_version(1);
  heads.input("q", {1, 2, 6})
      .node("MultiHeadAttention", {"q", "q", "q"}, {"y"})
      .attr("num_heads", 4)
      .output("y");
  heads.last->set_domain(kMicrosoft);
  expect_refused(heads, ImportFailure::kBadModel, "cannot be divided into 4 heads");
  TestModel past = node(kMicrosoft, "GroupQueryAttention", {"x", "x", "x", "", "", "x", "x"});
  expect_refused(past.attr("num_heads", 3).attr("kv_num_heads", 2), ImportFailure::kBadModel,
                 "cannot share its heads of keys");
  TestModel experts = node(kMicrosoft, "MoE", {"x", "x", "x", "", "x"}).attr("use_sparse_mixer", 1);
  expect_refused(experts, ImportFailure::kUnsupported, "use_sparse_mixer=1 is not supported");
}

TEST(Contributed, MapsBecomeTensorsAndTheUserIsTold) {
  TestModel m = node(kMl, "ZipMap", {"x"}).attr("classlabels_int64s", Ints{1, 2, 3, 4});
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, "Tensor[(2, 4), float32]");
  EXPECT_NE(i.messages.find("imported as the tensor of their values"), std::string::npos) << i.messages;
}

}  // namespace
}  // namespace relay::frontend
