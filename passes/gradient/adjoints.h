// Adjoints of operators, and of what is made of tensors and tuples: what both ways to differentiate
// a program have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "op/op_def.h"

namespace relay::passes::gradient {

// Does a tensor of floats stand in it, outside of functions, data types and cells? Only floats have
// a gradient that is not zero.
bool holds_floats(Type t);

// The value in the structure of `like`, which is of tensors: each tensor of floats `f` of its
// place, each other tensor zeros.
Expr map_floats(Builder& b, Expr like, const std::function<Expr(Expr place)>& f);
Expr zeros(Builder& b, Expr like);  // zeros everywhere
Expr ones(Builder& b, Expr like);   // ones for floats: the adjoint of the sum of all of them
Expr sum(Builder& b, Expr x, Expr y);

// The adjoints of an operator's arguments: null where one is zero. If there are none, `reason`
// says why.
struct OperatorAdjoints {
  std::vector<Expr> of;
  std::string reason = {};
};
// Of a call with these arguments, the result y and its adjoint dy. All are typed, and cheap to use
// more than once.
OperatorAdjoints adjoints_of(Builder& b, const Call& call, std::span<const Expr> args, Expr y, Expr dy);

}  // namespace relay::passes::gradient
