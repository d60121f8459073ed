#include "passes/gradient/prepare.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/type_parts.h"
#include "op/any_type.h"
#include "op/registry.h"
#include "passes/expand.h"
#include "passes/gradient/kernels.h"
#include "passes/let_insertion.h"
#include "passes/pipeline.h"
#include "typecheck/check.h"

namespace relay::passes::gradient {

namespace {

// Only tensors and tuples of them have adjoints. A checkpoint of another value, as of a list, says
// nothing to a gradient.
Module without_checkpoints_of_others(const Module& m) {
  return rewrite(m, [](relay::Builder&, Expr e) -> Expr {
    const op::OpDef* def = op::callee(e);
    return def && op::takes_any_type(*def) && !is_of_tensors(e->type) ? e->as<Call>()->args[0] : e;
  });
}

}  // namespace

Result<Module> prepared(const Module& m, const PassContext& pass, bool tangents) {
  const size_t errors = pass.diagnostics.errors();
  PassContext inner{pass.diagnostics, step(kMonomorphise).values, pass.target, pass.schedule};
  const Module known = kMonomorphise.run(m, inner);
  if (pass.diagnostics.errors() > errors) return kReported;
  const Result<Module> checked = typecheck::check(known, pass.diagnostics);
  if (!checked) return kReported;
  const Module typed = without_checkpoints_of_others(*checked);
  const auto needs_expansion = [](const op::OpDef& op) { return !op.differentiate; };
  const Result<Module> expanded =
      typecheck::check(with_inserted_lets(call_operator_values(typed),
                                          [&](const Module& now, analysis::TrapOrder traps) {
                                            return expand_operators(now, traps, needs_expansion);
                                          }),
                       pass.diagnostics);
  if (!expanded) return kReported;
  const Module out = with_gradients_of_kernels(*expanded, tangents);
  return out.same(*expanded) ? expanded : typecheck::check(out, pass.diagnostics);
}

Module with_former_root(Module out, const gradient::Program& program) {
  const Symbol main = program.reached()[0];
  bool called = false;
  for (const auto& [name, fn] : out.functions()) {
    const std::vector<Symbol> names = mentioned_globals(fn);
    called |= std::find(names.begin(), names.end(), main) != names.end();
  }
  if (!called) return out;
  const std::string former = program.new_name(main.text(), "_before");
  out.set_function(former, program.module().function(main.text()));
  return rewrite(out, [&](relay::Builder& b, Expr e) -> Expr {
    const auto* global = e->as<Global>();
    return global && global->name == main ? b.global(former, global->type) : e;
  });
}

}  // namespace relay::passes::gradient
