#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

TEST(GridSample, LoweringsComputeWhatEvaluationDoes) {
  const Tensor image = random(kFloat32, {2, 2, 4, 3}, 1), grid = random(kFloat32, {2, 2, 3, 5}, 2, -1.5, 1.5);
  const Tensor volume = random(kFloat32, {1, 2, 3, 4, 2}, 3), places = random(kFloat64, {1, 3, 2, 1, 4}, 4);
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const bool corners : {false, true}) {
      SCOPED_TRACE(std::string(padding) + (corners ? " corners" : " sides"));
      const auto attrs = [&](const char* method, const char* layout) {
        return std::vector<AttrArg>{{"method", std::string(method)},
                                    {"layout", std::string(layout)},
                                    {"padding_mode", std::string(padding)},
                                    {"align_corners", corners}};
      };
      for (const char* method : {"nearest", "bilinear", "bicubic"})
        check_lowering(kGridSample, {image, grid}, attrs(method, "NCHW"));
      for (const char* method : {"nearest", "bilinear"})
        check_lowering(kGridSample, {volume, places}, attrs(method, "NCDHW"));
    }
  }
}

// With the corners as centres of pixels, a grid of the identity gives the image.
TEST(GridSample, TheIdentityOfAffineGridGivesTheImage) {
  const Tensor map = tensor<double>(kFloat64, {1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const Tensor grid = evaluate(kAffineGrid, {map}, {{"target_shape", std::vector<int64_t>{3, 5}}});
  const Tensor image = random(kFloat64, {1, 2, 3, 5}, 1);
  const std::vector<double> found = evaluate(kGridSample, {image, grid}).doubles(), want = image.doubles();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found[i], want[i], 1e-12);
}

TEST(AffineGrid, LoweringsComputeWhatEvaluationDoes) {
  check_lowering(kAffineGrid, {random(kFloat32, {2, 2, 3}, 1)},
                 {{"target_shape", std::vector<int64_t>{3, 5}}});
  check_lowering(kAffineGrid, {random(kFloat16, {1, 3, 4}, 1)},
                 {{"target_shape", std::vector<int64_t>{3, 1, 2}}});
}

TEST(CropAndResize, LoweringsComputeWhatEvaluationDoes) {
  const Tensor image = random(kFloat32, {2, 3, 4, 5}, 1), boxes = random(kFloat32, {3, 4}, 2, -0.25, 1.25);
  const Tensor indices = tensor<int64_t>(kInt32, {3}, {1, 0, 1});
  for (const char* method : {"bilinear", "nearest_neighbor"}) {
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{3, 2}, std::vector<int64_t>{1, 4}}) {
      check_lowering(kCropAndResize, {image, boxes, indices},
                     {{"crop_size", size}, {"method", std::string(method)}, {"extrapolation_value", 0.1}});
    }
  }
}

TEST(Dilation2d, LoweringsComputeWhatEvaluationDoes) {
  for (const DType d : {kFloat32, kFloat16, kInt8, kUInt8, kInt64}) {
    check_lowering(kDilation2d, {random(d, {1, 2, 5, 4}, 1, -100, 100), random(d, {2, 2, 3}, 2, -100, 100)},
                   {{"padding", std::vector<int64_t>{1, 2}}, {"strides", std::vector<int64_t>{2, 1}}});
  }
}

TEST(GridSample, TypesOfSymbolicShapes) {
  Context context;
  const Dim h = context.shape_variable("h"), w = context.shape_variable("w");
  const std::vector<Dim> image{2, 3, h, w}, grid{2, 2, w, 7};
  EXPECT_EQ(infer_text(context, kGridSample,
                       {context.tensor_type(image, kFloat32), context.tensor_type(grid, kFloat32)}),
            "Tensor[(2, 3, w, 7), float32]");
}

}  // namespace
}  // namespace relay::op::testing
