// Let insertion: shared expressions, written as lets.
//
// A shared expression is evaluated where its scope begins (docs/semantics.md, "Sharing"). A pass
// that dissolves a scope or drops a use may so move an evaluation. Once what can be noticed is
// bound by lets, which say where it is evaluated, it cannot: what is still shared may be
// evaluated at any time.
#pragma once

#include <functional>

#include "analysis/effects.h"
#include "ir/analysis.h"
#include "ir/module.h"

namespace relay::passes {

// Binds shared expressions by lets where their scopes begin, in evaluation order. Where `which`
// wants one of a scope, all of that scope are bound that can be noticed. Functions stay: making one
// is no evaluation.
Expr insert_lets(const Module& m, Expr root, const std::function<bool(Expr)>& which);

// A pass that may move what is shared, or, where the order of traps is kept, only
// what does not trap.
using MovingPass = std::function<Module(const Module&, analysis::TrapOrder)>;

// What `pass` makes of the module, which must not be noticed by what is shared: if it changes
// anything, it is given the module with all lets that this needs. If traps were exchanged all the
// same, it runs once more and keeps their order.
Module with_inserted_lets(const Module& m, const MovingPass& pass);

}  // namespace relay::passes
