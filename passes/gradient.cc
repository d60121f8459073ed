// gradient: @main gives its value and the gradients of its parameters.
//
//   def @main(%x: float32) { multiply(%x, %x) }       becomes
//   def @main(%x: float32) { let %t = multiply(%x, %x);
//                            let %d = ones_like(%t);
//                            (%t, (add(multiply(%d, %x), multiply(%d, %x)),)) }
//
// A function fn(T...) -> R becomes fn(T...) -> (R, (T...)). What is differentiated is the sum of
// all floats of the result; integers and booleans have the gradient zero. docs/gradients.md.
//
// Before: @main and what it calls have gradients; else the pass says what has none. After: @main
// gives a tuple of its value and of the gradients.

#include "base/cat.h"
#include "passes/gradient/augment.h"
#include "passes/gradient/checkpoints.h"
#include "passes/gradient/prepare.h"
#include "passes/gradient/straight.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext& pass) {
  if (!m.function("main")) return m;
  const Result<Module> known = gradient::prepared(m, pass);
  const Result<Module> now = known ? gradient::with_checkpoints(*known, pass.diagnostics) : kReported;
  if (!now) return m;
  gradient::Wanted wanted;
  wanted.value = pass.value("value") != 0;
  wanted.parameter = static_cast<size_t>(pass.value("wrt"));
  const gradient::Program program(*now, wanted, pass.diagnostics);
  const Fn* main = now->function("main");
  if (wanted.parameter > main->params.size()) {
    pass.diagnostics.error(main->span, "bad-pipeline",
                           cat("parameter `wrt` of pass `gradient` is ", wanted.parameter, "; `@main` takes ",
                               main->params.size()));
    return m;
  }
  if (!program.is_differentiable()) return m;
  return gradient::with_former_root(program.is_straight() ? gradient::differentiate_straight(program)
                                                          : gradient::differentiate_any(program),
                                    program);
}

}  // namespace

const Pass kGradient = {
    .name = "gradient",
    .doc = "make @main give the gradients of its parameters, too",
    .parameters = {{"wrt", 0, "the parameter, counted from 1, whose gradient is wanted; 0: each", 0, 1 << 20},
                   {"value", 1, "1: with the value of @main; 0: the gradients alone", 0, 1}},
    .approximates = true,  // the result means something else: it is compared with none before
    .run = run,
};

}  // namespace relay::passes
