// Comparisons, and the logic of their results (see op/math/binary.h).
#include "op/math/binary.h"

namespace relay::op {

// equal(x, y) = (x == y)
const OpDef kEqual = binary({
    .name = "equal",
    .doc = "Whether both are the same; NaN never is.",
    .real = [](DType, double x, double y) -> double { return x == y; },
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x == y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return equal(x, y); },
    .domain = Domain::kAny,
    .asks = true,
    .commutative = true,
    .not_differentiable = kBooleanResult,
});

// not_equal(x, y) = (x != y)
const OpDef kNotEqual = binary({
    .name = "not_equal",
    .doc = "Whether both differ; NaN always does.",
    .real = [](DType, double x, double y) -> double { return x != y; },
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x != y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return not_equal(x, y); },
    .domain = Domain::kAny,
    .asks = true,
    .commutative = true,
    .not_differentiable = kBooleanResult,
});

// less(x, y) = (x < y)
const OpDef kLess = binary({
    .name = "less",
    .doc = "Whether the left operand is below the right one.",
    .real = [](DType, double x, double y) -> double { return x < y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return integer_less(d, x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less(x, y); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

// less_equal(x, y) = (x <= y)
const OpDef kLessEqual = binary({
    .name = "less_equal",
    .doc = "Whether the left operand is at most the right one.",
    .real = [](DType, double x, double y) -> double { return x <= y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return !integer_less(d, y, x); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less_equal(x, y); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

// greater(x, y) = (x > y)
const OpDef kGreater = binary({
    .name = "greater",
    .doc = "Whether the left operand is above the right one.",
    .real = [](DType, double x, double y) -> double { return x > y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return integer_less(d, y, x); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less(y, x); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

// greater_equal(x, y) = (x >= y)
const OpDef kGreaterEqual = binary({
    .name = "greater_equal",
    .doc = "Whether the left operand is at least the right one.",
    .real = [](DType, double x, double y) -> double { return x >= y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return !integer_less(d, x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less_equal(y, x); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

// logical_and(x, y) = x and y
const OpDef kLogicalAnd = binary({
    .name = "logical_and",
    .doc = "Whether both are true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x && y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return logical_and(x, y); },
    .domain = Domain::kBool,
    .commutative = true,
    .not_differentiable = kBooleanResult,
});

// logical_or(x, y) = x or y
const OpDef kLogicalOr = binary({
    .name = "logical_or",
    .doc = "Whether at least one is true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x || y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return logical_or(x, y); },
    .domain = Domain::kBool,
    .commutative = true,
    .not_differentiable = kBooleanResult,
});

// logical_xor(x, y) = (x != y)
const OpDef kLogicalXor = binary({
    .name = "logical_xor",
    .doc = "Whether exactly one is true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x != y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return not_equal(x, y); },
    .domain = Domain::kBool,
    .commutative = true,
    .not_differentiable = kBooleanResult,
});

}  // namespace relay::op
