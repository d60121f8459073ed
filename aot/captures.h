// The captures of a function literal: what it mentions and does not bind itself, in the order in
// which its body mentions it.
//
// These are variables, and shared nodes that are evaluated further out (docs/semantics.md,
// "Sharing"). Each function is walked once: linear in the program and in the captures, however deep
// functions nest.
#pragma once

#include <vector>

#include "ir/analysis.h"

namespace relay::aot {

// Of all function literals in the body, whose scopes these are.
NodeMap<std::vector<Expr>> find_captures(Expr body, const Scopes& scopes);

}  // namespace relay::aot
