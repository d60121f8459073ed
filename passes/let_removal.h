// Let removal: what lets name takes the place of the names.
//
// The value becomes a node that all uses share, which is evaluated once where the first scope with
// all uses begins: later than the let or not at all. A use inside a function is another matter:
// there it would be evaluated in each call.
#pragma once

#include <functional>

#include "ir/traverse.h"

namespace relay::passes {

// How the variable of a let is used.
struct LetUses {
  bool in_function = false;  // in a function that does not contain the let
  bool as_value = false;     // elsewhere than as a callee
  bool in_itself = false;    // in the value, which is a function
};
// By the variables.
NodeMap<LetUses> let_uses(Expr root);

// The expression without the lets that `goes` is true for. It is asked twice of each let at most
// and has to give one answer. Linear.
Expr remove_lets(Context& context, Expr root, const std::function<bool(const Let&, LetUses)>& goes);

}  // namespace relay::passes
