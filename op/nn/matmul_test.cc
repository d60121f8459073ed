#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

struct Case {
  const OpDef* op;
  Shape x, w;
  std::vector<AttrArg> attrs;
};

const std::vector<Case>& cases() {
  const AttrArg ta{"transpose_a", true}, tb{"transpose_b", true};
  static const std::vector<Case> all = {
      {&kDense, {2, 3}, {4, 3}, {}},
      {&kDense, {3}, {2, 3}, {}},
      {&kDense, {2, 2, 3}, {4, 3}, {}},
      {&kDense, {2, 0}, {4, 0}, {}},
      {&kDense, {0, 3}, {4, 3}, {}},
      {&kDense, {1, 5}, {1, 5}, {}},
      {&kMatmul, {2, 3}, {3, 4}, {}},
      {&kMatmul, {3, 2}, {3, 4}, {ta}},
      {&kMatmul, {2, 3}, {4, 3}, {tb}},
      {&kMatmul, {3, 2}, {4, 3}, {ta, tb}},
      {&kMatmul, {2, 5, 3}, {3, 4}, {}},
      {&kBatchMatmul, {2, 3, 4}, {2, 4, 5}, {}},
      {&kBatchMatmul, {2, 4, 3}, {2, 4, 5}, {ta}},
      {&kBatchMatmul, {2, 3, 4}, {2, 5, 4}, {tb}},
      {&kBatchMatmul, {2, 4, 3}, {2, 5, 4}, {ta, tb}},
      {&kBatchMatmul, {1, 3, 4}, {2, 5, 4}, {tb}},
      {&kBatchMatmul, {2, 3, 4}, {1, 4, 5}, {}},
      {&kBatchMatmul, {0, 3, 4}, {1, 4, 5}, {}},
  };
  return all;
}

TEST(Matmul, GradientsAreTheDerivatives) {
  for (const Case& c : cases()) {
    check_gradient(*c.op, {random(kFloat64, c.x, 1), random(kFloat64, c.w, 2)}, c.attrs);
  }
}

TEST(Matmul, LoweringsComputeWhatEvaluationDoes) {
  for (const Case& c : cases()) {
    for (const DType d : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt32, kInt8, kUInt8, kInt64}) {
      SCOPED_TRACE(d.name());
      check_lowering(*c.op, {random(d, c.x, 1, -100, 100), random(d, c.w, 2, -100, 100)}, c.attrs);
    }
    std::vector<AttrArg> attrs = c.attrs;
    attrs.push_back({"out_dtype", kInt32});
    check_lowering(*c.op, {random(kUInt8, c.x, 1, 0, 255), random(kInt8, c.w, 2, -128, 127)}, attrs);
  }
}

TEST(Matmul, TypesOfSymbolicShapes) {
  Context context;
  const Dim n = context.shape_variable("n"), k = context.shape_variable("k");
  const auto type = [&](std::vector<Dim> dims) { return context.tensor_type(dims, kFloat32); };
  EXPECT_EQ(infer_text(context, kDense, {type({n, k}), type({4, k})}), "Tensor[(n, 4), float32]");
  EXPECT_EQ(infer_text(context, kDense, {type({n, 3}), type({4, 5})}),
            "the length of the sums: 5 and 3 differ");
  EXPECT_EQ(infer_text(context, kBatchMatmul, {type({n, 2, k}), type({1, k, n})}),
            "Tensor[(n, 2, n), float32]");
}

TEST(Matmul, TheWeightFollowsFromUnits) {
  Context context;
  const std::vector<Type> args{context.tensor_type(Shape{2, 3}, kFloat32), nullptr};
  for (const auto& [op, weight] :
       {std::pair(&kDense, "Tensor[(7, 3), float32]"), {&kMatmul, "Tensor[(3, 7), float32]"}}) {
    Relation r(context, args);
    EXPECT_EQ(show(op->relate(r, context.attrs({{"units", int64_t{7}}}))), "Tensor[(2, 7), float32]");
    ASSERT_EQ(r.assigned().size(), 1u);
    EXPECT_EQ(show(r.assigned()[0].second), weight);
  }
}

}  // namespace
}  // namespace relay::op::testing
