#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Shape data, weight;
  std::vector<AttrArg> attrs;
};

// Layouts NCHW and OIHW, and of the transposed convolution IOHW.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1, 1, 3, 3}, {1, 1, 1, 1}, {}},
      {{2, 3, 5, 4}, {4, 3, 3, 2}, {}},
      {{1, 2, 6, 5}, {3, 2, 3, 3}, {{"padding", Ints{1}}}},
      {{1, 2, 7, 6}, {3, 2, 3, 3}, {{"strides", Ints{2}}, {"padding", Ints{1, 2}}}},
      {{1, 2, 8, 8}, {2, 2, 2, 3}, {{"strides", Ints{3, 2}}, {"padding", Ints{0, 1, 2, 3}}}},
      {{1, 2, 7, 7}, {2, 2, 3, 2}, {{"dilation", Ints{2, 3}}, {"padding", Ints{1, 1}}}},
      {{1, 2, 9, 8},
       {2, 2, 2, 2},
       {{"dilation", Ints{2}}, {"strides", Ints{3}}, {"padding", Ints{2, 0, 1, 1}}}},
      {{2, 4, 4, 4}, {6, 2, 3, 3}, {{"groups", int64_t{2}}, {"padding", Ints{1}}}},
      {{2, 3, 4, 5}, {3, 1, 3, 3}, {{"groups", int64_t{3}}, {"padding", Ints{1}}, {"strides", Ints{2, 1}}}},
      {{1, 2, 4, 4}, {4, 1, 2, 2}, {{"groups", int64_t{2}}}},
      {{0, 2, 4, 4}, {3, 2, 3, 3}, {}},
      {{1, 0, 4, 4}, {3, 0, 3, 3}, {}},
  };
  return all;
}

std::vector<AttrArg> with(std::vector<AttrArg> attrs, const std::vector<AttrArg>& more) {
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

TEST(Conv2d, GradientsAreTheDerivatives) {
  for (const Case& c : cases()) {
    check_gradient(kConv2d, {random(kFloat64, c.data, 1), random(kFloat64, c.weight, 2)}, c.attrs);
  }
  const Tensor data = random(kFloat64, {2, 5, 4, 4}, 1), weight = random(kFloat64, {3, 2, 2, 6}, 2);
  check_gradient(kConv2d, {data, weight},
                 {{"data_layout", std::string("NHWC")},
                  {"kernel_layout", std::string("HWIO")},
                  {"groups", int64_t{2}},
                  {"strides", Ints{2, 1}},
                  {"padding", Ints{1}}});
}

TEST(Conv2d, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : cases()) {
    for (const DType d : {kFloat32, kFloat64, kFloat16, kInt32, kInt8, kUInt8}) {
      SCOPED_TRACE(d.name());
      check_lowering(kConv2d, {random(d, c.data, 1, -100, 100), random(d, c.weight, 2, -3, 3)}, c.attrs);
    }
    check_lowering(kConv2d, {random(kUInt8, c.data, 1, 0, 255), random(kInt8, c.weight, 2, -128, 127)},
                   with(c.attrs, {{"out_dtype", kInt32}}));
    check_lowering(kConv2d, {random(kFloat16, c.data, 1), random(kFloat16, c.weight, 2)},
                   with(c.attrs, {{"out_dtype", kFloat32}}));
  }
}

TEST(Conv2d, LayoutsAreOrdersOfTheSameNumbers) {
  // The same convolution in three layouts, moved by transpositions.
  const Tensor data = random(kFloat32, {2, 4, 5, 6}, 1), weight = random(kFloat32, {6, 2, 3, 2}, 2);
  const std::vector<AttrArg> attrs = {
      {"groups", int64_t{2}}, {"strides", Ints{2, 1}}, {"padding", Ints{1, 0}}};
  const Tensor want =
      evaluate(kTranspose, {evaluate(kConv2d, {data, weight}, attrs)}, {{"axes", Ints{0, 2, 3, 1}}});
  const Tensor nhwc = evaluate(kTranspose, {data}, {{"axes", Ints{0, 2, 3, 1}}});
  const Tensor hwio = evaluate(kTranspose, {weight}, {{"axes", Ints{2, 3, 1, 0}}});
  const Tensor hwoi = evaluate(kTranspose, {weight}, {{"axes", Ints{2, 3, 0, 1}}});
  const auto layouts = [&](const char* kernel) {
    return with(attrs, {{"data_layout", std::string("NHWC")}, {"kernel_layout", std::string(kernel)}});
  };
  EXPECT_TRUE(identical(evaluate(kConv2d, {nhwc, hwio}, layouts("HWIO")), want));
  EXPECT_TRUE(identical(evaluate(kConv2d, {nhwc, hwoi}, layouts("HWOI")), want));
  check_lowering(kConv2d, {nhwc, hwio}, layouts("HWIO"));
  check_lowering(kConv2d, {nhwc, hwoi}, layouts("HWOI"));
}

TEST(Conv2d, TypesOfSymbolicShapes) {
  Context context;
  const Dim n = context.shape_variable("n"), h = context.shape_variable("h");
  const std::vector<Dim> data{n, 3, h, h}, weight{8, 3, 3, 3};
  const std::vector<Type> args{context.tensor_type(data, kFloat32), context.tensor_type(weight, kFloat32)};
  EXPECT_EQ(infer_text(context, kConv2d, args, {{"padding", Ints{1}}}), "Tensor[(n, 8, h, h), float32]");
  EXPECT_EQ(infer_text(context, kConv2d, args), "Tensor[(n, 8, h - 2, h - 2), float32]");
  const std::vector<Dim> unknown{n, 3, Dim::unknown(), h};
  EXPECT_EQ(
      infer_text(context, kConv2d, {context.tensor_type(unknown, kFloat32), args[1]}, {{"padding", Ints{1}}}),
      "Tensor[(n, 8, ?, h), float32]");
}

TEST(Conv2d, TheWeightFollowsFromTheAttributes) {
  Context context;
  const std::vector<Type> args{context.tensor_type(Shape{1, 4, 8, 8}, kFloat32), nullptr};
  Relation r(context, args);
  const Attrs attrs =
      context.attrs({{"channels", int64_t{6}}, {"kernel_size", Ints{3, 5}}, {"groups", int64_t{2}}});
  EXPECT_EQ(show(kConv2d.relate(r, attrs)), "Tensor[(1, 6, 6, 4), float32]");
  ASSERT_EQ(r.assigned().size(), 1u);
  EXPECT_EQ(show(r.assigned()[0].second), "Tensor[(6, 2, 3, 5), float32]");
}

// The weights of the cases are those of the convolution that is transposed, and so are the
// data's channels.
TEST(Conv2dTranspose, GradientsAreTheDerivatives) {
  for (const Case& c : cases()) {
    const Shape data{c.data[0], c.weight[0], 3, 2};
    check_gradient(kConv2dTranspose, {random(kFloat64, data, 1), random(kFloat64, c.weight, 2)}, c.attrs);
  }
  check_gradient(kConv2dTranspose, {random(kFloat64, {1, 2, 3, 3}, 1), random(kFloat64, {2, 3, 3, 3}, 2)},
                 {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 1}}, {"padding", Ints{1}}});
  // An image without rows still gives two.
  check_gradient(kConv2dTranspose, {Tensor(kFloat64, {1, 1, 0, 3}), random(kFloat64, {1, 1, 3, 2}, 2)});
  check_gradient(
      kConv2dTranspose, {random(kFloat64, {1, 3, 3, 2}, 1), random(kFloat64, {3, 2, 4, 2}, 2)},
      {{"data_layout", std::string("NHWC")}, {"kernel_layout", std::string("HWOI")}, {"strides", Ints{2}}});
}

TEST(Conv2dTranspose, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : cases()) {
    const Shape data{c.data[0], c.weight[0], 3, 2};
    for (const DType d : {kFloat32, kFloat16, kInt32, kInt8}) {
      SCOPED_TRACE(d.name());
      check_lowering(kConv2dTranspose, {random(d, data, 1, -100, 100), random(d, c.weight, 2, -3, 3)},
                     c.attrs);
    }
  }
  check_lowering(kConv2dTranspose, {random(kFloat32, {1, 2, 3, 3}, 1), random(kFloat32, {2, 3, 3, 3}, 2)},
                 {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 1}}, {"padding", Ints{1}}});
}

TEST(Conv2dTranspose, IsTheTransposeOfTheConvolution) {
  // <conv2d(x, w), y> = <x, conv2d_transpose(y, w)>
  for (const Case& c : cases()) {
    const Tensor x = random(kFloat64, c.data, 1), w = random(kFloat64, c.weight, 2);
    const Tensor forward = evaluate(kConv2d, {x, w}, c.attrs);
    const Tensor y = random(kFloat64, forward.shape(), 3);
    const Tensor back = evaluate(kConv2dTranspose, {y, w}, c.attrs);
    if (back.shape() != x.shape()) continue;  // some rows of x were in no window
    double left = 0, right = 0;
    for (int64_t i = 0; i < y.size(); ++i) left += forward.get(i) * y.get(i);
    for (int64_t i = 0; i < x.size(); ++i) right += x.get(i) * back.get(i);
    EXPECT_NEAR(left, right, 1e-9);
  }
}

// Layouts NCDHW and OIDHW, and of the transposed convolution IODHW.
const std::vector<Case>& volumes() {
  static const std::vector<Case> all = {
      {{1, 2, 3, 2, 3}, {2, 2, 2, 1, 2}, {}},
      {{1, 1, 3, 4, 3}, {2, 1, 2, 3, 2}, {{"padding", Ints{1}}, {"strides", Ints{2, 1, 2}}}},
      {{1, 2, 4, 3, 2}, {1, 2, 2, 2, 1}, {{"dilation", Ints{2, 1, 1}}, {"padding", Ints{1, 0, 0, 0, 1, 2}}}},
      {{2, 4, 2, 2, 3}, {2, 2, 1, 2, 2}, {{"groups", int64_t{2}}}},
      {{0, 2, 2, 2, 2}, {3, 2, 2, 2, 2}, {}},
  };
  return all;
}

TEST(Conv3d, GradientsAreTheDerivatives) {
  for (const Case& c : volumes()) {
    const Tensor data = random(kFloat64, c.data, 1), weight = random(kFloat64, c.weight, 2);
    check_gradient(kConv3d, {data, weight}, c.attrs);
    const Shape small{c.data[0], c.weight[0], 2, 1, 3};
    check_gradient(kConv3dTranspose, {random(kFloat64, small, 3), weight}, c.attrs);
  }
}

TEST(Conv3d, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : volumes()) {
    for (const DType d : {kFloat32, kFloat16, kInt32, kInt8}) {
      SCOPED_TRACE(d.name());
      const Tensor data = random(d, c.data, 1, -100, 100), weight = random(d, c.weight, 2, -3, 3);
      check_lowering(kConv3d, {data, weight}, c.attrs);
      const Shape small{c.data[0], c.weight[0], 2, 1, 3};
      check_lowering(kConv3dTranspose, {random(d, small, 3, -100, 100), weight}, c.attrs);
    }
  }
}

TEST(Conv3d, TypesOfSymbolicShapes) {
  Context context;
  const Dim n = context.shape_variable("n"), l = context.shape_variable("l"), h = context.shape_variable("h");
  const std::vector<Dim> data{n, 3, l, h, h}, weight{8, 3, 1, 3, 3};
  const std::vector<Type> args{context.tensor_type(data, kFloat32), context.tensor_type(weight, kFloat32)};
  EXPECT_EQ(infer_text(context, kConv3d, args, {{"padding", Ints{1, 1, 0}}}),
            "Tensor[(n, 8, l + 2, h, h - 2), float32]");
}

}  // namespace
}  // namespace relay::op::testing
