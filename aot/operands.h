// The operands of an expression: what generated code evaluates before the expression itself.
#pragma once

#include <functional>
#include <vector>

#include "ir/module.h"

namespace relay::aot {

// In order. Control forms evaluate theirs in blocks, and literals of functions none. `is_direct`
// holds for a callee that code calls by its name; kernels and constructors are called so, too.
std::vector<Expr> operands_of(Expr e, const Module& module, const std::function<bool(Expr)>& is_direct);

}  // namespace relay::aot
