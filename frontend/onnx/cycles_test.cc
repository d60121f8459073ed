// Graphs that are cyclic: what a node needs comes before it, also around and within its graphs.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

TEST(Cycles, ANodeThatNeedsItsOwnResult) {
  TestModel m;
  m.input("x", {2}).node("Add", {"x", "y"}, {"y"}).output("y");
  expect_refused(m, ImportFailure::kBadModel, "it uses `y`, which nothing before it defines");
}

TEST(Cycles, TwoNodesThatNeedEachOther) {
  TestModel m;
  m.input("x", {2}).node("Add", {"x", "b"}, {"a"}).node("Exp", {"a"}, {"b"}).output("b");
  expect_refused(m, ImportFailure::kBadModel, "it uses `b`, which nothing before it defines");
}

TEST(Cycles, ABranchThatNeedsTheResultOfItsNode) {
  TestModel inner;
  inner.node("Exp", {"y"}, {"t"}).output("t");
  TestModel m;
  m.input("x", {2}).input("c", {}, ::onnx::TensorProto::BOOL).node("If", {"c"}, {"y"});
  m.attr("then_branch", *inner.graph).attr("else_branch", *inner.graph).output("y");
  expect_refused(m, ImportFailure::kBadModel, "it uses `y`, which nothing before it defines");
}

// The order of the file is what counts: nobody sorts the nodes.
TEST(Cycles, NodesInOrderAreNone) {
  TestModel m;
  m.input("x", {2}).node("Exp", {"x"}, {"a"}).node("Add", {"x", "a"}, {"b"}).output("b");
  EXPECT_TRUE(import_model(m).ok);
}

}  // namespace
}  // namespace relay::frontend
