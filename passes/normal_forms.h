// Normal forms: what the passes `to-...-form` promise, as conditions that tests ask of their
// results.
//
// Functions marked Primitive are one kernel each. They are looked into by none of the forms.
#pragma once

#include <string>
#include <vector>

#include "analysis/effects.h"
#include "ir/module.h"
#include "passes/let_removal.h"

namespace relay::passes {

// Evaluating it runs nothing: a leaf, or a function, which becomes a closure.
inline bool is_value(Expr e) { return is_leaf(e) || e->kind == ExprKind::kFn; }
// A function that becomes one kernel.
inline bool is_primitive(Expr e) {
  const auto* fn = e->as<Fn>();
  return fn && fn->attrs.flag("Primitive");
}

// Is the let there for none of the reasons that graph normal form has for one? `effects` are those
// of the module.
bool is_needless(const Let& let, LetUses uses, analysis::Effects& effects);

// Of each child of the expression: its type if it is an operator, a constructor or a global
// function that stands there as a value of a known type, else null. Empty if there is none.
std::vector<const FnType*> function_values(const Module& m, Expr e);

// Each condition returns the first place that breaks it, or an empty text.

// A-normal form: operands are values, no let stands in the value of a let, and nothing but
// functions is shared.
std::string breaks_a_normal_form(const Module& m);
// Basic-block form: each use of a shared expression is in the evaluation region in which it is
// evaluated. Functions may be shared anywhere.
std::string breaks_basic_block_form(const Module& m);
// Graph normal form: a let is there only for a function that mentions itself, for what can be
// noticed, for what would be evaluated elsewhere without it, or for a type.
std::string breaks_graph_normal_form(const Module& m);

// Operators, constructors with fields and global functions are called, and are values only where
// `function_values` says nothing.
std::string breaks_eta_expansion(const Module& m);

}  // namespace relay::passes
