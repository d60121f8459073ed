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
#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/op_def.h"
#include "passes/expand.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/augment.h"
#include "passes/gradient/program.h"
#include "passes/gradient/straight.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "passes/type_parts.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// The module with types that are known, in operators that have rules. Nothing after an error.
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

// Reports what of @main is not made of tensors.
bool is_differentiable(const gradient::Program& program) {
  const size_t errors = program.diagnostics().errors();
  const Fn* main = program.module().function("main");
  if (program.wanted().parameter > main->params.size()) {
    program.diagnostics().error(main->span, "bad-pipeline",
                                cat("parameter `wrt` of pass `gradient` is ", program.wanted().parameter,
                                    "; `@main` takes ", main->params.size()));
    return false;
  }
  program.refuse_deep_tuples();
  const Symbol name = program.reached()[0];
  const auto refuse_unless_tensors = [&](Span at, std::string_view what, Type type) {
    if (is_of_tensors(type)) return;
    program.refuse(
        name, at, what,
        cat("it is of the type `", show(type, 100), "`, and only tensors and tuples of them have one"));
  };
  for (const Var* p : main->params)
    refuse_unless_tensors(p->span, cat("parameter `%", p->name.text(), "`"), p->type);
  refuse_unless_tensors(main->body->span, "the result", main->body->type);
  if (program.diagnostics().errors() == errors && !gradient::holds_floats(main->body->type))
    program.refuse(name, main->body->span, "the result", "no float is in it");
  return program.diagnostics().errors() == errors;
}

// Functions that call @main go on calling what it was.
Module with_former_main(Module out, const gradient::Program& program) {
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

Module run(const Module& m, const PassContext& pass) {
  if (!m.function("main")) return m;
  const Result<Module> now = prepared(m, pass);
  if (!now) return m;
  const gradient::Wanted wanted{pass.value("value") != 0, static_cast<size_t>(pass.value("wrt"))};
  const gradient::Program program(*now, wanted, pass.diagnostics);
  if (!is_differentiable(program)) return m;
  return with_former_main(program.is_straight() ? gradient::differentiate_straight(program)
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
