#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

// Of operators that need to know some of their extents.
void check_known(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs = {}) {
  check_lowering_of(op, args, attrs, Dims::kConstant);
}

TEST(RoiAlign, LoweringsComputeWhatEvaluationDoes) {
  const Tensor image = random(kFloat32, {2, 2, 5, 4}, 1);
  const Tensor rois = tensor<double>(kFloat32, {3, 5}, {1, 0.5, 0.25, 3.5, 4, 0, -2, 1, 3, 9, 1, 2, 2, 1, 1});
  for (const char* mode : {"avg", "max"}) {
    for (const int64_t ratio : {0, 2}) {
      for (const bool aligned : {false, true}) {
        SCOPED_TRACE(std::string(mode) + " " + std::to_string(ratio) + (aligned ? " aligned" : ""));
        check_lowering(kRoiAlign, {image, rois},
                       {{"pooled_size", Ints{2, 3}},
                        {"spatial_scale", 0.75},
                        {"sample_ratio", ratio},
                        {"mode", std::string(mode)},
                        {"aligned", aligned}});
      }
    }
  }
}

TEST(RoiPool, LoweringsComputeWhatEvaluationDoes) {
  const Tensor rois = tensor<double>(kFloat32, {3, 5}, {1, 0, 0, 3, 4, 0, -2, 1, 3, 9, 1, 7, 7, 6, 6});
  check_lowering(kRoiPool, {random(kFloat32, {2, 2, 5, 4}, 1), rois},
                 {{"pooled_size", Ints{2, 3}}, {"spatial_scale", 0.75}});
  check_lowering(kRoiPool, {random(kFloat16, {2, 5, 4, 3}, 1), rois},
                 {{"pooled_size", Ints{3}}, {"spatial_scale", 1.0}, {"layout", std::string("NHWC")}});
}

TEST(GetValidCounts, LoweringsComputeWhatEvaluationDoes) {
  check_known(kGetValidCounts, {random(kFloat32, {2, 9, 6}, 1), Tensor::scalar(kFloat32, 0.25)});
  check_known(kGetValidCounts, {random(kFloat16, {1, 5, 2}, 1), Tensor::scalar(kFloat32, -1)},
              {{"id_index", int64_t{-1}}});
}

TEST(NonMaxSuppression, LoweringsComputeWhatEvaluationDoes) {
  const Tensor rows = random(kFloat32, {2, 12, 6}, 1), count = tensor<int64_t>(kInt32, {2}, {12, 7});
  const Tensor names = random(kInt32, {2, 12}, 2, 0, 100);
  for (const double threshold : {0.25, 0.0}) {
    for (const bool indices : {false, true}) {
      for (const bool bottom : {false, true}) {
        for (const int64_t top : {-1, 5}) {
          for (const int64_t id : {-1, 0}) {
            check_known(
                kNonMaxSuppression,
                {rows, count, names, Tensor::scalar_int(kInt32, 6), Tensor::scalar(kFloat32, threshold)},
                {{"return_indices", indices},
                 {"invalid_to_bottom", bottom},
                 {"top_k", top},
                 {"id_index", id},
                 {"force_suppress", top < 0}});
          }
        }
      }
    }
  }
}

TEST(AllClassNonMaxSuppression, LoweringsComputeWhatEvaluationDoes) {
  for (const char* format : {"onnx", "tensorflow"}) {
    for (const int64_t most : {-1, 0, 3}) {
      check_lowering(
          kAllClassNonMaxSuppression,
          {random(kFloat32, {2, 8, 4}, 1), random(kFloat32, {2, 3, 8}, 2), Tensor::scalar_int(kInt64, most),
           Tensor::scalar(kFloat32, 0.25), Tensor::scalar(kFloat32, -1)},
          {{"output_format", std::string(format)}});
    }
  }
}

TEST(RegularNonMaxSuppression, LoweringsComputeWhatEvaluationDoes) {
  for (const int64_t per_class : {0, 2, 50}) {
    for (const int64_t most : {0, 3, 40}) {
      check_known(kRegularNonMaxSuppression, {random(kFloat32, {2, 8, 4}, 1), random(kFloat32, {2, 8, 3}, 2)},
                  {{"max_detections_per_class", per_class},
                   {"max_detections", most},
                   {"num_classes", int64_t{2}},
                   {"iou_threshold", 0.25},
                   {"score_threshold", 0.0}});
    }
  }
}

TEST(Multibox, LoweringsComputeWhatEvaluationDoes) {
  check_lowering(kMultiboxPrior, {random(kFloat32, {1, 1, 3, 2}, 1)},
                 {{"sizes", std::vector<double>{0.5, 0.25}}, {"ratios", std::vector<double>{1, 2, 3}}});
  for (const bool background : {false, true}) {
    check_lowering(
        kMultiboxTransformLoc,
        {random(kFloat32, {2, 3, 5}, 1), random(kFloat32, {2, 20}, 2), random(kFloat32, {1, 5, 4}, 3)},
        {{"keep_background", background}, {"clip", background}});
  }
}

TEST(Proposal, LoweringsComputeWhatEvaluationDoes) {
  for (const bool iou_loss : {false, true}) {
    check_lowering(kProposal,
                   {random(kFloat32, {1, 8, 2, 3}, 1, 0, 1), random(kFloat32, {1, 16, 2, 3}, 2, -0.5, 0.5),
                    tensor<double>(kFloat32, {1, 3}, {40, 48, 1})},
                   {{"scales", std::vector<double>{0.5, 1}},
                    {"ratios", std::vector<double>{0.5, 2}},
                    {"rpn_pre_nms_top_n", int64_t{20}},
                    {"rpn_post_nms_top_n", int64_t{12}},
                    {"rpn_min_size", int64_t{4}},
                    {"threshold", 0.25},
                    {"iou_loss", iou_loss}});
  }
}

TEST(YoloReorg, LoweringsComputeWhatEvaluationDoes) {
  check_lowering(kYoloReorg, {random(kFloat32, {2, 8, 4, 2}, 1)}, {{"stride", int64_t{2}}});
  check_lowering(kYoloReorg, {random(kInt8, {1, 9, 3, 6}, 1)}, {{"stride", int64_t{3}}});
}

TEST(AllClassNonMaxSuppression, TypesOfSymbolicShapes) {
  Context context;
  const Dim n = context.shape_variable("n");
  const std::vector<Dim> boxes{1, n, 4}, scores{1, 3, n}, none;
  const Type number = context.tensor_type(none, kInt64), real = context.tensor_type(none, kFloat32);
  EXPECT_EQ(infer_text(context, kAllClassNonMaxSuppression,
                       {context.tensor_type(boxes, kFloat32), context.tensor_type(scores, kFloat32), number,
                        real, real}),
            "(Tensor[(3*n, 3), int64], Tensor[(1), int64])");
}

}  // namespace
}  // namespace relay::op::testing
