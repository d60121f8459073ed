// Dim: one extent of a shape: a constant, a symbolic expression over shape variables,
// or unknown (`?`).
//
// Arithmetic of dims never wraps. A result beyond 64 bits is `too_large`: an unknown that every
// further result inherits, and that no type holds, because op::infer and Relation::same refuse it.
#pragma once

#include <span>
#include <string>

#include "base/check.h"
#include "kernel/expr.h"

namespace relay {

class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  // A symbolic dim; a constant expression becomes a constant dim.
  Dim(kernel::Expr e) {
    if (e->kind == kernel::ExprKind::kInt) {
      value_ = e->int_value;
    } else {
      symbolic_ = e;
    }
  }
  static Dim unknown() {
    Dim d;
    d.value_ = kUnknown;
    return d;
  }

  static Dim too_large() {
    Dim d = unknown();
    d.too_large_ = true;
    return d;
  }

  bool is_const() const { return !symbolic_ && value_ != kUnknown; }
  bool is_symbolic() const { return static_cast<bool>(symbolic_); }
  bool is_unknown() const { return !symbolic_ && value_ == kUnknown; }
  bool is_too_large() const { return too_large_; }  // then is_unknown(), too
  // Would proofs and texts take too long, and recursion go too deep? Arithmetic is exact all the
  // same; results of operators have such extents unknown (op::relate).
  bool is_too_complex() const {
    return symbolic_ && (symbolic_->depth > kMostDepth || symbolic_->weight > kMostNodes);
  }
  int64_t value() const { return value_; }             // if is_const()
  kernel::Expr symbolic() const { return symbolic_; }  // if is_symbolic()
  // As an index expression; the dim must not be unknown.
  kernel::Expr expr(kernel::ExprPool& pool) const {
    CHECK(!is_unknown(), "an unknown extent has no expression");
    return symbolic_ ? symbolic_ : pool.integer(value_);
  }

  // Equal as texts of the type: `?` equals `?` here, though two unknown extents may
  // differ at run time.
  friend bool operator==(Dim, Dim) = default;

 private:
  static constexpr int64_t kUnknown = INT64_MIN;
  static constexpr uint32_t kMostDepth = 200;   // of the expression
  static constexpr uint32_t kMostNodes = 2000;  // of its tree, in which what is shared stands several times
  int64_t value_ = 0;
  kernel::Expr symbolic_;
  bool too_large_ = false;
};

// Arithmetic: unknown if an operand is unknown; too large if one is, or if a constant of the result
// does not fit 64 bits. But 0 times anything is 0.
Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim floor_div(Dim a, Dim b);  // unknown for a divisor of zero
Dim floor_mod(Dim a, Dim b);
Dim ceil_div(Dim a, Dim b);
// The extent e with e * factor == whole for every value of their variables; unknown if there is
// none that is known. What `-1` in a shape stands for: unlike a floor_div it needs no factor
// other than zero.
Dim exact_quotient(Dim whole, Dim factor);
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
// The extent of two that are equal, or one of which is 1.
Dim broadcast(Dim a, Dim b);
Dim product(std::span<const Dim> dims);  // 1 of none; 0 if any is

// The product of the dims that are positive constants; 2^62 if it is more. For
// estimates and bounds.
int64_t constant_part(std::span<const Dim> dims);

// Are two dims equal for every value of their variables? Unknown dims give kUnknown.
kernel::Proof prove_equal(Dim a, Dim b);

std::string show(Dim d);  // "8", "2*n + 1", "?"

}  // namespace relay
