// eta-expand: an operator, a constructor or a global function that is passed on as a value becomes
// a function literal that calls it.
//
// Before, the module is any. After it `breaks_eta_expansion` (normal_forms.h) finds nothing: they
// are called, and so known where they are called. One stays a value where nothing says at which
// types it is used, or only with shape variables of another function. Linear.
#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Expr expanded(Builder& b, Expr e, const FnType& type) {
  const SpanScope at(b, e->span);
  std::vector<const Var*> params;
  std::vector<Expr> args;
  for (Type t : type.args) {
    params.push_back(b.with_type(b.var(cat("a", params.size()), t), t)->as<Var>());
    args.push_back(params.back());
  }
  return b.with_type(b.fn(params, b.call(e, args, {}, type.result)), &type);
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [&](Builder& b, Expr e) -> Expr {
    const std::vector<const FnType*> values = function_values(m, e);
    if (values.empty()) return e;
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) {
      const FnType* type = values[children.size()];
      children.push_back(type ? expanded(b, child, *type) : child);
    });
    return with_children(m.context(), e, children);
  });
}

}  // namespace

const Pass kEtaExpand = {
    .name = "eta-expand",
    .doc =
        "put function literals in the place of operators, constructors and global functions that are values",
    .run = run,
};

}  // namespace relay::passes
