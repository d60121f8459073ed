// Captures: what each function literal mentions and does not bind itself, in the order in which its body mentions it.
//
// That is variables, and shared nodes that are evaluated further out (docs/semantics.md, "Sharing"). Each function is gone through
// once: linear in the program and in what is captured, however deeply functions are nested.
#pragma once

#include <vector>

#include "ir/analysis.h"

namespace relay::aot {

// Of all function literals in the body, whose scopes these are.
NodeMap<std::vector<Expr>> find_captures(Expr body, const Scopes& scopes);

}  // namespace relay::aot
