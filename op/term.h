// Term: an expression together with the builder it is made by, so that a gradient or an expansion
// reads as the formula it is. A number takes the dtype of the term beside it.
#pragma once

#include "op/apply.h"
#include "op/ops.h"

namespace relay::op {

struct Term {
  Builder* b;
  Expr e;
  Term(Builder& builder, Expr expr) : b(&builder), e(expr) {}
  operator Expr() const { return e; }
  DType dtype() const { return e->type->as<TensorType>()->dtype; }
  Term number(double value) const { return {*b, b->scalar(dtype(), value)}; }
  Term apply(const OpDef& op, std::initializer_list<Expr> args,
             const std::vector<AttrArg>& attrs = {}) const {
    return {*b, call(*b, op, args, attrs)};
  }
};

inline Term operator+(Term x, Term y) { return x.apply(kAdd, {x, y}); }
inline Term operator-(Term x, Term y) { return x.apply(kSubtract, {x, y}); }
inline Term operator*(Term x, Term y) { return x.apply(kMultiply, {x, y}); }
inline Term operator/(Term x, Term y) { return x.apply(kDivide, {x, y}); }
inline Term operator+(Term x, double y) { return x + x.number(y); }
inline Term operator+(double x, Term y) { return y.number(x) + y; }
inline Term operator-(Term x, double y) { return x - x.number(y); }
inline Term operator-(double x, Term y) { return y.number(x) - y; }
inline Term operator*(double x, Term y) { return y.number(x) * y; }
inline Term operator/(Term x, double y) { return x / x.number(y); }
inline Term operator/(double x, Term y) { return y.number(x) / y; }
inline Term operator-(Term x) { return x.apply(kNegative, {x}); }
inline Term less(Term x, Term y) { return x.apply(kLess, {x, y}); }
inline Term where(Term condition, Term x, Term y) { return x.apply(kWhere, {condition, x, y}); }

}  // namespace relay::op
