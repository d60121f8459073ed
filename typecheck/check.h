// The type checker: every expression gets its type, or the program gets diagnostics.
//
// Inference after Hindley and Milner with let-polymorphism; operators take part through their
// relations, which are asked when what they need is known. Linear in practice, and iterative:
// programs may be nested as deeply as memory allows. docs/semantics.md has the typing rules.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"

namespace relay::typecheck {

// Two dims that the checker could neither prove nor refute equal, to be compared when
// the program runs.
struct RunTimeCheck {
  Expr at;  // the call, or else the expression whose value is meant
  Dim expected, actual;
  bool broadcasts = false;  // it is enough that `actual` is 1, or that either is
};

struct Checked {
  Module module;                     // every expression has its type
  std::vector<RunTimeCheck> checks;  // `at` is an expression of `module`
};

// Reports every independent mistake. Types that are there already are checked like everything else;
// expressions whose type was right stay the same pointers, so a module that is typed throughout
// comes back `same`.
Result<Checked> infer(const Module& m, Diagnostics& diagnostics);
Result<Module> check(const Module& m, Diagnostics& diagnostics);

}  // namespace relay::typecheck
