// Models on which Relay differed from ONNX Runtime (tests/outside), and forms that no node test
// has, with results computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "tests/conformance/run_model.h"

namespace relay::tests {
namespace {

using frontend::TestModel;

constexpr int kFloat = ::onnx::TensorProto::FLOAT, kDouble = ::onnx::TensorProto::DOUBLE,
              kByte = ::onnx::TensorProto::UINT8, kInt = ::onnx::TensorProto::INT32,
              kLong = ::onnx::TensorProto::INT64;

void expect(const Tensor& got, DType dtype, const Shape& shape, const std::vector<double>& values) {
  EXPECT_EQ(got.dtype(), dtype);
  ASSERT_EQ(got.shape(), shape);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(got.get(static_cast<int64_t>(i)), values[i], 1e-6) << "element " << i;
}

TEST(Findings, PowersOfIntegersAreIntegers) {
  for (const auto& [code, dtype] : {std::pair(kInt, kInt32), std::pair(kLong, kInt64)}) {
    const std::vector<Tensor> got = run(
        TestModel().input("x", {3}, code).input("y", {3}, code).node("Pow", {"x", "y"}, {"z"}).output("z"),
        {Value(tensor(dtype, {3}, {2, -3, 7})), Value(tensor(dtype, {3}, {10, 3, 0}))});
    ASSERT_EQ(got.size(), 1u);
    expect(got[0], dtype, {3}, {1024, -27, 1});
  }
}

TEST(Findings, AnExponentMayHaveAnyDType) {
  const std::vector<Tensor> got = run(
      TestModel().input("x", {2}, kInt).input("y", {2}, kFloat).node("Pow", {"x", "y"}, {"z"}).output("z"),
      {Value(tensor(kInt32, {2}, {9, 2})), Value(tensor(kFloat32, {2}, {0.5, 3}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kInt32, {2}, {3, 8});
}

TEST(Findings, GatherElementsTakesLessOfTheOtherAxes) {
  const std::vector<Tensor> got = run(TestModel()
                                          .input("x", {2, 3})
                                          .input("i", {3, 2}, kLong)
                                          .node("GatherElements", {"x", "i"}, {"y"})
                                          .attr("axis", 0)
                                          .output("y"),
                                      {Value(tensor(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6})),
                                       Value(tensor(kInt64, {3, 2}, {0, 1, 1, -1, 0, 0}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {3, 2}, {1, 5, 4, 5, 1, 2});
}

TEST(Findings, GatherElementsTakesLessOfAxesThatAreNamed) {
  const std::vector<Tensor> got =
      run(TestModel()
              .input("x", {"a", 3})
              .input("i", {"c", 2}, kLong)
              .ints("two", {1, 2})
              .node("GatherElements", {"x", "i"}, {"y"})
              .attr("axis", 1)
              .output("y"),
          {Value(tensor(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6})), Value(tensor(kInt64, {1, 2}, {0, 1}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {1, 2}, {1, 2});
}

TEST(Findings, TheLastPartOfANamedAxisMayBeSmaller) {
  TestModel model(18);
  model.input("x", {"n"}).node("Split", {"x"}, {"a", "b", "c"}).attr("num_outputs", 3);
  model.output("a").output("b").output("c");
  const std::vector<Tensor> five = run(model, {Value(tensor(kFloat32, {5}, {1, 2, 3, 4, 5}))});
  ASSERT_EQ(five.size(), 3u);
  expect(five[0], kFloat32, {2}, {1, 2});
  expect(five[1], kFloat32, {2}, {3, 4});
  expect(five[2], kFloat32, {1}, {5});
  const std::vector<Tensor> one = run(model, {Value(tensor(kFloat32, {1}, {7}))});
  ASSERT_EQ(one.size(), 3u);
  expect(one[0], kFloat32, {1}, {7});
  expect(one[1], kFloat32, {0}, {});
  expect(one[2], kFloat32, {0}, {});
}

TEST(Findings, StatisticsHaveTheDTypeOfTheStash) {
  TestModel model(17);
  model.input("x", {1, 2}, kDouble).input("s", {2}, kDouble);
  model.node("LayerNormalization", {"x", "s"}, {"y", "mean", "inverse"})
      .output("y")
      .output("mean")
      .output("inverse");
  model.last->add_attribute()->set_name("epsilon");
  model.last->mutable_attribute(0)->set_type(::onnx::AttributeProto::FLOAT);
  model.last->mutable_attribute(0)->set_f(0);
  const std::vector<Tensor> got =
      run(model, {Value(tensor(kFloat64, {1, 2}, {1, 5})), Value(tensor(kFloat64, {2}, {1, 10}))});
  ASSERT_EQ(got.size(), 3u);
  expect(got[0], kFloat64, {1, 2}, {-1, 10});
  expect(got[1], kFloat32, {1, 1}, {3});
  expect(got[2], kFloat32, {1, 1}, {0.5});
}

TEST(Findings, ZerosAreQuantisedWithAScaleOfOne) {
  const std::vector<Tensor> got = run(TestModel()
                                          .input("x", {2})
                                          .node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"})
                                          .output("y")
                                          .output("s")
                                          .output("z"),
                                      {Value(tensor(kFloat32, {2}, {0, 0}))});
  ASSERT_EQ(got.size(), 3u);
  expect(got[0], kUInt8, {2}, {0, 0});
  expect(got[1], kFloat32, {}, {1});
  expect(got[2], kUInt8, {}, {0});
}

// One step, one unit, gates i, o, f, c. Each gate's sum is 3, clipped to 0.5; the cell, which is no
// gate, is not clipped.
TEST(Findings, EveryGateOfAnLstmIsClipped) {
  TestModel model(14);
  model.input("x", {1, 1, 1}).input("w", {1, 4, 1}).input("r", {1, 4, 1}).input("c", {1, 1, 1});
  model.node("LSTM", {"x", "w", "r", "", "", "", "c"}, {"", "h", "cell"}).output("h").output("cell");
  model.attr("hidden_size", 1).attribute("clip", ::onnx::AttributeProto::FLOAT).set_f(0.5f);
  const std::vector<Tensor> got =
      run(model, {Value(tensor(kFloat32, {1, 1, 1}, {1})), Value(tensor(kFloat32, {1, 4, 1}, {3, 3, 3, 3})),
                  Value(tensor(kFloat32, {1, 4, 1}, {0, 0, 0, 0})), Value(tensor(kFloat32, {1, 1, 1}, {4}))});
  ASSERT_EQ(got.size(), 2u);
  const double gate = 1 / (1 + std::exp(-0.5)), cell = 4 * gate + gate * std::tanh(0.5);
  expect(got[0], kFloat32, {1, 1, 1}, {gate * std::tanh(cell)});
  expect(got[1], kFloat32, {1, 1, 1}, {cell});
}

// As ONNX Runtime has it: (x + 1/2) / scale would move the pixels of an axis whose scale is 1.
TEST(Findings, AnAxisThatKeepsItsSizeStaysAsItIsWithTfHalfPixel) {
  const Value x(tensor(kFloat32, {1, 1, 2, 3}, {0, 1, 2, 3, 4, 5}));
  const auto resized = [&](const std::vector<frontend::TestDim>& dims, const char* mode, int64_t width) {
    TestModel m(11);
    m.input("x", dims).floats("none", {0}).ints("size", {1, 1, 2, width});
    m.node("Resize", {"x", "none", "none", "size"}, {"y"}).output("y");
    m.attr("coordinate_transformation_mode", "tf_half_pixel_for_nn").attr("mode", mode);
    if (std::string_view(mode) == "nearest") m.attr("nearest_mode", "ceil");
    return run(m, {x});
  };
  for (const std::vector<frontend::TestDim>& dims :
       {std::vector<frontend::TestDim>{1, 1, 2, 3}, {1, 1, "h", "w"}}) {
    expect(resized(dims, "nearest", 6)[0], kFloat32, {1, 1, 2, 6}, {1, 1, 2, 2, 2, 2, 4, 4, 5, 5, 5, 5});
    expect(resized(dims, "linear", 6)[0], kFloat32, {1, 1, 2, 6},
           {0.25, 0.75, 1.25, 1.75, 2, 2, 3.25, 3.75, 4.25, 4.75, 5, 5});
    expect(resized(dims, "nearest", 3)[0], kFloat32, {1, 1, 2, 3}, {0, 1, 2, 3, 4, 5});
  }
}

// As quantisers write it. A half goes to the even neighbour, and a cubic that overshoots is cut.
TEST(Findings, IntegersAreResizedAsFloatsAndRounded) {
  const auto resized = [](const char* mode, int code, DType dtype, const std::vector<double>& row) {
    std::vector<double> out;
    const auto width = static_cast<int64_t>(row.size());
    for (const frontend::TestDim& last :
         {frontend::TestDim(static_cast<int>(width)), frontend::TestDim("w")}) {
      TestModel m(19);
      m.input("x", {1, 1, 1, last}, code).ints("size", {1, 1, 1, 2 * width});
      m.node("Resize", {"x", "", "", "size"}, {"y"}).attr("mode", mode).output("y");
      const std::vector<Tensor> got = run(m, {Value(tensor(dtype, {1, 1, 1, width}, row))});
      if (got.size() != 1 || got[0].dtype() != dtype) return std::vector<double>();
      if (!out.empty()) {
        EXPECT_EQ(got[0].doubles(), out) << "where the width is open";
      }
      out = got[0].doubles();
    }
    return out;
  };
  using Row = std::vector<double>;
  EXPECT_EQ(resized("linear", kByte, kUInt8, {0, 2}), (Row{0, 0, 2, 2}));
  EXPECT_EQ(resized("cubic", kByte, kUInt8, {0, 0, 255, 255}), (Row{0, 0, 0, 58, 197, 255, 255, 255}));
  EXPECT_EQ(resized("linear", kInt, kInt32, {-5, 0}), (Row{-5, -4, -1, 0}));
  const double large = 1 << 30;  // where float32 has no odd numbers
  EXPECT_EQ(resized("linear", kInt, kInt32, {large + 1, large + 3}),
            (Row{large + 1, large + 2, large + 2, large + 3}));
}

TEST(Findings, TruthsBetweenPixelsAreRefused) {
  TestModel m(19);
  m.input("x", {1, 1, 1, 2}, ::onnx::TensorProto::BOOL).ints("size", {1, 1, 1, 4});
  m.node("Resize", {"x", "", "", "size"}, {"y"}).attr("mode", "linear").output("y");
  EXPECT_NE(frontend::import_model(m).messages.find("mode linear is not supported for elements of bool"),
            std::string::npos);
}

TEST(Findings, HardmaxBeforeVersion13IsAboutRowsOfAMatrix) {
  TestModel model(11);
  model.input("x", {2, 2, 2}).node("Hardmax", {"x"}, {"y"}).attr("axis", 1).output("y");
  const std::vector<Tensor> got = run(model, {Value(tensor(kFloat32, {2, 2, 2}, {1, 4, 2, 3, 5, 1, 5, 0}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {2, 2, 2}, {0, 1, 0, 0, 1, 0, 0, 0});
}

TEST(Findings, HardmaxOfNoElements) {
  const std::vector<Tensor> got =
      run(TestModel().input("x", {3, 0}).node("Hardmax", {"x"}, {"y"}).output("y"),
          {Value(Tensor(kFloat32, {3, 0}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {3, 0}, {});
}

// Batch and hidden size of the state have names of their own. They are matched to those of the
// input and the weights once, so that steps do not join them again and again.
TEST(Findings, ShapesDoNotGrowWithinANode) {
  TestModel model;
  model.input("x", {40, "n", 2}).floats("w", {1, 6, 2}).floats("r", {1, 6, 2}).input("h", {1, "m", "n"});
  model.node("GRU", {"x", "w", "r", "", "", "h"}, {"y"}).attr("hidden_size", 2).output("y");
  const frontend::Imported out = frontend::import_model(model);
  EXPECT_TRUE(out.ok) << out.messages;
  EXPECT_EQ(out.type, "Tensor[(40, 1, n, 2), float32]");
}

// What a dynamic axis keeps from being imported is not supported; the model is not wrong.
TEST(Findings, WhatIsNotKnownIsUnsupported) {
  TestModel nd;
  nd.input("x", {2, 3}).input("i", {"n", "k"}, kLong).node("GatherND", {"x", "i"}, {"y"}).output("y");
  for (const bool wider : {false, true}) {
    TestModel expand;
    expand.input("n", {}, kLong)
        .ints("zero", {0}, true)
        .ints("one", {1}, true)
        .ints("to", wider ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{1});
    expand.node("Range", {"zero", "n", "one"}, {"r"}).node("Expand", {"r", "to"}, {"y"}).output("y");
    const frontend::Imported out = frontend::import_model(expand);
    EXPECT_EQ(out.type, wider ? "Tensor[(2, ?), int64]" : "Tensor[(?), int64]") << out.messages;
  }
  TestModel layer;
  layer.input("x", {1, 1, 1}).input("w", {"d", 1, 1}).input("r", {"d", 1, 1});
  layer.node("RNN", {"x", "w", "r"}, {"y"}).attr("hidden_size", 1).output("y");
  EXPECT_EQ(frontend::import_model(layer).type, "Tensor[(1, 1, 1, 1), float32]");
  TestModel wide;  // nothing says how wide a state is
  wide.input("x", {1, 1, 1}).input("w", {1, "g", 1}).input("r", {1, "g", "h"});
  wide.node("RNN", {"x", "w", "r"}, {"y"}).output("y");
  EXPECT_EQ(frontend::import_model(wide).failure, frontend::ImportFailure::kUnsupported);
  TestModel eye;
  eye.input("n", {}, kLong).ints("zero", {0}, true).ints("one", {1}, true).ints("to", {-1, 1});
  eye.node("Range", {"zero", "n", "one"}, {"r"}).node("Reshape", {"r", "to"}, {"m"});
  eye.node("EyeLike", {"m"}, {"y"}).output("y");
  EXPECT_EQ(frontend::import_model(eye).type, "Tensor[(?, 1), int64]");
  EXPECT_EQ(frontend::import_model(nd).failure, frontend::ImportFailure::kUnsupported);
}

// No node test has more than one scale. Without zero points the sums are [[0, 4], [4, 8]], which
// stand for [[0, 4], [1, 4]]; in steps of 2 the 1 is half-way, and goes to the even 0.
TEST(Findings, AQuantisedProductHasAScaleForEachRowAndColumn) {
  constexpr int kByte = ::onnx::TensorProto::UINT8, kSigned = ::onnx::TensorProto::INT8;
  TestModel model;
  model.input("a", {2, 2}, kByte).input("a_scale", {2}).input("a_zero", {2}, kByte);
  model.input("b", {2, 2}, kSigned).input("b_scale", {2}).input("b_zero", {2}, kSigned);
  model.input("y_scale", {1}).input("y_zero", {}, kByte).output("y");
  model.node("QLinearMatMul", {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"},
             {"y"});
  const std::vector<Tensor> got =
      run(model, {Value(tensor(kUInt8, {2, 2}, {3, 1, 2, 4})), Value(tensor(kFloat32, {2}, {0.5, 0.25})),
                  Value(tensor(kUInt8, {2}, {1, 2})), Value(tensor(kInt8, {2, 2}, {1, 2, 3, 4})),
                  Value(tensor(kFloat32, {2}, {1, 2})), Value(tensor(kInt8, {2}, {1, 0})),
                  Value(tensor(kFloat32, {1}, {2})), Value(tensor(kUInt8, {}, {3}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kUInt8, {2, 2}, {3, 5, 3, 5});
}

// One step, one unit: z = sigmoid(0) = 0.5, the candidate is tanh(0.5 * (h * 2)) with h = 0.5, h' =
// (1 - z) * candidate + z * h.
TEST(Findings, AGruThatMultipliesBeforeItResetsNeedsNoBias) {
  TestModel model;
  model.input("x", {1, 1, 1}).input("w", {1, 3, 1}).input("r", {1, 3, 1}).input("h", {1, 1, 1});
  model.node("GRU", {"x", "w", "r", "", "", "h"}, {"", "y"}).output("y");
  model.attr("hidden_size", 1).attr("linear_before_reset", 1);
  const std::vector<Tensor> got =
      run(model, {Value(tensor(kFloat32, {1, 1, 1}, {1})), Value(tensor(kFloat32, {1, 3, 1}, {0, 0, 0})),
                  Value(tensor(kFloat32, {1, 3, 1}, {0, 0, 2})), Value(tensor(kFloat32, {1, 1, 1}, {0.5}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {1, 1, 1}, {0.5 * std::tanh(0.5) + 0.25});
}

// One head with one number each: the state is 3 * 5, and then 4 * 6 more; each query reads it.
TEST(Findings, LinearAttentionOfOpenLengthIsThatOfAKnownOne) {
  for (const frontend::TestDim& steps : {frontend::TestDim(2), frontend::TestDim(std::string("s"))}) {
    TestModel model(27);
    model.input("q", {1, steps, 1}).input("k", {1, steps, 1}).input("v", {1, steps, 1});
    model.node("LinearAttention", {"q", "k", "v"}, {"y", "state"}).attr("update_rule", "linear");
    model.attr("q_num_heads", 1).attr("kv_num_heads", 1).output("y").output("state");
    const auto row = [](double a, double b) { return Value(tensor(kFloat32, {1, 2, 1}, {a, b})); };
    const std::vector<Tensor> got = run(model, {row(1, 2), row(3, 4), row(5, 6)});
    ASSERT_EQ(got.size(), 2u);
    expect(got[0], kFloat32, {1, 2, 1}, {15, 78});
    expect(got[1], kFloat32, {1, 1, 1, 1}, {39});
  }
}

// The first query sees no key, so that it gets 0 and not NaN. The second one sees the first key.
TEST(Findings, AQueryThatSeesNoKeyGetsZero) {
  TestModel model(23);
  model.input("q", {1, 1, "s", 1})
      .input("v", {1, 1, "t", 1})
      .input("mask", {"s", "t"}, ::onnx::TensorProto::BOOL);
  model.node("Attention", {"q", "v", "v", "mask"}, {"y"}).output("y");
  const std::vector<Tensor> got =
      run(model, {Value(tensor(kFloat32, {1, 1, 2, 1}, {1, 2})),
                  Value(tensor(kFloat32, {1, 1, 2, 1}, {3, 4})), Value(tensor(kBool, {2, 2}, {0, 0, 1, 0}))});
  ASSERT_EQ(got.size(), 1u);
  expect(got[0], kFloat32, {1, 1, 2, 1}, {0, 3});
}

}  // namespace
}  // namespace relay::tests
