// The captures of a function literal: what it mentions and does not bind itself, in the order in
// which its body mentions it.
//
// These are variables, and shared nodes that are evaluated further out (docs/semantics.md,
// "Sharing"). Each function is walked once: linear in the program and in the captures, however deep
// functions nest.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "aot/program.h"
#include "ir/analysis.h"

namespace relay::aot {

// Of all function literals in the body, whose scopes these are.
NodeMap<std::vector<Expr>> find_captures(Expr body, const Scopes& scopes);

// The shape variables that the function literal mentions in what is printed of it, of those that
// are known around it, in the order in which they were made. What has a value there is captured, so
// its own shape variables are not asked for: they may be those of a branch that has ended.
std::vector<const kernel::ExprNode*> find_captured_extents(const Fn& fn,
                                                           const std::unordered_map<Expr, View>& views,
                                                           const std::function<bool(Expr)>& has_value,
                                                           const std::function<bool(kernel::Expr)>& is_known);

}  // namespace relay::aot
