#include "passes/expand.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "op/apply.h"
#include "passes/lets.h"

namespace relay::passes {

namespace {

// Is `part` used in the expansion? It is looked for above the arguments only.
bool uses(Expr expansion, Expr part, std::span<const Expr> args) {
  std::vector<Expr> pending{expansion};
  std::unordered_set<Expr> seen(args.begin(), args.end());
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (e == part) return true;
    if (!seen.insert(e).second) continue;
    for_each_child(e, [&](Expr child) { pending.push_back(child); });
  }
  return false;
}

}  // namespace

Expr expand_in_place(Builder& b, const op::OpDef& op, const Call& call, Effects& effects) {
  std::vector<Expr> args(call.args.begin(), call.args.end());
  const auto is_generic = [](Expr arg) { return arg->type && arg->type->has_type_var; };
  if (std::any_of(args.begin(), args.end(), is_generic)) return &call;
  Lets lets(b, "x");
  for (Expr& arg : args) {
    if (!effects.steady(arg)) arg = lets.name(arg);
  }
  Expr e = op::expand(b, op, args, call.attrs);
  // Nobody can tell how often something steady is used, but for a trap that never happens.
  const std::vector<Expr> first = args;
  for (Expr& arg : args) {
    if (!effects.silent(arg) && !uses(e, arg, first)) arg = lets.name(arg);
  }
  if (args != first) e = op::expand(b, op, args, call.attrs);
  return lets.around(e);
}

Expr field_of_tuple(const Proj& proj, Effects& effects) {
  const auto* tuple = proj.tuple->as<Tuple>();
  if (!tuple) return &proj;
  for (size_t i = 0; i < tuple->fields.size(); ++i) {
    // The field itself may be evaluated later than the tuple was, if that had several uses.
    if (!(i == proj.index ? effects.steady(tuple->fields[i]) : effects.silent(tuple->fields[i])))
      return &proj;
  }
  return tuple->fields[proj.index];
}

}  // namespace relay::passes
