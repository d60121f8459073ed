#include <limits>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/execute.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const OpDef* const kArithmetic[] = {&kAdd,      &kSubtract, &kMultiply, &kDivide,      &kFloorDivide, &kMod,
                                    &kFloorMod, &kMaximum,  &kMinimum,  &kTruncDivide, &kTruncMod};
const OpDef* const kComparisons[] = {&kEqual, &kNotEqual, &kLess, &kLessEqual, &kGreater, &kGreaterEqual};

struct Shapes {
  Shape x, y;
};
const Shapes kShapes[] = {{{}, {}},      {{3}, {}}, {{}, {2, 3}}, {{2, 3}, {3}}, {{2, 1, 4}, {3, 1}},
                          {{0, 3}, {3}}, {{1}, {0}}};

TEST(Binary, GradientsAreTheDerivatives) {
  for (const Shapes& s :
       {Shapes{{2, 3}, {2, 3}}, Shapes{{2, 3}, {3}}, Shapes{{}, {2, 1}}, Shapes{{2, 1, 2}, {3, 1}}}) {
    const Tensor x = random(kFloat64, s.x, 1, 0.5, 2), y = random(kFloat64, s.y, 7, 0.5, 2);
    for (const OpDef* op : kArithmetic) {
      if (op->differentiate) check_gradient(*op, {x, y});
    }
    check_gradient(kPower, {x, y});
  }
}

TEST(Binary, LoweringsComputeWhatEvaluationDoes) {
  for (const Shapes& s : kShapes) {
    for (const DType d : {kFloat16, kBFloat16, kFloat32, kFloat64, kInt8, kUInt8, kInt32, kInt64}) {
      SCOPED_TRACE(d.name());
      // Divisors of either sign, none of them zero.
      const Tensor x = random(d, s.x, 1, -90, 90), plus = random(d, s.y, 2, 1, 9),
                   minus = random(d, s.y, 3, -9, -2);
      for (const Tensor& y : {plus, minus}) {
        for (const OpDef* op : kArithmetic) check_lowering(*op, {x, y});
        for (const OpDef* op : kComparisons) check_lowering(*op, {x, y});
      }
      if (d.is_float()) check_lowering(kPower, {random(d, s.x, 4, 0.5, 3), random(d, s.y, 5, -2, 2)});
    }
    for (const DType d : {kInt8, kUInt8, kInt32, kInt64, kUInt64}) {
      SCOPED_TRACE(d.name());
      const Tensor x = random(d, s.x, 1, -100, 100), y = random(d, s.y, 2, -100, 100),
                   shift = random(d, s.y, 3, 0, 7);
      for (const OpDef* op : {&kBitwiseAnd, &kBitwiseOr, &kBitwiseXor}) check_lowering(*op, {x, y});
      for (const OpDef* op : {&kLeftShift, &kRightShift}) check_lowering(*op, {x, shift});
    }
    const Tensor p = random(kBool, s.x, 5), q = random(kBool, s.y, 6);
    for (const OpDef* op : {&kLogicalAnd, &kLogicalOr, &kLogicalXor, &kBitwiseAnd, &kBitwiseOr, &kBitwiseXor,
                            &kEqual, &kNotEqual}) {
      check_lowering(*op, {p, q});
    }
  }
}

TEST(Binary, SpecialValues) {
  const Tensor x = tensor<double>(kFloat32, {7, 1}, {kNan, kInf, -kInf, 0, -0.0, 1.5, -2.5});
  for (const OpDef* op : kArithmetic) check_lowering(*op, {x, x.reshaped({7})});
  for (const OpDef* op : kComparisons) check_lowering(*op, {x, x.reshaped({7})});
}

TEST(Binary, UnsignedIntegersOf64BitsAreNotSigned) {
  Tensor large(kUInt64, {2}), small(kUInt64, {2});
  large.set_int(0, -1), large.set_int(1, INT64_MIN);
  small.set_int(0, 3), small.set_int(1, 3);
  EXPECT_EQ(evaluate(kLess, {small, large}).ints(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(evaluate(kMaximum, {small, large}).ints(), (std::vector<int64_t>{-1, INT64_MIN}));
  EXPECT_EQ(evaluate(kDivide, {large, small}).ints(),
            (std::vector<int64_t>{0x5555555555555555, 0x2aaaaaaaaaaaaaaa}));
  EXPECT_EQ(evaluate(kRightShift, {large, small}).ints(),
            (std::vector<int64_t>{0x1fffffffffffffff, 0x1000000000000000}));
  for (const OpDef* op : kComparisons) check_lowering(*op, {small, large});
  for (const OpDef* op : kArithmetic) check_lowering(*op, {large, small});
}

// Both the evaluation and the lowering.
void expect_trap(const OpDef& op, const Tensor& x, const Tensor& y, const std::string& message) {
  SCOPED_TRACE(op.name);
  Context context;
  try {
    evaluate(context, op, std::vector<Value>{x, y}, {});
    ADD_FAILURE() << "evaluation did not trap";
  } catch (const Trap& trap) {
    EXPECT_EQ(trap.what(), cat("`", op.name, "`: ", message));
  }
  const kernel::Kernel k = lower(context, op, {type_of(context, x), type_of(context, y)}, {});
  try {
    kernel::execute(k, std::vector<Tensor>{x, y});
    ADD_FAILURE() << "the lowering did not trap";
  } catch (const Trap& trap) {
    EXPECT_EQ(trap.what(), cat("`", op.name, "`: ", message));
  }
}

TEST(Binary, DivisionsTrap) {
  for (const OpDef* op : {&kDivide, &kMod, &kFloorDivide, &kFloorMod, &kTruncDivide, &kTruncMod}) {
    for (const DType d : {kInt8, kUInt8, kInt32, kInt64, kUInt64}) {
      expect_trap(*op, Tensor::scalar_int(d, 5), Tensor::scalar_int(d, 0), "integer division by zero");
    }
    expect_trap(*op, Tensor::scalar_int(kInt8, -128), Tensor::scalar_int(kInt8, -1),
                "integer quotient does not fit");
    expect_trap(*op, Tensor::scalar_int(kInt64, INT64_MIN), Tensor::scalar_int(kInt64, -1),
                "integer quotient does not fit");
  }
}

TEST(Binary, ShiftsTrap) {
  for (const OpDef* op : {&kLeftShift, &kRightShift}) {
    expect_trap(*op, Tensor::scalar_int(kInt32, 1), Tensor::scalar_int(kInt32, 32),
                "shift by at least the width");
    expect_trap(*op, Tensor::scalar_int(kInt32, 1), Tensor::scalar_int(kInt32, -1),
                "shift by at least the width");
    expect_trap(*op, Tensor::scalar_int(kUInt8, 1), Tensor::scalar_int(kUInt8, 255),
                "shift by at least the width");
  }
}

TEST(Binary, RelationsBroadcastSymbolicShapes) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  const auto type = [&](const std::vector<Dim>& dims) { return c.tensor_type(dims, kFloat32); };
  EXPECT_EQ(infer_text(c, kAdd, {type({n, 3}), type({1, 3})}), "Tensor[(n, 3), float32]");
  EXPECT_EQ(infer_text(c, kAdd, {type({n, 3}), type({n, 1})}), "Tensor[(n, 3), float32]");
  EXPECT_EQ(infer_text(c, kAdd, {type({n}), type({8})}), "Tensor[(8), float32]");
  EXPECT_EQ(infer_text(c, kAdd, {type({Dim::unknown()}), type({8})}), "Tensor[(8), float32]");
  EXPECT_EQ(infer_text(c, kAdd, {type({Dim::unknown()}), type({1})}), "Tensor[(?), float32]");
  EXPECT_EQ(infer_text(c, kAdd, {type({2, 3}), type({2, 4})}),
            "shapes do not broadcast: dimension 1 is 3 and 4");
  EXPECT_EQ(infer_text(c, kAdd, {type({2}), c.scalar_type(kInt32)}),
            "expected float32 as in argument 0, found int32");

  const Type either[] = {type({n}), type({m})};
  Relation r(c, either);
  kAdd.relate(r, {});
  ASSERT_EQ(r.checks().size(), 1u);
  EXPECT_EQ(r.checks()[0].fit, DimCheck::Fit::kBroadcast);
}

// Where only the run tells whether an extent is 1. What does not broadcast is refused before
// (passes/lower.cc).
TEST(Binary, LoweringBroadcastsUnknownExtents) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  const std::vector<Type> types{c.tensor_type({n, Dim(2)}, kFloat32), c.tensor_type({m, Dim(1)}, kFloat32)};
  const kernel::Kernel k = lower(c, kSubtract, types, {});
  for (const auto& [p, q] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 3}, {1, 4}, {4, 1}, {1, 1}, {0, 1}, {1, 0}}) {
    const Tensor x = random(kFloat32, {p, 2}, 1), y = random(kFloat32, {q, 1}, 2);
    EXPECT_TRUE(identical(kernel::execute(k, std::vector<Tensor>{x, y})[0], evaluate(kSubtract, {x, y})))
        << p << " " << q;
  }
}

TEST(Where, ChoosesElementByElement) {
  const Tensor c = random(kBool, {2, 3}, 4);
  check_gradient(kWhere, {c, random(kFloat64, {2, 3}, 1), random(kFloat64, {3}, 2)});
  check_gradient(kWhere, {c.reshaped({2, 1, 3}), random(kFloat64, {}, 1), random(kFloat64, {4, 1}, 2)});
  for (const DType d : {kBool, kInt8, kInt64, kFloat16, kFloat32}) {
    check_lowering(kWhere, {c, random(d, {2, 3}, 1), random(d, {2, 1}, 2)});
    check_lowering(kWhere, {random(kBool, {}, 1), random(d, {4}, 1), random(d, {}, 2)});
    check_lowering(kWhere, {random(kBool, {5, 1}, 1), random(d, {4}, 1), random(d, {4}, 2)});
  }
}

}  // namespace
}  // namespace relay::op::testing
