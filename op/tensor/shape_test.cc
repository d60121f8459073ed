// reshape, reshape_like, expand_dims, squeeze, transpose.
#include "base/failure.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  const OpDef* op;
  Shape shape;
  std::vector<AttrArg> attrs;
};

const std::vector<Case> kCases = {
    {&kReshape, {2, 6}, {{"newshape", Ints{3, 4}}}},
    {&kReshape, {2, 6}, {{"newshape", Ints{-1}}}},
    {&kReshape, {2, 3, 4}, {{"newshape", Ints{0, -1}}}},
    {&kReshape, {2, 3, 4}, {{"newshape", Ints{-3, 0}}}},
    {&kReshape, {2, 6, 3}, {{"newshape", Ints{0, -4, 2, -1, -2}}}},
    {&kReshape, {1, 5, 1}, {{"newshape", Ints{5}}}},
    {&kReshape, {5}, {{"newshape", Ints{1, 5, 1, 1}}}},
    {&kReshape, {4, 6}, {{"newshape", Ints{2, 3, 4}}}},  // no axes in common
    {&kReshape, {}, {{"newshape", Ints{1, 1}}}},
    {&kReshape, {1}, {{"newshape", Ints{}}}},
    {&kReshape, {0, 3}, {{"newshape", Ints{3, 0}}, {"allowzero", true}}},
    {&kExpandDims, {2, 3}, {{"axis", int64_t{0}}}},
    {&kExpandDims, {2, 3}, {{"axis", int64_t{-1}}, {"num_newaxis", int64_t{2}}}},
    {&kExpandDims, {}, {{"axis", int64_t{0}}}},
    {&kSqueeze, {1, 3, 1}, {}},
    {&kSqueeze, {1, 3, 1}, {{"axis", Ints{-1}}}},
    {&kSqueeze, {1, 1}, {{"axis", Ints{0, 1}}}},
    {&kTranspose, {2, 3, 4}, {}},
    {&kTranspose, {2, 3, 4}, {{"axes", Ints{1, 0, -1}}}},
    {&kTranspose, {0, 3}, {}},
    {&kTranspose, {}, {}},
};

TEST(Shapes, GradientsAreTheDerivatives) {
  for (const Case& c : kCases) check_gradient(*c.op, {random(kFloat64, c.shape, 1)}, c.attrs);
  check_gradient(kReshapeLike, {random(kFloat64, {2, 6}, 1), random(kFloat64, {3, 4}, 2)});
}

TEST(Shapes, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : kCases) {
    for (const DType d : {kFloat16, kFloat32, kInt8, kBool}) {
      SCOPED_TRACE(relay::show(c.shape));
      check_lowering_of(*c.op, {random(d, c.shape, 1)}, c.attrs, Dims::kConstant);
    }
  }
  // The extents that a shape is told must be those of the argument, so only what follows from it
  // may be symbolic.
  check_lowering(kReshape, {random(kFloat32, {4, 3, 5}, 1)}, {{"newshape", Ints{0, -1}}});
  check_lowering(kReshape, {random(kFloat32, {4, 3, 5}, 1)}, {{"newshape", Ints{-1}}});
  check_lowering(kReshape, {random(kFloat32, {4, 3, 5}, 1)}, {{"newshape", Ints{-3, 0}}});
  check_lowering(kReshapeLike, {random(kFloat32, {4, 6}, 1), random(kInt8, {2, 12}, 2)});
  check_lowering(kTranspose, {random(kFloat32, {4, 3, 5}, 1)}, {{"axes", Ints{2, 0, 1}}});
  check_lowering(kExpandDims, {random(kFloat32, {4, 3}, 1)}, {{"axis", int64_t{1}}});
  check_lowering(kSqueeze, {random(kFloat32, {4, 1, 3}, 1)}, {{"axis", Ints{1}}});
}

TEST(Shapes, ReshapeComputesWithSymbolicDims) {
  Context context;
  const Dim n = context.shape_variable("n");
  const auto reshaped = [&](const std::vector<Dim>& from, const std::vector<Dim>& to) {
    return infer_text(context, kReshape, {context.tensor_type(from, kFloat32)}, {{"newshape", to}});
  };
  EXPECT_EQ(reshaped({n, 8, 8}, {Dim(0), Dim(-1)}), "Tensor[(n, 64), float32]");
  EXPECT_EQ(reshaped({n, 64}, {Dim(-1), Dim(8), Dim(8)}), "Tensor[(n, 8, 8), float32]");
  EXPECT_EQ(reshaped({n, 8}, {Dim(-1)}), relay::show(context.tensor_type({n * Dim(8)}, kFloat32)));
  EXPECT_EQ(reshaped({n, 8}, {n, Dim(2), Dim(4)}), "Tensor[(n, 2, 4), float32]");
  EXPECT_EQ(reshaped({n, 8}, {Dim(0), Dim(-4), Dim(-1), Dim(2)}), "Tensor[(n, 4, 2), float32]");
  EXPECT_EQ(reshaped({Dim::unknown(), 8, 8}, {Dim(0), Dim(-1)}), "Tensor[(?, 64), float32]");
  EXPECT_EQ(reshaped({Dim::unknown(), 8}, {Dim(-1), Dim(4)}), "Tensor[(?, 4), float32]");
  EXPECT_EQ(reshaped({n + Dim(1), 8}, {n + Dim(1), Dim(9)}),
            "number of elements: " + relay::show((n + Dim(1)) * Dim(8)) + " and " +
                relay::show((n + Dim(1)) * Dim(9)) + " differ");
}

TEST(Shapes, ACommonAxisIsNotTakenApart) {
  Context context;
  const Dim n = context.shape_variable("n");
  kernel::ExprPool& pool = context.pool();
  const std::vector<kernel::Expr> i{pool.variable("i"), pool.variable("j"), pool.variable("k")};
  const std::vector<Dim> from{n, Dim(12)}, to{n, Dim(3), Dim(4)};
  const std::vector<kernel::Expr> at = reindex(pool, from, to, i);
  ASSERT_EQ(at.size(), 2u);
  EXPECT_EQ(at[0], i[0]);
  EXPECT_EQ(at[1], i[1] * 4 + i[2]);
}

TEST(Shapes, AViewSharesItsElements) {
  const Tensor x = random(kFloat32, {2, 6}, 1);
  EXPECT_EQ(evaluate(kReshape, {x}, {{"newshape", Ints{3, 4}}}).data(), x.data());
}

TEST(Shapes, WrongCodesAreRefused) {
  Context context;
  const auto reshaped = [&](const Ints& to) {
    return infer_text(context, kReshape, {context.tensor_type(Shape{2, 6}, kFloat32)}, {{"newshape", to}});
  };
  EXPECT_EQ(reshaped({-1, -1}), "newshape can have one -1, not two");
  EXPECT_EQ(reshaped({-5}), "newshape holds -5, which is neither an extent nor a code");
  EXPECT_EQ(reshaped({2, 6, 0}), "newshape needs more dims than the 2 of its argument");
  EXPECT_EQ(reshaped({-4, 2}), "-4 in newshape must be followed by two extents");
  EXPECT_EQ(reshaped({-4, -1, -1, -2}), "-4 in newshape can infer one extent, not two");
  EXPECT_EQ(reshaped({-4, -2, -1, -2}), "-4 in newshape must be followed by two extents");
  EXPECT_EQ(reshaped({5, -1}), "number of elements: 12 and 10 differ");
  EXPECT_EQ(reshaped({INT64_MAX, INT64_MAX}), "the extents of newshape multiply to more than 63 bits");
  EXPECT_EQ(infer_text(context, kReshape, {context.tensor_type(Shape{0, 6}, kFloat32)},
                       {{"newshape", Ints{0, -1}}, {"allowzero", true}}),
            "-1 in newshape cannot be inferred: the other extents give 0 elements");
}

TEST(Shapes, SqueezeNeedsAxesWhereAnExtentMayBeOne) {
  Context context;
  const Dim n = context.shape_variable("n");
  EXPECT_EQ(infer_text(context, kSqueeze, {context.tensor_type({n, Dim(1)}, kFloat32)}),
            "axis is needed: dimension 0, n, may or may not be 1");
  EXPECT_EQ(infer_text(context, kSqueeze, {context.tensor_type({n, Dim(1)}, kFloat32)}, {{"axis", Ints{1}}}),
            "Tensor[(n), float32]");
}

}  // namespace
}  // namespace relay::op::testing
