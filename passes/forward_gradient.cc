// forward-gradient: @main takes tangents and gives the tangent of its value.
//
//   def @main(%x: float32) { sin(%x) }                        becomes
//   def @main(%x: float32, %d_x: float32) { (sin(%x), multiply(%d_x, cos(%x))) }
//
// A function fn(T...) -> R becomes fn(T..., T...) -> (R, R): the Jacobian of the function at its
// arguments times the tangents. One run gives one direction, however many results there are; the
// pass `gradient` gives all directions of one result. Integers and booleans have tangents, too,
// which are not looked at; theirs in the result are zero. docs/gradients.md.
//
// Before: @main and what it calls have derivatives; else the pass says what has none. After: @main
// takes twice as many arguments, and gives a pair.
#include "passes/gradient/forward.h"

#include "passes/gradient/prepare.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext& pass) {
  if (!m.function("main")) return m;
  const Result<Module> now = gradient::prepared(m, pass, /*tangents=*/true);
  if (!now) return m;
  const gradient::Program program(*now, gradient::Wanted(), pass.diagnostics);
  if (!program.is_differentiable()) return m;
  return gradient::with_former_root(gradient::differentiate_forward(program), program);
}

}  // namespace

const Pass kForwardGradient = {
    .name = "forward-gradient",
    .doc = "make @main take tangents and give the tangent of its value, too",
    .approximates = true,  // the result means something else: it is compared with none before
    .run = run,
};

}  // namespace relay::passes
