// @PATH@: leave every expression as it is.
//
// Unchanged means the same pointer, so that the runner sees that nothing happened.
#include "ir/rewrite.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [&](relay::Builder&, Expr e) -> Expr { return e; });
}

}  // namespace

const Pass kTemplate = {
    .name = "@NAME@",
    .doc = "leave every expression as it is",
    .run = run,
};
}  // namespace relay::passes
