#include "passes/gradient/prepare.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/op_def.h"
#include "passes/expand.h"
#include "passes/let_insertion.h"
#include "passes/pipeline.h"
#include "typecheck/check.h"

namespace relay::passes::gradient {

Result<Module> prepared(const Module& m, const PassContext& pass) {
  const size_t errors = pass.diagnostics.errors();
  PassContext inner{pass.diagnostics, step(kMonomorphise).values, pass.target, pass.schedule};
  const Module known = kMonomorphise.run(m, inner);
  if (pass.diagnostics.errors() > errors) return kReported;
  const Result<Module> typed = typecheck::check(known, pass.diagnostics);
  if (!typed) return kReported;
  const auto needs_expansion = [](const op::OpDef& op) { return !op.differentiate; };
  return typecheck::check(with_inserted_lets(call_operator_values(*typed),
                                             [&](const Module& now, analysis::TrapOrder traps) {
                                               return expand_operators(now, traps, needs_expansion);
                                             }),
                          pass.diagnostics);
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
