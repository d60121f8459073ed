#include "passes/expand.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "op/apply.h"
#include "op/ops.h"
#include "op/relation.h"
#include "passes/fresh_extents.h"
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

// A dimension of an argument.
struct Place {
  size_t arg, axis;
};

// Where an extent stands in the arguments, if possible in argument `first`.
std::optional<Place> place_of(Dim extent, std::span<const Type> types, size_t first) {
  std::optional<Place> found;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto* t = types[i]->as<TensorType>();
    for (size_t d = 0; t && d < t->rank(); ++d) {
      if (t->dims[d] == extent && (!found || (i == first && found->arg != first))) found = Place{i, d};
    }
  }
  return found;
}

// Compares the extents of arguments that the operator wants equal and only a run tells. What it is written out in may
// broadcast them, or leave an argument out. Extents of no argument are left to the relations of what it is written out in.
void compare_extents(Builder& b, const op::OpDef& op, const Attrs& attrs, std::vector<Expr>& args) {
  std::vector<Type> types;
  for (Expr arg : args) types.push_back(arg->type);
  FreshExtents fresh(b.context(), types);
  for (Type& t : types) t = fresh.name(t);
  op::Relation relation(b.context(), types);
  op::relate(relation, op, attrs);
  for (const op::DimCheck& check : relation.checks()) {
    const auto about = static_cast<size_t>(check.arg);
    std::optional<Place> to = place_of(check.a, types, about), from = place_of(check.b, types, about);
    if (check.broadcasts || !to || !from) continue;
    if (to->arg != about) std::swap(to, from);
    const auto axis = [](size_t d) { return static_cast<int64_t>(d); };
    args[to->arg] = op::call(b, op::kReshapeLike, {args[to->arg], args[from->arg]},
                             {{"lhs_begin", axis(to->axis)},
                              {"lhs_end", axis(to->axis + 1)},
                              {"rhs_begin", axis(from->axis)},
                              {"rhs_end", axis(from->axis + 1)}});
  }
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
  compare_extents(b, op, call.attrs, args);
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
