// expand-operators: operators that are defined by others are written out in those.
//
// Afterwards every operator call has a lowering of its own, and fusion sees the parts. An
// operator that is a value, as in `fold(add, ...)`, becomes a function that calls it, which is
// compiled like any other.
//
// Before: nothing is asked for. After: no operator is left that is defined by others, but for calls
// on values of type parameters.
#include "passes/expand.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module expand_all(const Module& m, analysis::TrapOrder traps) {
  return expand_operators(call_operator_values(m), traps, [](const op::OpDef&) { return true; });
}

// Arguments that become lets are evaluated one after the other, with all that is shared in each.
Module run(const Module& m, const PassContext&) { return with_inserted_lets(m, expand_all); }

}  // namespace

const Pass kExpandOperators = {
    .name = "expand-operators",
    .doc = "write operators that are defined by others out in those",
    .run = run,
};

}  // namespace relay::passes
