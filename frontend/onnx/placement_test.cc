// Operators that put elements elsewhere, read their bits or count them: CenterCropPad, Col2Im,
// TensorScatter, BitCast, TfIdfVectorizer, Det.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

constexpr int kInt32Code = ::onnx::TensorProto::INT32, kInt64Code = ::onnx::TensorProto::INT64;

void expect_type(const TestModel& m, const std::string& type) {
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  EXPECT_EQ(i.type, type);
}

TEST(CenterCropPad, CutsAndPadsOpenAxes) {
  TestModel m(18);
  m.input("x", {"n", 5, 4}).ints("shape", {3, 7}).node("CenterCropPad", {"x", "shape"}, {"y"});
  m.attr("axes", std::vector<int64_t>{-3, 1}).output("y");
  expect_type(m, "Tensor[(3, 7, 4), float32]");
  m.last->mutable_attribute(0)->set_ints(1, 0);
  expect_refused(m, ImportFailure::kBadModel, "its axes name one twice");
}

TEST(CenterCropPad, TakesAShapeOfTheData) {
  TestModel m(18);
  m.input("x", {4, 4})
      .input("shape", {2}, kInt64Code)
      .node("CenterCropPad", {"x", "shape"}, {"y"})
      .output("y");
  expect_type(m, "Tensor[(?, ?), float32]");
}

TestModel columns(int elements, int blocks) {
  TestModel m(18);
  m.input("x", {"n", elements, blocks}).ints("image", {5, 5}).ints("block", {1, 5});
  m.node("Col2Im", {"x", "image", "block"}, {"y"}).output("y");
  return m;
}

TEST(Col2Im, PutsBlocksIntoImages) {
  expect_type(columns(10, 5), "Tensor[(n, 2, 5, 5), float32]");
  expect_refused(columns(10, 4), ImportFailure::kBadModel, "its input has 4 blocks, and its image has 5");
  expect_refused(columns(9, 5), ImportFailure::kBadModel, "another number of elements than its columns");
  TestModel large = columns(10, 5);  // its padded extent would overflow
  large.graph->mutable_initializer(0)->set_int64_data(0, INT64_MAX);
  expect_refused(large, ImportFailure::kBadModel, "its image or its blocks are empty or too large");
}

TEST(Col2Im, TakesShapesThatARunTells) {
  TestModel m(18);
  m.input("x", {"n", 10, "l"}).input("image", {2}, kInt64Code).ints("block", {1, 5});
  m.node("Col2Im", {"x", "image", "block"}, {"y"}).output("y");
  expect_type(m, "Tensor[(n, ?, ?, ?), float32]");
  TestModel lines(18);
  lines.input("x", {"n", 10, "l"}).input("image", {1}, kInt64Code).ints("block", {1, 5});
  lines.node("Col2Im", {"x", "image", "block"}, {"y"}).output("y");
  expect_refused(lines, ImportFailure::kBadModel, "its image and its blocks have another number of axes");
}

TEST(TensorScatter, WritesIntoACache) {
  TestModel m(24);
  m.input("cache", {"b", 2, "room", 4}).input("update", {"b", 2, "s", 4}).input("at", {"b"}, kInt64Code);
  m.node("TensorScatter", {"cache", "update", "at"}, {"y"}).attr("mode", "circular").output("y");
  expect_type(m, "Tensor[(b, 2, room, 4), float32]");
  m.last->mutable_input()->RemoveLast();
  expect_type(m, "Tensor[(b, 2, room, 4), float32]");
  m.attr("axis", 0);
  expect_refused(m, ImportFailure::kBadModel, "its axis must not be that of the batch");
}

TestModel bits(int from, int to) {
  TestModel m(26);
  m.input("x", {3}, from).node("BitCast", {"x"}, {"y"}).attr("to", to).output("y");
  return m;
}

TEST(BitCast, ReadsBitsOfNumbersAndConstants) {
  expect_type(bits(kInt32Code, ::onnx::TensorProto::UINT32), "Tensor[(3), uint32]");
  TestModel constant(26);
  constant.floats("x", {2}, 1).node("BitCast", {"x"}, {"y"}).attr("to", kInt32Code).output("y");
  expect_type(constant, "Tensor[(2), int32]");
  expect_type(bits(::onnx::TensorProto::FLOAT, kInt32Code), "Tensor[(3), int32]");
  expect_refused(bits(kInt64Code, kInt32Code), ImportFailure::kBadModel,
                 "it reads elements of 64 bits as INT32, which has 32");
}

TestModel grams() {
  TestModel m(9);
  m.input("x", {"n", 12}, kInt32Code).node("TfIdfVectorizer", {"x"}, {"y"}).attr("mode", "TF").output("y");
  m.attr("min_gram_length", 2).attr("max_gram_length", 2).attr("max_skip_count", 1);
  m.attr("ngram_counts", std::vector<int64_t>{0, 2}).attr("ngram_indexes", std::vector<int64_t>{0, 1, 2, 3});
  m.attr("pool_int64s", std::vector<int64_t>{2, 3, 5, 4, 5, 6});
  return m;
}

TEST(TfIdfVectorizer, CountsPairs) {
  expect_type(grams(), "Tensor[(n, 4), float32]");
  TestModel twice = grams();
  twice.last->mutable_attribute(6)->set_ints(4, 5);
  twice.last->mutable_attribute(6)->set_ints(5, 4);
  expect_refused(twice, ImportFailure::kBadModel, "its list has one n-gram twice");
  TestModel mode = grams();
  mode.last->mutable_attribute(0)->set_s("BM25");
  expect_refused(mode, ImportFailure::kBadModel, "its attribute `mode` must be TF, IDF or TFIDF");
}

// A model of 17 kB would become 10^6 nodes.
TEST(TfIdfVectorizer, RefusesManyLengthsWithManySkips) {
  TestModel m(9);
  m.input("x", {9999}, kInt32Code).node("TfIdfVectorizer", {"x"}, {"y"}).attr("mode", "TF").output("y");
  m.attr("min_gram_length", 1).attr("max_gram_length", 64).attr("max_skip_count", 64);
  std::vector<int64_t> counts, indexes, pool;
  for (int64_t length = 1; length <= 64; ++length) {
    counts.push_back(static_cast<int64_t>(pool.size()));
    indexes.push_back(length - 1);
    pool.insert(pool.end(), static_cast<size_t>(length), length);
  }
  m.attr("ngram_counts", counts).attr("ngram_indexes", indexes).attr("pool_int64s", pool);
  expect_refused(m, ImportFailure::kUnsupported,
                 "n-grams of so many lengths with 64 skips are not supported");
}

TEST(TfIdfVectorizer, RefusesWeightsInAnotherOrder) {
  TestModel m = grams();
  m.last->mutable_attribute(0)->set_s("TFIDF");
  m.last->mutable_attribute(5)->set_ints(0, 1);
  m.last->mutable_attribute(5)->set_ints(1, 0);
  auto& weights = m.attribute("weights", ::onnx::AttributeProto::FLOATS);
  for (const float w : {1.0f, 2.0f, 3.0f, 4.0f}) weights.add_floats(w);
  expect_refused(m, ImportFailure::kUnsupported, "its weights are in another order than the elements");
}

TEST(Det, EliminatesRowAfterRow) {
  for (const TestDim& rows : {TestDim(3), TestDim(65), TestDim("n")}) {
    expect_type(TestModel(11).input("x", {"b", rows, rows}).node("Det", {"x"}, {"y"}).output("y"),
                "Tensor[(b), float32]");
  }
  expect_refused(TestModel(11).input("x", {3, 4}).node("Det", {"x"}, {"y"}).output("y"),
                 ImportFailure::kBadModel, "its matrices must be square");
}

}  // namespace
}  // namespace relay::frontend
