// Rewriting calls and tuples without changing when their parts are evaluated.
#pragma once

#include <functional>

#include "analysis/effects.h"
#include "ir/builder.h"
#include "ir/module.h"
#include "op/op_def.h"

namespace relay::passes {

// A call of an operator that is defined by others, written out in those. An expansion may use an
// argument never or several times: one whose evaluation can be noticed is bound by a let, so that
// it is evaluated once, where it was. A call on values of type parameters stays.
Expr expand_in_place(Builder& b, const op::OpDef& op, const Call& call, analysis::Effects& effects);

// (e0, e1).1 is e1 if nobody can tell; otherwise the projection itself.
Expr field_of_tuple(const Proj& proj, analysis::Effects& effects);

// Operators that are values, as in `fold(add, ...)`, become functions that call them.
Module call_operator_values(const Module& m);

// Writes out the operators that `which` wants, and those that appear by it. Use it by
// `with_inserted_lets` (let_insertion.h).
Module expand_operators(const Module& m, analysis::TrapOrder traps,
                        const std::function<bool(const op::OpDef&)>& which);

}  // namespace relay::passes
