// Tangents of operators: how far the result of a call moves if its arguments move.
//
// Operators have rules for adjoints alone. A rule gives each argument's adjoint as a function of
// the result's, and that function is linear: of x * y the adjoint of x is dy * y. Transposing it,
// which is differentiating it with respect to dy, gives the tangent: y * dx. So every operator has
// a tangent whose rule is made of operators that have rules.
#pragma once

#include <span>
#include <string>

#include "ir/builder.h"

namespace relay::passes::gradient {

// The tangent of a call's result; null where it is zero, and if `reason` says that there is none.
struct OperatorTangent {
  Expr of = nullptr;
  std::string reason = {};
};
// Of a call with these arguments and the result y. `tangents`: of the arguments, null where one is
// zero. All are typed, and cheap to use more than once.
OperatorTangent tangent_of(Builder& b, const Call& call, std::span<const Expr> args, Expr y,
                           std::span<const Expr> tangents);

}  // namespace relay::passes::gradient
