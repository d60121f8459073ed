// canonicalise-ops: an operator that is another one in other words becomes that one.
//
//   nn.bias_add(%x, %b)   becomes   add(%x, expand_dims(%b, axis=1, num_newaxis=2))
//
// So passes that look for additions find all of them. `expand-operators` does this and much more:
// it also writes out what other passes look for, such as normalisations.
//
// Before: types are known. After: there is no nn.bias_add but on values of type parameters.
#include "op/ops.h"
#include "passes/expand.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module canonicalise(const Module& m, analysis::TrapOrder traps) {
  return expand_operators(m, traps, [](const op::OpDef& def) { return def.name == op::kBiasAdd.name; });
}

// Arguments that become lets are evaluated one after the other, with all that is shared in each.
Module run(const Module& m, const PassContext&) { return with_inserted_lets(m, canonicalise); }

}  // namespace

const Pass kCanonicaliseOps = {
    .name = "canonicalise-ops",
    .doc = "write nn.bias_add as an addition",
    .run = run,
};

}  // namespace relay::passes
