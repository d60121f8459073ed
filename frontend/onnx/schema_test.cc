// What each version of an operator takes: attributes that it lacks, inputs that it does not have
// and operators that ONNX removed are refused by name.
#include "frontend/onnx/schema.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

TestModel one(int64_t opset, const std::string& op, const std::vector<std::string>& inputs = {"x"}) {
  TestModel m(opset);
  m.input("x", {1, 4});
  m.node(op, inputs, {"y"}).output("y");
  return m;
}

TEST(Schema, IsThatOfTheVersion) {
  ASSERT_NE(find_schema("Clip", 6), nullptr);
  EXPECT_NE(find_schema("Clip", 10)->find("min"), nullptr);
  EXPECT_EQ(find_schema("Clip", 11)->find("min"), nullptr);
  EXPECT_EQ(find_schema("Clip", 11)->most_inputs, 3u);
  EXPECT_EQ(find_schema("Concat", 28)->most_inputs, SIZE_MAX);
  EXPECT_EQ(find_schema("Mish", 17), nullptr);
  EXPECT_EQ(find_schema("Frobnicate", 17), nullptr);
  EXPECT_NE(find_schema("com.microsoft.QLinearAdd", 1), nullptr);
  EXPECT_EQ(find_schema("com.example.QLinearAdd", 1), nullptr);
  EXPECT_TRUE(find_schema("Upsample", 28)->removed);
  EXPECT_EQ(newest_version(""), 28);
  EXPECT_EQ(newest_version("com.microsoft"), 1);
  EXPECT_EQ(newest_version("com.example"), 0);
}

TEST(Schema, TableIsSorted) {
  const auto before = [](const Schema& a, const Schema& b) {
    return a.name != b.name ? a.name < b.name : a.since < b.since;
  };
  EXPECT_TRUE(std::is_sorted(all_schemas().begin(), all_schemas().end(), before));
  EXPECT_GT(all_schemas().size(), 300u);
}

// A row for a version in which ONNX does not have the operator would never be taken.
TEST(Schema, RowsBeginWhereTheOperatorDoes) {
  for (const Row& row : all_rows()) {
    const bool of_onnx = row.name.find('.') == std::string_view::npos;
    EXPECT_TRUE(!of_onnx || find_schema(row.name, row.since)) << row.name << " " << row.since;
  }
}

TEST(Schema, AnUnknownAttributeIsRefused) {
  expect_refused(one(13, "Softmax").attr("axes", 1), ImportFailure::kBadModel,
                 "version 13 of the operator has no attribute `axes`");
  expect_refused(one(13, "Softmax").attr("axes", 1), ImportFailure::kBadModel, "the attributes are axis");
  expect_refused(one(13, "Relu").attr("alpha", 1), ImportFailure::kBadModel,
                 "the operator has no attributes");
}

TEST(Schema, AnAttributeOfAnotherVersionIsRefused) {
  TestModel later = one(9, "MaxPool");
  later.attr("kernel_shape", std::vector<int64_t>{2}).attr("ceil_mode", 1);
  expect_refused(later, ImportFailure::kBadModel,
                 "versions with this attribute begin at 10 of the operator set");
  TestModel earlier = one(11, "Clip");
  earlier.attribute("min", ::onnx::AttributeProto::FLOAT).set_f(0);
  expect_refused(earlier, ImportFailure::kBadModel, "version 11 of the operator has no attribute `min`");
}

// The default says nothing new, also where nothing reads it.
TEST(Schema, ADefaultIsNoReasonToRefuse) {
  const SchemaAttribute& saturate = *find_schema("Cast", 19)->find("saturate");
  ::onnx::AttributeProto given;
  given.set_i(1);
  EXPECT_TRUE(saturate.is_default(given));
  given.set_i(0);
  EXPECT_FALSE(saturate.is_default(given));
  given.set_f(0.01f);
  EXPECT_TRUE(find_schema("LeakyRelu", 16)->find("alpha")->is_default(given));
  given.set_s("NOTSET");
  EXPECT_TRUE(find_schema("Conv", 11)->find("auto_pad")->is_default(given));
  EXPECT_FALSE(find_schema("Conv", 11)->find("pads")->is_default(given));
}

TEST(Schema, AttributesOfOtherDomainsAreReadOrRefused) {
  TestModel m = one(13, "QLinearConcat", {"s", "z", "q", "s", "z"});
  m.proto.add_opset_import()->set_domain("com.microsoft");
  m.proto.mutable_opset_import(1)->set_version(1);
  m.last->set_domain("com.microsoft");
  m.floats("s", {}, 1).input("q", {2}, ::onnx::TensorProto::UINT8).input("z", {}, ::onnx::TensorProto::UINT8);
  m.attr("axis", 0);
  EXPECT_TRUE(import_model(m).ok) << import_model(m).messages;
  m.attr("mood", 1);
  expect_refused(m, ImportFailure::kBadModel, "the operator has no attribute `mood`");
}

TEST(Schema, AMissingAttributeIsRefused) {
  expect_refused(one(13, "Concat", {"x", "x"}), ImportFailure::kBadModel, "its attribute `axis` is missing");
}

TEST(Schema, InputsAndOutputsAreCounted) {
  expect_refused(one(13, "Relu", {"x", "x"}), ImportFailure::kBadModel,
                 "it has 2 inputs, and the operator takes at most 1");
  expect_refused(one(9, "Clip", {"x", "x"}), ImportFailure::kBadModel, "this is version 9");
  expect_refused(one(13, "Add"), ImportFailure::kBadModel, "its input 1 is missing");
  EXPECT_TRUE(import_model(one(13, "Relu", {"x", ""})).ok);
  TestModel two(13);
  two.input("x", {4}).node("Relu", {"x"}, {"y", "z"}).output("y");
  expect_refused(two, ImportFailure::kBadModel, "it has 2 outputs, and the operator makes at most 1");
}

// What converts these asks for the name of their first output.
TEST(Schema, ANodeWithoutOutputsIsRefused) {
  const auto refused = [](const std::string& op, const std::vector<std::string>& inputs) {
    SCOPED_TRACE(op);
    TestModel m(17);
    m.input("x", {4}).input("n", {1}, ::onnx::TensorProto::INT64).node(op, inputs, {}).output("x");
    expect_refused(m, ImportFailure::kBadModel, "it has no outputs");
  };
  refused("Tile", {"x", "n"});
  refused("Expand", {"x", "n"});
  refused("NonZero", {"x"});
  refused("SequenceEmpty", {});
  refused("If", {"x"});
}

TEST(Schema, ARemovedOperatorIsRefused) {
  TestModel m(10);
  m.input("x", {1, 1, 2, 2}).floats("s", {4}, 1).node("Upsample", {"x", "s"}, {"y"}).output("y");
  expect_refused(m, ImportFailure::kUnsupported, "ONNX removed `Upsample` in version 10 of the operator set");
}

TEST(Schema, AnOperatorOfALaterVersionIsRefused) {
  expect_refused(one(17, "Mish"), ImportFailure::kUnsupported,
                 "`Mish` is supported from version 18 of the operator set on");
}

TEST(Schema, ANewerOperatorSetIsRefused) {
  expect_refused(one(29, "Relu"), ImportFailure::kUnsupported, "version 29 of ONNX's operator set; 1 to 28");
  TestModel other = one(13, "Relu");
  other.proto.add_opset_import()->set_domain("ai.onnx.ml");
  other.proto.mutable_opset_import(1)->set_version(99);
  expect_refused(other, ImportFailure::kUnsupported, "version 99 of ONNX's operator set `ai.onnx.ml`");
}

TEST(Schema, ListsWhatCanBeImported) {
  const std::vector<ImportableOperator> all = importable_operators();
  const auto find = [&](std::string_view name) {
    return *std::find_if(all.begin(), all.end(), [&](const auto& op) { return op.name == name; });
  };
  EXPECT_EQ(find("Upsample").until, 9);
  EXPECT_EQ(find("Slice").since, 1);
  EXPECT_EQ(find("Slice").until, 28);
  EXPECT_EQ(find("LRN").refuses, "an even size");
  EXPECT_EQ(find("com.microsoft.QLinearAdd").until, 1);
  EXPECT_EQ(find("StringConcat").since, 20);
  EXPECT_EQ(find("StringConcat").refuses.find("all forms: tensors of strings"), 0u);
  EXPECT_EQ(find("ai.onnx.preview.training.Gradient").refuses.find("all forms: it names tensors"), 0u);
}

}  // namespace
}  // namespace relay::frontend
