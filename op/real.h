// Real: a number of a floating-point dtype, for formulas that are written once.
//
// A formula is a template over T. With `Real` it is evaluated, with `kernel::Expr` it is lowered.
// Both round after each operation, so that both choose the same pixel and suppress the same box.
// Operands have one dtype. Whole numbers are int64_t beside Real, and an Expr of int64 beside Expr;
// conditions are bool and an Expr of bool.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernel/scalar.h"

namespace relay::op {

struct Real {
  double value;
  DType dtype;
};

template <class T>
using Whole = std::conditional_t<std::is_same_v<T, Real>, int64_t, kernel::Expr>;
template <class T>
using Truth = std::conditional_t<std::is_same_v<T, Real>, bool, kernel::Expr>;

inline Real rounded(DType dtype, double value) { return {kernel::scalar::round_to(dtype, value), dtype}; }

inline Real operator+(Real a, Real b) { return rounded(a.dtype, a.value + b.value); }
inline Real operator-(Real a, Real b) { return rounded(a.dtype, a.value - b.value); }
inline Real operator*(Real a, Real b) { return rounded(a.dtype, a.value * b.value); }
inline Real operator/(Real a, Real b) { return rounded(a.dtype, a.value / b.value); }
inline bool less(Real a, Real b) { return a.value < b.value; }
inline bool less_equal(Real a, Real b) { return a.value <= b.value; }
inline bool equal(Real a, Real b) { return a.value == b.value; }
inline Real min(Real a, Real b) { return {kernel::scalar::least(a.value, b.value), a.dtype}; }
inline Real max(Real a, Real b) { return {kernel::scalar::greatest(a.value, b.value), a.dtype}; }
inline Real select(bool condition, Real a, Real b) { return condition ? a : b; }
inline Real floor(Real a) { return {std::floor(a.value), a.dtype}; }
inline Real ceil(Real a) { return {std::ceil(a.value), a.dtype}; }
inline Real round(Real a) { return {std::nearbyint(a.value), a.dtype}; }  // halves to even
inline Real magnitude(Real a) { return {std::fabs(a.value), a.dtype}; }
inline Real exp(Real a) { return rounded(a.dtype, std::exp(a.value)); }
inline kernel::Expr floor(kernel::Expr a) { return math(kernel::Math::kFloor, a); }
inline kernel::Expr ceil(kernel::Expr a) { return math(kernel::Math::kCeil, a); }
inline kernel::Expr round(kernel::Expr a) { return math(kernel::Math::kRound, a); }
inline kernel::Expr magnitude(kernel::Expr a) { return math(kernel::Math::kAbs, a); }

inline bool both(bool a, bool b) { return a && b; }
inline kernel::Expr both(kernel::Expr a, kernel::Expr b) { return logical_and(a, b); }
inline bool either(bool a, bool b) { return a || b; }
inline kernel::Expr either(kernel::Expr a, kernel::Expr b) { return logical_or(a, b); }

// Returns a number of the dtype that `like` has.
inline Real number(Real like, double value) { return rounded(like.dtype, value); }
inline kernel::Expr number(kernel::Expr like, double value) { return like->pool->real(value, like->dtype); }
// Return the number in the dtype that `like` has, and in float64.
inline Real in_dtype_of(Real like, Real a) { return rounded(like.dtype, a.value); }
inline kernel::Expr in_dtype_of(kernel::Expr like, kernel::Expr a) { return cast(like->dtype, a); }
inline Real wider(Real a) { return {a.value, kFloat64}; }
inline kernel::Expr wider(kernel::Expr a) { return cast(kFloat64, a); }
// Returns a whole number as one of the dtype that `like` has.
inline Real real_of(Real like, int64_t value) { return rounded(like.dtype, static_cast<double>(value)); }
inline kernel::Expr real_of(kernel::Expr like, kernel::Expr value) { return cast(like->dtype, value); }
// Returns the number without its fraction, as a cast does: see integer_of_real.
inline int64_t whole_of(Real a) { return kernel::scalar::to_integer(kInt64, a.value); }
inline kernel::Expr whole_of(kernel::Expr a) { return cast(kInt64, a); }

// Whole numbers.
inline int64_t whole(int64_t, int64_t value) { return value; }
inline kernel::Expr whole(kernel::Expr like, int64_t value) { return like->pool->integer(value); }
// Returns the number in [low, high] that is nearest to `value`.
inline int64_t between(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}
inline kernel::Expr between(kernel::Expr value, kernel::Expr low, kernel::Expr high) {
  return min(max(value, low), high);
}
// Is the index in [0, extent)?
inline bool is_inside(int64_t index, int64_t extent) { return index >= 0 && index < extent; }
inline kernel::Expr is_inside(kernel::Expr index, kernel::Expr extent) {
  return logical_and(less_equal(index->pool->integer(0), index), less(index, extent));
}

}  // namespace relay::op
