#include "op/ops.h"
#include "op/tensor/attributes.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Pairs = std::vector<std::pair<Dim, Dim>>;

struct Case {
  Shape data;
  Pairs width;
};

const std::vector<Case> kCases = {
    {{}, {}},
    {{3}, {{1, 2}}},
    {{3, 4}, {{0, 2}, {3, 0}}},
    {{2, 3, 4}, {{1, 1}, {0, 0}, {2, 3}}},
    {{1, 3}, {{0, 0}, {2, 2}}},
};

std::vector<AttrArg> attrs_of(const Case& c, const char* mode) {
  static Context context;  // holds the pairs, for all tests
  return {{"pad_width", pad_width(context, c.width)}, {"pad_mode", std::string(mode)}};
}

TEST(Pad, GradientsAreTheDerivatives) {
  for (const Case& c : kCases) {
    for (const char* mode : {"constant", "edge", "reflect", "symmetric"}) {
      check_gradient(kPad, {random(kFloat64, c.data, 1), random(kFloat64, {}, 2)}, attrs_of(c, mode));
    }
  }
}

TEST(Pad, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : kCases) {
    for (const DType d : {kFloat32, kFloat16, kInt8, kUInt64, kBool}) {
      SCOPED_TRACE(d.name());
      for (const char* mode : {"constant", "edge", "reflect", "symmetric"}) {
        check_lowering(kPad, {random(d, c.data, 1, 0, 100), random(d, {}, 2, 0, 100)}, attrs_of(c, mode));
      }
      check_lowering(kPad, {random(d, c.data, 1, 0, 100), Tensor::scalar_int(kInt32, 1)},
                     attrs_of(c, "constant"));
    }
  }
  check_lowering(kPad, {Tensor(kFloat32, {0, 2}), Tensor::scalar(kFloat32, 7)},
                 attrs_of({{0, 2}, {{2, 1}, {0, 1}}}, "constant"));
}

TEST(Pad, Modes) {
  const Tensor x = tensor<int>(kInt32, {3}, {1, 2, 3}), value = Tensor::scalar_int(kInt32, 9);
  const auto padded = [&](const char* mode) {
    return evaluate(kPad, {x, value}, attrs_of({{3}, {{2, 2}}}, mode)).ints();
  };
  EXPECT_EQ(padded("constant"), (std::vector<int64_t>{9, 9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(padded("edge"), (std::vector<int64_t>{1, 1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(padded("reflect"), (std::vector<int64_t>{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("symmetric"), (std::vector<int64_t>{2, 1, 1, 2, 3, 3, 2}));
}

TEST(BatchFlatten, KeepsTheBatch) {
  EXPECT_EQ(evaluate(kBatchFlatten, {random(kFloat32, {2, 3, 4}, 1)}).shape(), (Shape{2, 12}));
  EXPECT_EQ(evaluate(kBatchFlatten, {random(kFloat32, {2, 0, 4}, 1)}).shape(), (Shape{2, 0}));
  EXPECT_EQ(evaluate(kBatchFlatten, {random(kFloat32, {3}, 1)}).shape(), (Shape{3, 1}));
  Context context;
  const std::vector<Dim> dims{context.shape_variable("n"), 3, context.shape_variable("h")};
  EXPECT_EQ(infer_text(context, kBatchFlatten, {context.tensor_type(dims, kFloat32)}),
            "Tensor[(n, 3*h), float32]");
}

}  // namespace
}  // namespace relay::op::testing
