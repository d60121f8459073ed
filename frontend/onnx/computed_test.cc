// Shapes, bounds, pads and repeats that a model computes, and the names of extents.
#include <gtest/gtest.h>

#include <limits>

#include "frontend/onnx/expect_refused.h"
#include "frontend/onnx/testing.h"

namespace relay::frontend {
namespace {

constexpr int kInt64Code = ::onnx::TensorProto::INT64;

std::string type_of(const TestModel& m) {
  const Imported i = import_model(m);
  return i.ok ? i.type : i.messages;
}

TEST(ComputedInput, OfReshape) {
  TestModel m;
  m.input("x", {4}).input("shape", {2}, kInt64Code).node("Reshape", {"x", "shape"}, {"y"}).output("y");
  EXPECT_EQ(type_of(m), "Tensor[(?, ?), float32]");
}

TEST(ComputedInput, WhatIsKnownOfAShapeIsSaid) {
  TestModel m;
  m.input("x", {"n", 12})
      .input("rest", {2}, kInt64Code)
      .ints("zero", {0})
      .node("Shape", {"x"}, {"all"})
      .node("Gather", {"all", "zero"}, {"first"})
      .node("Concat", {"first", "rest"}, {"shape"})
      .attr("axis", 0)
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(m), "Tensor[(n, ?, ?), float32]");
  TestModel parts;
  parts.input("x", {"n", 12})
      .input("k", {1}, kInt64Code)
      .ints("zero", {0})
      .ints("two", {2})
      .node("Shape", {"x"}, {"all"})
      .node("Gather", {"all", "zero"}, {"first"})
      .node("Concat", {"first", "k", "two", "k"}, {"shape"})
      .attr("axis", 0)
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(parts), "Tensor[(n, ?, 2, ?), float32]");
}

TEST(ComputedInput, OfExpand) {
  TestModel m;
  m.input("x", {1, 3}).input("shape", {3}, kInt64Code).node("Expand", {"x", "shape"}, {"y"}).output("y");
  EXPECT_EQ(type_of(m), "Tensor[(?, ?, ?), float32]");
}

TEST(ComputedInput, ExpandOfTwoSymbolsBroadcasts) {
  TestModel m;
  m.input("x", {"n", 3})
      .input("other", {"m", 1})
      .node("Shape", {"other"}, {"shape"})
      .node("Expand", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(m), "Tensor[(broadcast(m, n), 3), float32]");
}

TEST(ComputedInput, OfConstantOfShapeTileSliceAndPad) {
  TestModel fill;
  fill.input("shape", {2}, kInt64Code).node("ConstantOfShape", {"shape"}, {"y"}).output("y");
  EXPECT_EQ(type_of(fill), "Tensor[(?, ?), float32]");
  TestModel tile;
  tile.input("x", {"n", 3})
      .input("repeats", {2}, kInt64Code)
      .node("Tile", {"x", "repeats"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(tile), "Tensor[(?, ?), float32]");
  TestModel slice;
  slice.input("x", {"n", 5, 6})
      .input("begin", {1}, kInt64Code)
      .ints("end", {4})
      .ints("axes", {-2})
      .ints("steps", {-1})
      .node("Slice", {"x", "begin", "end", "axes", "steps"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(slice), "Tensor[(n, ?, 6), float32]");
  TestModel axes;
  axes.input("x", {"n", 5})
      .input("axis", {1}, kInt64Code)
      .ints("begin", {1})
      .ints("end", {4})
      .node("Slice", {"x", "begin", "end", "axis"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(axes), "Tensor[(?, ?), float32]");
  TestModel pad(18);
  pad.input("x", {"n", 5})
      .input("pads", {2}, kInt64Code)
      .floats("value", {}, 1)
      .ints("axes", {-1})
      .node("Pad", {"x", "pads", "value", "axes"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(pad), "Tensor[(?, ?), float32]");
}

// Numbers become the extents of a tensor without elements, and so have names.
TEST(ComputedInput, OfSplitResizeTopKAndOneHot) {
  TestModel split;
  split.input("x", {"n", 4})
      .input("sizes", {2}, kInt64Code)
      .node("Split", {"x", "sizes"}, {"a", "b"})
      .attr("axis", 0)
      .node("Concat", {"b", "b"}, {"y"})
      .attr("axis", 0)
      .output("a")
      .output("y");
  EXPECT_EQ(type_of(split), "(Tensor[(?, 4), float32], Tensor[(?, 4), float32])");
  TestModel resize;
  resize.input("x", {1, 3, "h", "w"})
      .input("sizes", {4}, kInt64Code)
      .node("Resize", {"x", "", "", "sizes"}, {"z"})
      .node("GlobalAveragePool", {"z"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(resize), "Tensor[(1, 3, 1, 1), float32]");
  TestModel top;
  top.input("x", {2, "n"})
      .input("k", {1}, kInt64Code)
      .node("TopK", {"x", "k"}, {"values", "places"})
      .output("values")
      .output("places");
  EXPECT_EQ(type_of(top), "(Tensor[(2, ?), float32], Tensor[(2, ?), int64])");
  TestModel hot;
  hot.input("x", {"n"}, kInt64Code)
      .input("depth", {1}, kInt64Code)
      .floats("values", {2})
      .node("OneHot", {"x", "depth", "values"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(hot), "Tensor[(n, ?), float32]");
}

TEST(ComputedInput, OfUnknownLengthIsRefused) {
  TestModel m;
  m.input("x", {4}).input("shape", {"r"}, kInt64Code).node("Expand", {"x", "shape"}, {"y"}).output("y");
  expect_refused(m, ImportFailure::kUnsupported, "how many numbers its shape (input 1) has depends");
}

// The rank of the result, the axes or the outputs say how many there must be.
TEST(ComputedInput, OfUnknownLengthIsComparedWhereTheRankIsKnown) {
  const auto type = [](const std::string& op, const std::string& name, int64_t opset = 18) {
    TestModel m(opset);
    m.input("x", {4, "n"}).input(name, {"k"}, kInt64Code).node(op, {"x", name}, {"y"});
    return type_of(m.output("y"));
  };
  EXPECT_EQ(type("Tile", "repeats"), "Tensor[(?, ?), float32]");
  EXPECT_EQ(type("Pad", "pads"), "Tensor[(?, ?), float32]");
  EXPECT_EQ(type("CenterCropPad", "shape"), "Tensor[(?, ?), float32]");
  EXPECT_EQ(type("TopK", "count"), "Tensor[(4, ?), float32]");
  TestModel slice(18);
  slice.input("x", {4, "n"}).input("b", {"k"}, kInt64Code).input("e", {"l"}, kInt64Code);
  slice.node("Slice", {"x", "b", "e"}, {"y"}).output("y");
  EXPECT_EQ(type_of(slice), "Tensor[(?, ?), float32]");
  TestModel resize(18);
  resize.input("x", {1, 1, "h", "w"}).input("s", {"k"}, kInt64Code);
  resize.node("Resize", {"x", "", "", "s"}, {"y"}).output("y");
  EXPECT_EQ(type_of(resize), "Tensor[(1, 1, ?, ?), float32]");
  TestModel split(18);
  split.input("x", {"n"}).input("s", {"k"}, kInt64Code).node("Split", {"x", "s"}, {"y", "z"});
  EXPECT_EQ(type_of(split.output("y").output("z")), "(Tensor[(?), float32], Tensor[(?), float32])");
}

TEST(ComputedInput, ThatDoesNotFitIsRefused) {
  TestModel repeats;
  repeats.input("x", {4, 4}).input("r", {1}, kInt64Code).node("Tile", {"x", "r"}, {"y"}).output("y");
  expect_refused(repeats, ImportFailure::kBadModel, "its repeats (input 1) must be 2 numbers");
  TestModel bounds;
  bounds.input("x", {4})
      .input("b", {1}, kInt64Code)
      .ints("e", {1, 2})
      .node("Slice", {"x", "b", "e"}, {"y"})
      .output("y");
  expect_refused(bounds, ImportFailure::kBadModel, "its ends (input 2) must be one number");
  TestModel pads;
  pads.input("x", {4}).input("p", {3}, kInt64Code).node("Pad", {"x", "p"}, {"y"}).output("y");
  expect_refused(pads, ImportFailure::kBadModel, "wrong length");
}

// One number is known, and wrong; the other one only a run tells.
TEST(ComputedInput, WithANegativeNumberIsRefused) {
  const auto model = [](const std::string& op, int64_t known, const std::vector<std::string>& inputs) {
    TestModel m;
    m.input("x", {1, 4}).input("q", {1}, kInt64Code).ints("k", {known});
    m.node("Concat", {"k", "q"}, {"s"}).attr("axis", 0).node(op, inputs, {"y"}).output("y");
    return m;
  };
  const auto refused = [](const TestModel& m, const std::string& extent) {
    expect_refused(m, ImportFailure::kBadModel, "its result would have the extent " + extent);
  };
  refused(model("ConstantOfShape", -5, {"s"}), "-5");
  refused(model("Expand", -3, {"x", "s"}), "-3");
  refused(model("Tile", -2, {"x", "s"}), "-2");
  TestModel pad = model("Concat", -2, {"s", "s"});
  pad.attr("axis", 0).node("Pad", {"x", "y"}, {"z"}).output("z");
  refused(pad, "-3");
}

TEST(ComputedInput, PadsAxesThatExistOnce) {
  const auto model = [](const std::vector<int64_t>& axes, bool computed) {
    TestModel m(18);
    m.input("x", {4, 4}).ints("axes", axes);
    const auto count = static_cast<int>(2 * axes.size());
    if (computed) m.input("p", {count}, kInt64Code);
    if (!computed) m.ints("p", std::vector<int64_t>(2 * axes.size(), 1));
    m.node("Pad", {"x", "p", "", "axes"}, {"y"}).output("y");
    return m;
  };
  for (const bool computed : {false, true}) {
    EXPECT_TRUE(import_model(model({-1, 0}, computed)).ok);
    expect_refused(model({7}, computed), ImportFailure::kBadModel, "axis 7 does not exist");
    expect_refused(model({1, -1}, computed), ImportFailure::kBadModel, "axis -1 is given twice");
  }
}

// Nodes behind one whose extent only a run tells compute with the name of it.
TEST(NamedExtents, GoThroughShapeArithmetic) {
  TestModel m;
  m.input("x", {"n"})
      .input("w", {"n", 4})
      .ints("zero", {0})
      .ints("two", {2})
      .node("NonZero", {"x"}, {"places"})
      .node("Squeeze", {"places", "zero"}, {"flat"})
      .node("Gather", {"w", "flat"}, {"rows"})
      .node("Shape", {"rows"}, {"s"})
      .node("Mul", {"s", "two"}, {"twice"})
      .node("ConstantOfShape", {"twice"}, {"zeros"})
      .node("Concat", {"rows", "rows"}, {"both"})
      .attr("axis", 0)
      .node("Concat", {"both", "both"}, {"wide"})
      .attr("axis", 1)
      .node("Add", {"zeros", "wide"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(m), "Tensor[(?, 8), float32]");
}

TEST(NamedExtents, AreNotMadeForOutputsThatNobodyReads) {
  TestModel m;
  m.input("x", {"n"}).node("NonZero", {"x"}, {"y"}).output("y");
  const Imported i = import_model(m);
  ASSERT_TRUE(i.ok) << i.messages;
  const Call* call = i.module.function("main")->body->as<Call>();
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->callee->as<Fn>(), nullptr);
}

TEST(ShapeArithmetic, DecidesWhatHoldsForAllExtents) {
  TestModel m;
  m.input("x", {"n", "m"})
      .ints("zero", {0})
      .ints("one", {1})
      .ints("four", {4})
      .node("Shape", {"x"}, {"s"})
      .node("ReduceProd", {"s"}, {"all"})
      .node("Mod", {"all", "four"}, {"rest"})
      .node("GreaterOrEqual", {"all", "zero"}, {"natural"})
      .node("Where", {"natural", "rest", "all"}, {"extent"})
      .node("Neg", {"one"}, {"minus_one"})
      .node("Less", {"all", "minus_one"}, {"never"})
      .node("Not", {"never"}, {"always"})
      .node("And", {"always", "natural"}, {"both"})
      .node("Where", {"both", "extent", "all"}, {"wanted"})
      .node("ConstantOfShape", {"wanted"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(m), "Tensor[(m*n % 4), float32]");
}

// A negative index counts from the end, wherever that is.
TEST(OpenAxes, AreIndexedFromTheirEnds) {
  TestModel gather;
  gather.input("x", {"n", 3})
      .input("i", {"k", 3}, kInt64Code)
      .node("GatherElements", {"x", "i"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(gather), "Tensor[(k, 3), float32]");
  TestModel scatter(16);
  scatter.input("x", {"n", "m"})
      .input("i", {"k", 2}, kInt64Code)
      .input("u", {"k"})
      .node("ScatterND", {"x", "i", "u"}, {"y"})
      .output("y");
  EXPECT_EQ(type_of(scatter), "Tensor[(n, m), float32]");
}

TEST(OpenAxes, HaveALargestElement) {
  TestModel m;
  m.input("x", {2, "n"}).node("Hardmax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(type_of(m), "Tensor[(2, n), float32]");
}

TEST(ShapeArithmetic, TakesAttributesThatDoNotMatterAndNoAxisThatDoesNotExist) {
  TestModel cast(19);
  cast.input("x", {"n"}).node("Shape", {"x"}, {"s"}).node("Cast", {"s"}, {"y"});
  cast.attr("to", ::onnx::TensorProto::INT32).attr("saturate", 0).output("y");
  EXPECT_EQ(type_of(cast), "Tensor[(1), int32]");
  TestModel both;
  both.input("x", {"n"}).node("Shape", {"x"}, {"s"}).node("Concat", {"s", "s"}, {"y"});
  both.attr("axis", 5).output("y");
  expect_refused(both, ImportFailure::kBadModel, "axis 5 does not exist");
}

// Regions from an end to a start, of numbers that are none, and of almost nothing.
TEST(ComputedInput, RegionsOfResizeHaveTaps) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [start, end] : {std::pair{1.0f, 0.0f}, {kNone, 1.0f}, {0.0f, 1e38f}}) {
    TestModel m(18);
    m.input("x", {4}).ints("sizes", {4}).floats("roi", {2});
    ::onnx::TensorProto& roi = *m.graph->mutable_initializer(1);
    roi.set_float_data(0, start);
    roi.set_float_data(1, end);
    m.node("Resize", {"x", "roi", "", "sizes"}, {"y"}).attr("mode", "linear").attr("antialias", 1);
    m.attr("coordinate_transformation_mode", "tf_crop_and_resize").output("y");
    expect_refused(m, ImportFailure::kUnsupported, "such a scale with antialias=1");
  }
  TestModel twice(18);
  twice.input("x", {4, 4}).ints("sizes", {8, 8});
  twice.node("Resize", {"x", "", "", "sizes"}, {"y"}).attr("axes", std::vector<int64_t>{1, -1}).output("y");
  expect_refused(twice, ImportFailure::kBadModel, "axis -1 is given twice");
}

TEST(ShapeArithmetic, OfTwoThatBroadcastIsANumber) {
  TestModel m;
  m.input("x", {"n"})
      .input("y", {"m"})
      .node("Add", {"x", "y"}, {"z"})
      .node("Shape", {"z"}, {"s"})
      .output("z")
      .output("s");
  EXPECT_EQ(type_of(m), "(Tensor[(broadcast(m, n)), float32], Tensor[(1), int64])");
}

}  // namespace
}  // namespace relay::frontend
