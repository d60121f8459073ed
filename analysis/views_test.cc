#include "analysis/views.h"

#include "analysis/testing.h"

namespace relay::analysis {
namespace {

// The body of @main, typed.
class Views : public ::testing::Test {
 protected:
  Expr body(const std::string& parameters, const std::string& expression) {
    module_ = testing::checked("def @main(" + parameters + ") { " + expression + " }");
    return module_.function("main")->body;
  }

 private:
  Module module_;
};

TEST_F(Views, ProductsByEitherOperatorAreOneThing) {
  const std::string xs = "%x: Tensor[(3, 4), float32], ";
  const auto dense = product_view(body(xs + "%w: Tensor[(5, 4), float32]", "nn.dense(%x, %w)"));
  ASSERT_TRUE(dense);
  EXPECT_TRUE(!dense->left_transposed && dense->right_transposed && !dense->batched);
  EXPECT_EQ(dense->column_axis(), 0u);
  EXPECT_EQ(dense->term_axis(), 1u);
  EXPECT_TRUE(dense->is_of(kFloat32));
  EXPECT_EQ(dense->weight(), nullptr);

  const auto matmul = product_view(body(xs + "%w: Tensor[(4, 5), float32]", "nn.matmul(%x, %w)"));
  ASSERT_TRUE(matmul);
  EXPECT_FALSE(matmul->right_transposed);
  EXPECT_EQ(matmul->column_axis(), 1u);
  EXPECT_EQ(matmul->term_axis(), 0u);

  const auto turned = product_view(body("%x: Tensor[(4, 3), float32], %w: Tensor[(5, 4), float32]",
                                        "nn.matmul(%x, %w, transpose_a=True, transpose_b=True)"));
  ASSERT_TRUE(turned);
  EXPECT_TRUE(turned->left_transposed && turned->right_transposed);
  EXPECT_EQ(turned->column_axis(), 0u);

  const auto batched = product_view(
      body("%x: Tensor[(2, 3, 4), float32], %w: Tensor[(2, 4, 5), float32]", "nn.batch_matmul(%x, %w)"));
  ASSERT_TRUE(batched);
  EXPECT_TRUE(batched->batched);
  EXPECT_EQ(batched->column_axis(), 2u);
  EXPECT_EQ(batched->term_axis(), 1u);
}

TEST_F(Views, AProductSaysItsDtypesAndItsWeight) {
  const auto mixed = product_view(
      body("%x: Tensor[(3, 2), int8]", "nn.dense(%x, full(1i8, shape=[4, 2]), out_dtype=\"int32\")"));
  ASSERT_TRUE(mixed);
  EXPECT_FALSE(mixed->is_of(kInt8));
  EXPECT_EQ(mixed->weight(), nullptr);  // a call, and no constant
}

TEST_F(Views, OtherCallsAreNoProducts) {
  EXPECT_FALSE(product_view(body("%x: Tensor[(3), float32]", "add(%x, %x)")));
  EXPECT_FALSE(product_view(body("%x: Tensor[(3), float32]", "%x")));
}

TEST_F(Views, ConvolutionsSayTheirLayouts) {
  const auto plain =
      convolution_view(body("%x: Tensor[(1, 4, 9, 9), float32], %w: Tensor[(8, 2, 3, 3), float32]",
                            "nn.conv2d(%x, %w, strides=[2, 1], groups=2)"));
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->has_plain_layouts() && !plain->transposed);
  EXPECT_EQ(plain->convolution.groups, 2);
  EXPECT_EQ(plain->convolution.window.stride, (std::vector<int64_t>{2, 1}));

  const auto last =
      convolution_view(body("%x: Tensor[(1, 9, 9, 4), float32], %w: Tensor[(3, 3, 4, 8), float32]",
                            "nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"HWIO\")"));
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->has_plain_layouts());

  const auto transposed = convolution_view(body(
      "%x: Tensor[(1, 4, 9, 9), float32], %w: Tensor[(4, 8, 3, 3), float32]", "nn.conv2d_transpose(%x, %w)"));
  ASSERT_TRUE(transposed);
  EXPECT_TRUE(transposed->has_plain_layouts() && transposed->transposed);
}

TEST_F(Views, SlicesAlongOneAxis) {
  const auto slice = [&](const std::string& attributes) {
    return slice_view(body("%x: Tensor[(4, 6), float32]", "strided_slice(%x, " + attributes + ")"));
  };
  const auto columns = slice("begin=[2], end=[5], axes=[-1]");
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->axis, 1u);
  EXPECT_EQ(columns->begin, 2);

  const auto from_the_end = slice("begin=[0, -3], end=[4, 2147483647]");
  ASSERT_TRUE(from_the_end);
  EXPECT_EQ(from_the_end->axis, 1u);
  EXPECT_EQ(from_the_end->begin, 3);

  const auto sized = slice("begin=[1, 0], end=[2, -1], slice_mode=\"size\"");
  ASSERT_TRUE(sized);
  EXPECT_EQ(sized->axis, 0u);
  EXPECT_EQ(sized->begin, 1);

  const auto all = slice("begin=[0, 0], end=[4, 6]");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->axis, 1u);
  EXPECT_EQ(all->begin, 0);

  EXPECT_FALSE(slice("begin=[1, 1], end=[3, 3]"));
  EXPECT_FALSE(slice("begin=[0], end=[6], strides=[2], axes=[1]"));
  EXPECT_FALSE(slice("begin=[5], end=[-7], strides=[-1], axes=[1]"));
}

TEST_F(Views, OpenShapesHaveNoSliceView) {
  EXPECT_FALSE(
      slice_view(body("%x: Tensor[(n, 6), float32]", "strided_slice(%x, begin=[0], end=[2], axes=[1])")));
}

}  // namespace
}  // namespace relay::analysis
