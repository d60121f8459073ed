// Axes that only a run tells: what is known of the results, and what is refused.
#include <gtest/gtest.h>

#include "frontend/onnx/expect_refused.h"
#include "frontend/onnx/testing.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

// A node of x and of axes of this shape that are an input.
TestModel along(const std::string& op, const std::vector<TestDim>& x, const std::vector<TestDim>& axes,
                int64_t opset = 18) {
  TestModel m(opset);
  m.input("x", x).input("axes", axes, kInt64Code).node(op, {"x", "axes"}, {"y"});
  return m;
}

std::string type_of(TestModel m) {
  const Imported i = import_model(m.output("y"));
  return i.ok ? i.type : i.messages;
}

TEST(ComputedAxes, OfReductions) {
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp", "ReduceL2"}) {
    EXPECT_EQ(type_of(along(op, {2, "n", 1}, {2})), "Tensor[(?, ?, 1), float32]") << op;
    TestModel gone = along(op, {2, "n", 1}, {2});
    EXPECT_EQ(type_of(gone.attr("keepdims", 0)), "Tensor[(?), float32]") << op;
  }
  // No axes are all axes, or none.
  EXPECT_EQ(type_of(along("ReduceSum", {2, "n"}, {0})), "Tensor[(1, 1), float32]");
  TestModel nothing = along("ReduceSum", {2, "n"}, {0});
  EXPECT_EQ(type_of(nothing.attr("noop_with_empty_axes", 1)), "Tensor[(2, n), float32]");
  // How many there are matters only where they go.
  EXPECT_EQ(type_of(along("ReduceSum", {2, "n"}, {"k"})), "Tensor[(?, ?), float32]");
}

TEST(ComputedAxes, OfCumulativeOperators) {
  EXPECT_EQ(type_of(along("CumSum", {2, "n", 3}, {})), "Tensor[(2, n, 3), float32]");
  EXPECT_EQ(type_of(along("CumSum", {2, "n", 3}, {1})), "Tensor[(2, n, 3), float32]");
  EXPECT_EQ(type_of(along("CumProd", {2, 3}, {}, 26)), "Tensor[(2, 3), float32]");
}

TEST(ComputedAxes, OfSqueezeAndUnsqueeze) {
  EXPECT_EQ(type_of(along("Squeeze", {1, "n", 1}, {2})), "Tensor[(?), float32]");
  EXPECT_EQ(type_of(along("Unsqueeze", {2, "n"}, {2})), "Tensor[(?, ?, ?, ?), float32]");
}

TEST(ComputedAxes, WithoutAxesAnOpenExtentIsTakenNotToBeOne) {
  const auto squeezed = [](const std::vector<TestDim>& x) {
    TestModel m(18);
    m.input("x", x).node("Squeeze", {"x"}, {"y"}).output("y");
    return import_model(m);
  };
  const Imported open = squeezed({"n", 1, 3});
  EXPECT_EQ(open.type, "Tensor[(n, 3), float32]") << open.messages;
  EXPECT_NE(open.messages.find("a run traps if dimension 0 of Tensor[(n, 1, 3), float32] is 1"),
            std::string::npos)
      << open.messages;
  EXPECT_NE(open.messages.find("--input-shapes"), std::string::npos) << open.messages;
  const Imported fixed = squeezed({2, 1, 3});
  EXPECT_EQ(fixed.type, "Tensor[(2, 3), float32]");
  EXPECT_EQ(fixed.messages, "");
}

TEST(ComputedAxes, ThatCannotBeAreRefused) {
  const auto refused = [](TestModel m, ImportFailure how, const std::string& why) {
    expect_refused(m.output("y"), how, why);
  };
  TestModel open = along("ReduceSum", {2, "n"}, {"k"});
  refused(open.attr("keepdims", 0), ImportFailure::kUnsupported, "how many numbers its axes (input 1) has");
  refused(along("Squeeze", {2, "n"}, {"k"}), ImportFailure::kUnsupported, "how many numbers its axes");
  refused(along("Unsqueeze", {2, "n"}, {"k"}), ImportFailure::kUnsupported, "how many numbers its axes");
  refused(along("ReduceSum", {2, "n"}, {3}), ImportFailure::kBadModel, "more than its input has");
  refused(along("Squeeze", {2, "n"}, {3}), ImportFailure::kBadModel, "more than its input has");
  refused(along("ReduceSum", {2, "n"}, {}), ImportFailure::kBadModel, "must be a list of integers");
  refused(along("CumSum", {2, "n"}, {2}), ImportFailure::kBadModel, "must be one integer");
  refused(along("CumSum", {}, {}), ImportFailure::kBadModel, "has no such axes");
  TestModel real(18);
  real.input("x", {2}).input("axes", {1}).node("ReduceSum", {"x", "axes"}, {"y"});
  refused(real, ImportFailure::kBadModel, "must be a list of integers");
}

}  // namespace
}  // namespace relay::frontend
