#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<AttrArg> to(Ints size, const char* method, const char* mode, const char* rounding = "round") {
  return {{"size", std::move(size)},
          {"method", std::string(method)},
          {"coordinate_transformation_mode", std::string(mode)},
          {"rounding_method", std::string(rounding)}};
}

const char* const kModes[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                              "tf_half_pixel_for_nn"};

TEST(Resize2d, LoweringsComputeWhatEvaluationDoes) {
  for (const DType d : {kFloat32, kFloat64, kFloat16}) {
    SCOPED_TRACE(d.name());
    for (const char* mode : kModes) {
      SCOPED_TRACE(mode);
      for (const Ints& size : {Ints{1, 1}, Ints{2, 7}, Ints{9, 5}, Ints{4, 3}}) {
        const Tensor x = random(d, {2, 1, 4, 3}, 1, 0, 2);
        for (const char* method : {"linear", "cubic"}) check_lowering(kResize2d, {x}, to(size, method, mode));
        for (const char* rounding :
             {"round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", ""}) {
          check_lowering(kResize2d, {x}, to(size, "nearest_neighbor", mode, rounding));
        }
      }
    }
  }
  std::vector<AttrArg> attrs = to({3, 5}, "nearest_neighbor", "asymmetric");
  attrs.push_back({"layout", std::string("NHWC")});
  check_lowering(kResize2d, {random(kInt8, {1, 2, 3, 2}, 1, -100, 100)}, attrs);
  check_lowering(kResize2d, {Tensor(kFloat32, {0, 1, 2, 2})}, to({3, 3}, "linear", "half_pixel"));
}

TEST(Resize, LoweringsOfOtherRanksComputeWhatEvaluationDoes) {
  const Tensor row = random(kFloat32, {2, 2, 5}, 1), volume = random(kFloat32, {1, 2, 3, 4, 2}, 2);
  for (const char* mode : kModes) {
    SCOPED_TRACE(mode);
    for (const char* method : {"nearest_neighbor", "linear", "cubic"}) {
      check_lowering(kResize1d, {row}, to({7}, method, mode));
      check_lowering(kResize3d, {volume}, to({4, 3, 5}, method, mode));
    }
  }
  std::vector<AttrArg> attrs = to({9}, "cubic", "half_pixel");
  attrs.push_back({"cubic_exclude", int64_t{1}});
  check_lowering(kResize1d, {row}, attrs);
}

TEST(Resize, LoweringsOfRegionsComputeWhatEvaluationDoes) {
  const Tensor image = random(kFloat32, {1, 2, 5, 4}, 1);
  for (const char* method : {"nearest_neighbor", "linear", "cubic"}) {
    for (const Ints& size : {Ints{3, 5}, Ints{1, 2}}) {
      std::vector<AttrArg> attrs = to(size, method, "tf_crop_and_resize");
      attrs.push_back({"roi", std::vector<double>{0.125, -0.25, 0.75, 1.5}});
      attrs.push_back({"extrapolation_value", 0.1});
      check_lowering(kResize2d, {image}, attrs);
    }
  }
}

// The results below are those of the ONNX operator's documentation.
const Tensor kTwoByTwo = tensor<double>(kFloat64, {1, 1, 2, 2}, {1, 2, 3, 4});

TEST(Resize2d, PublishedResults) {
  EXPECT_EQ(
      evaluate(kResize2d, {kTwoByTwo}, to({4, 6}, "nearest_neighbor", "half_pixel", "round_prefer_floor"))
          .doubles(),
      (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(
      evaluate(kResize2d, {kTwoByTwo}, to({4, 4}, "linear", "half_pixel")).doubles(),
      (std::vector<double>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
  const std::vector<double> corners =
      evaluate(kResize2d, {kTwoByTwo}, to({4, 4}, "linear", "align_corners")).doubles();
  const double want[] = {1,       4.0 / 3, 5.0 / 3, 2,        5.0 / 3, 2,        7.0 / 3,  8.0 / 3,
                         7.0 / 3, 8.0 / 3, 3,       10.0 / 3, 3,       10.0 / 3, 11.0 / 3, 4};
  for (size_t i = 0; i < 16; ++i) EXPECT_DOUBLE_EQ(corners[i], want[i]);
}

TEST(Resize2d, CubicGoesThroughThePixelsAndKeepsConstants) {
  const Tensor x = random(kFloat64, {1, 1, 4, 5}, 1);
  EXPECT_EQ(evaluate(kResize2d, {x}, to({4, 5}, "cubic", "half_pixel")).doubles(), x.doubles());
  const Tensor ones =
      evaluate(kResize2d,
               {Tensor::of(kFloat64, {1, 1, 2, 2}, std::span<const double>(std::vector<double>{3, 3, 3, 3}))},
               to({5, 7}, "cubic", "half_pixel"));
  for (const double v : ones.doubles()) EXPECT_NEAR(v, 3, 1e-12);
}

TEST(Resize2d, TypesOfSymbolicShapes) {
  Context context;
  const Dim h = context.shape_variable("h");
  const std::vector<Dim> dims{1, 3, h, 5}, size{h * Dim(2), 10};
  EXPECT_EQ(infer_text(context, kResize2d, {context.tensor_type(dims, kFloat32)}, {{"size", size}}),
            "Tensor[(1, 3, 2*h, 10), float32]");
}

}  // namespace
}  // namespace relay::op::testing
