#include <cmath>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Shape data;
  std::vector<AttrArg> attrs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1, 1, 3, 3}, {{"pool_size", Ints{2}}}},
      {{2, 3, 5, 4}, {{"pool_size", Ints{2, 3}}, {"strides", Ints{2, 1}}}},
      {{1, 2, 6, 7}, {{"pool_size", Ints{3}}, {"strides", Ints{2}}, {"padding", Ints{1}}}},
      {{1, 2, 6, 7}, {{"pool_size", Ints{3, 2}}, {"strides", Ints{2}}, {"padding", Ints{0, 1, 2, 0}}}},
      {{1, 2, 7, 7}, {{"pool_size", Ints{2}}, {"dilation", Ints{2, 3}}, {"padding", Ints{1}}}},
      {{1, 1, 6, 6}, {{"pool_size", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", true}}},
      {{1, 1, 5, 8},
       {{"pool_size", Ints{3}}, {"strides", Ints{2, 3}}, {"padding", Ints{1}}, {"ceil_mode", true}}},
      {{1, 3, 4, 2}, {{"pool_size", Ints{2}}, {"layout", std::string("NHWC")}}},
      {{0, 3, 4, 4}, {{"pool_size", Ints{2}}}},
  };
  return all;
}

std::vector<AttrArg> including(std::vector<AttrArg> attrs) {
  attrs.push_back({"count_include_pad", true});
  return attrs;
}

// Most of a window may be padding: that costs nothing.
TEST(Pool2d, WindowsMayBeMuchLargerThanTheData) {
  const Tensor x = tensor<double>(kFloat32, {1, 1, 1, 3}, {3, 5, 1});
  const std::vector<AttrArg> attrs{{"pool_size", Ints{1, 2147483647}}, {"padding", Ints{0, 1073741823}}};
  EXPECT_EQ(evaluate(kMaxPool2d, {x}, attrs).doubles(), (std::vector<double>{5, 5, 5}));
  EXPECT_EQ(evaluate(kAvgPool2d, {x}, attrs).doubles(), (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(evaluate(kAvgPool2d, {x}, including(attrs)).get(0), static_cast<float>(9.0 / 2147483647));
}

TEST(Pool2d, GradientsAreTheDerivatives) {
  for (const Case& c : cases()) {
    const Tensor x = random(kFloat64, c.data, 1);
    check_gradient(kMaxPool2d, {x}, c.attrs);
    check_gradient(kAvgPool2d, {x}, c.attrs);
    check_gradient(kAvgPool2d, {x}, including(c.attrs));
    const Tensor dy = random(kFloat64, evaluate(kAvgPool2d, {x}, c.attrs).shape(), 2);
    check_gradient(kAvgPool2dGrad, {x, dy}, c.attrs);
    check_gradient(kAvgPool2dGrad, {x, dy}, including(c.attrs));
  }
}

TEST(Pool2d, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : cases()) {
    for (const DType d : {kFloat32, kFloat64, kFloat16, kInt32, kInt8, kUInt8, kInt64, kUInt64}) {
      SCOPED_TRACE(d.name());
      const Tensor x = random(d, c.data, 1, -100, 100);
      check_lowering(kMaxPool2d, {x}, c.attrs);
      check_lowering(kAvgPool2d, {x}, c.attrs);
      check_lowering(kAvgPool2d, {x}, including(c.attrs));
      if (!d.is_float()) continue;
      const Tensor dy = random(d, evaluate(kAvgPool2d, {x}, c.attrs).shape(), 2);
      check_lowering(kAvgPool2dGrad, {x, dy}, c.attrs);
      check_lowering(kAvgPool2dGrad, {x, dy}, including(c.attrs));
      check_lowering(kMaxPool2dGrad, {x, dy}, c.attrs);
      check_lowering(kMaxPool2dGrad, {random(kFloat32, c.data, 3, 0, 0).converted(d), dy},
                     c.attrs);  // all equal
    }
  }
}

TEST(Pool2d, NanIsTheMaximumAndOutsideIsNot) {
  const Tensor x = tensor<double>(kFloat32, {1, 1, 2, 2}, {NAN, -3, -INFINITY, -4});
  check_lowering(kMaxPool2d, {x}, {{"pool_size", Ints{2}}, {"padding", Ints{1}}});
  const Tensor y = evaluate(kMaxPool2d, {x}, {{"pool_size", Ints{2}}, {"padding", Ints{1}}});
  EXPECT_TRUE(std::isnan(y.get(0)));
  EXPECT_EQ(y.get(2), -3);
  EXPECT_EQ(y.get(6), -INFINITY);
}

TEST(Pool2d, WindowsThatEndOutside) {
  Context context;
  const auto shape = [&](int64_t extent, const std::vector<AttrArg>& attrs) {
    return infer_text(context, kMaxPool2d, {context.tensor_type(Shape{1, 1, extent, extent}, kFloat32)},
                      attrs);
  };
  const AttrArg size{"pool_size", Ints{3}}, stride{"strides", Ints{2}}, ceil{"ceil_mode", true};
  EXPECT_EQ(shape(112, {size, stride}), "Tensor[(1, 1, 55, 55), float32]");
  EXPECT_EQ(shape(112, {size, stride, ceil}), "Tensor[(1, 1, 56, 56), float32]");
  EXPECT_EQ(shape(112, {size, stride, {"padding", Ints{1}}}), "Tensor[(1, 1, 56, 56), float32]");
  // A window that would start in the padding behind the data does not count.
  EXPECT_EQ(shape(1, {{"pool_size", Ints{1}}, stride, ceil, {"padding", Ints{0, 0, 1, 1}}}),
            "Tensor[(1, 1, 1, 1), float32]");
  EXPECT_EQ(shape(2, {size}), "the window covers 3 elements along the height and the padded data has 2");
  const std::vector<Dim> symbolic{1, 1, context.shape_variable("h"), 8};
  EXPECT_EQ(infer_text(context, kMaxPool2d, {context.tensor_type(symbolic, kFloat32)}, {size, stride}),
            "Tensor[(1, 1, (h + 1) // 2 - 1, 3), float32]");
}

const std::vector<Case>& volumes() {
  static const std::vector<Case> all = {
      {{1, 2, 3, 2, 4}, {{"pool_size", Ints{2}}}},
      {{1, 1, 3, 4, 3},
       {{"pool_size", Ints{2, 1, 3}}, {"strides", Ints{2, 1, 1}}, {"padding", Ints{1, 0, 1}}}},
      {{1, 1, 5, 2, 3},
       {{"pool_size", Ints{2}}, {"dilation", Ints{2, 1, 1}}, {"padding", Ints{0, 0, 0, 1, 1, 0}}}},
      {{1, 1, 4, 3, 4}, {{"pool_size", Ints{3, 2, 3}}, {"strides", Ints{2}}, {"ceil_mode", true}}},
      {{1, 2, 3, 2, 2}, {{"pool_size", Ints{2}}, {"layout", std::string("NDHWC")}}},
  };
  return all;
}

TEST(Pool3d, GradientsAreTheDerivatives) {
  for (const Case& c : volumes()) {
    const Tensor x = random(kFloat64, c.data, 1);
    check_gradient(kMaxPool3d, {x}, c.attrs);
    check_gradient(kAvgPool3d, {x}, c.attrs);
    const Tensor dy = random(kFloat64, evaluate(kAvgPool3d, {x}, c.attrs).shape(), 2);
    check_gradient(kAvgPool3dGrad, {x, dy}, including(c.attrs));
  }
}

TEST(Pool3d, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : volumes()) {
    for (const DType d : {kFloat32, kFloat16, kInt8, kUInt64}) {
      SCOPED_TRACE(d.name());
      const Tensor x = random(d, c.data, 1, -100, 100);
      check_lowering(kMaxPool3d, {x}, c.attrs);
      check_lowering(kAvgPool3d, {x}, c.attrs);
      check_lowering(kAvgPool3d, {x}, including(c.attrs));
      if (!d.is_float()) continue;
      const Tensor dy = random(d, evaluate(kAvgPool3d, {x}, c.attrs).shape(), 2);
      check_lowering(kAvgPool3dGrad, {x, dy}, c.attrs);
      check_lowering(kMaxPool3dGrad, {x, dy}, c.attrs);
    }
  }
}

TEST(GlobalPool2d, ReducesHeightAndWidth) {
  const Tensor x = tensor<double>(kFloat32, {1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -6});
  EXPECT_EQ(evaluate(kGlobalAvgPool2d, {x}).doubles(), (std::vector<double>{3, -3}));
  EXPECT_EQ(evaluate(kGlobalMaxPool2d, {x}).doubles(), (std::vector<double>{6, -1}));
  EXPECT_EQ(evaluate(kGlobalMaxPool2d, {x}, {{"layout", std::string("NHWC")}}).shape(), (Shape{1, 1, 1, 2}));
}

}  // namespace
}  // namespace relay::op::testing
