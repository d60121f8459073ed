// The structs of attributes that op/ publishes are those that the operators are defined by.
#include "op/dyn/view.h"
#include "op/math/convert.h"
#include "op/nn/convolution.h"
#include "op/nn/matmul.h"
#include "op/nn/pad.h"
#include "op/nn/pooling.h"
#include "op/ops.h"
#include "op/reduce/reduction.h"
#include "op/reduce/variance.h"
#include "op/tensor/join.h"
#include "op/tensor/repeat.h"
#include "op/tensor/reshape.h"
#include "op/tensor/slice.h"
#include "op/tensor/transpose.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

template <class A>
void expect_defined_by(const OpDef& op) {
  std::vector<std::string> listed, known;
  std::apply([&](const auto&... f) { (listed.emplace_back(f.name), ...); }, A::kFields);
  for (const AttrField& f : op.attrs) known.emplace_back(f.name);
  EXPECT_EQ(listed, known) << op.name;
}

TEST(Published, StructsHaveTheAttributesOfTheirOperators) {
  expect_defined_by<DenseAttrs>(kDense);
  expect_defined_by<MatmulAttrs>(kMatmul);
  expect_defined_by<BatchMatmulAttrs>(kBatchMatmul);
  expect_defined_by<ConvolutionAttrs>(kConv2d);
  expect_defined_by<TransposedConvolutionAttrs>(kConv2dTranspose);
  expect_defined_by<MaxPoolAttrs>(kMaxPool2d);
  expect_defined_by<AvgPoolAttrs>(kAvgPool2d);
  expect_defined_by<PadAttrs>(kPad);
  expect_defined_by<CastAttrs>(kCast);
  expect_defined_by<ClipAttrs>(kClip);
  expect_defined_by<ConcatenateAttrs>(kConcatenate);
  expect_defined_by<StridedSliceAttrs>(kStridedSlice);
  expect_defined_by<TransposeAttrs>(kTranspose);
  expect_defined_by<ReshapeAttrs>(kReshape);
  expect_defined_by<SplitAttrs>(kSplit);
  expect_defined_by<RepeatAttrs>(kRepeat);
  expect_defined_by<ReverseAttrs>(kReverse);
  expect_defined_by<ReduceAttrs>(kSum);
  expect_defined_by<VarianceAttrs>(kVariance);
  expect_defined_by<DynReshapeAttrs>(kDynReshape);
}

TEST(Published, AxesOfATransposeCountFromTheFront) {
  EXPECT_EQ(transposed_axes({}, 3), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(transposed_axes({.axes = std::vector<int64_t>{}}, 2), (std::vector<size_t>{1, 0}));
  EXPECT_EQ(transposed_axes({.axes = std::vector<int64_t>{0, -1, 1}}, 3), (std::vector<size_t>{0, 2, 1}));
}

TEST(Published, ExtentsOfAReshapeAreNoCodes) {
  const ReshapeAttrs a{.newshape = {Dim(0), Dim(-1), Dim(4), Dim::unknown()}, .extents = {1}};
  EXPECT_FALSE(a.is_extent(0));
  EXPECT_TRUE(a.is_extent(1));
  EXPECT_FALSE(a.is_extent(2));
  EXPECT_TRUE(a.is_extent(3));
}

}  // namespace
}  // namespace relay::op::testing
