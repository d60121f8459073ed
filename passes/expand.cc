#include "passes/expand.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/any_type.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "passes/fresh_extents.h"
#include "passes/lets.h"

namespace relay::passes {

namespace {

// What an expansion consists of: the arguments that it uses, and the nodes above arguments.
std::unordered_set<Expr> nodes_of(Expr expansion, std::span<const Expr> args) {
  const std::unordered_set<Expr> ends(args.begin(), args.end());
  std::unordered_set<Expr> seen;
  std::vector<Expr> pending{expansion};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e).second || ends.contains(e)) continue;
    for_each_child(e, [&](Expr child) { pending.push_back(child); });
  }
  return seen;
}

bool is_unknown_extent(const AttrValue& v) {
  if (v.kind == AttrKind::kDim) return v.dim.is_unknown();
  return std::any_of(v.list.begin(), v.list.end(), is_unknown_extent);
}

// Does an attribute of the expansion want an extent that is `?`?
bool names_unknown_extent(Expr expansion, std::span<const Expr> args) {
  const std::unordered_set<Expr> ends(args.begin(), args.end()), nodes = nodes_of(expansion, args);
  return std::any_of(nodes.begin(), nodes.end(), [&](Expr e) {
    const auto* call = ends.contains(e) ? nullptr : e->as<Call>();
    return call && std::any_of(call->attrs.begin(), call->attrs.end(),
                               [](const Attr& a) { return is_unknown_extent(a.value); });
  });
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

// Compares the extents of arguments that the operator wants equal and only a run tells. What it is
// written out in may broadcast them, or leave an argument out. Extents of no argument, and those
// that broadcast, are left to the relations of what it is written out in.
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
    if (check.fit != op::DimCheck::Fit::kEqual || !to || !from) continue;
    if (to->arg != about) std::swap(to, from);
    const auto axis = [](size_t d) { return static_cast<int64_t>(d); };
    args[to->arg] = op::call(b, op::kReshapeLike, {args[to->arg], args[from->arg]},
                             {{"lhs_begin", axis(to->axis)},
                              {"lhs_end", axis(to->axis + 1)},
                              {"rhs_begin", axis(from->axis)},
                              {"rhs_end", axis(from->axis + 1)}});
  }
}

// A function that calls the operator; the operator itself if its type is not known, as in a
// generic function.
Expr function_of(relay::Builder& b, const OpRef& ref) {
  const auto* type = ref.type ? ref.type->as<FnType>() : nullptr;
  if (!type || type->has_type_var || type->has_hole) return &ref;
  SpanScope at(b, ref.span);
  std::vector<const Var*> params;
  for (Type t : type->args) params.push_back(b.with_type(b.var("x", t), t)->as<Var>());
  const std::vector<Expr> args(params.begin(), params.end());
  try {
    const std::vector<Type> types(type->args.begin(), type->args.end());
    const Type result = op::infer(b.context(), *ref.op, types, {});
    return b.fn(params, b.call(b.op(*ref.op), args, {}, result), nullptr);
  } catch (const op::RelationError&) {
    return &ref;
  }
}

// Operators among a node's children that are not called.
Expr name_operators(relay::Builder& b, Expr e) {
  std::vector<Expr> children;
  bool changed = false;
  const bool is_call = e->as<Call>() != nullptr;
  for_each_child(e, [&](Expr child) {
    const auto* ref = child->as<OpRef>();
    if (ref && !(is_call && children.empty())) child = function_of(b, *ref);
    changed |= ref != nullptr && child != ref;
    children.push_back(child);
  });
  return changed ? with_children(b.context(), e, children) : e;
}

}  // namespace

Expr expand_in_place(Builder& b, const op::OpDef& op, const Call& call, analysis::Effects& effects) {
  std::vector<Expr> args(call.args.begin(), call.args.end());
  if (op::takes_any_type(op)) return args[0];
  const auto is_generic = [](Expr arg) { return arg->type && arg->type->has_type_var; };
  if (std::any_of(args.begin(), args.end(), is_generic)) return &call;
  Lets lets(b, "x");
  for (Expr& arg : args) {
    if (!effects.steady(arg)) arg = lets.name(arg);
  }
  const std::vector<Expr> given = args;
  compare_extents(b, op, call.attrs, args);
  Expr e = op::expand(b, op, args, call.attrs);
  // An extent that only a run tells has no name for an attribute to use: such a call is written
  // out when it runs.
  if (names_unknown_extent(e, given)) return &call;
  // Nobody can tell how often something steady is used, but for a trap that never happens.
  const std::vector<Expr> first = args;
  const std::unordered_set<Expr> used = nodes_of(e, first);
  for (Expr& arg : args) {
    if (!effects.silent(arg) && !used.contains(arg)) arg = lets.name(arg);
  }
  if (args != first) e = op::expand(b, op, args, call.attrs);
  return lets.around(e);
}

Expr field_of_tuple(const Proj& proj, analysis::Effects& effects) {
  const auto* tuple = proj.tuple->as<Tuple>();
  if (!tuple) return &proj;
  for (size_t i = 0; i < tuple->fields.size(); ++i) {
    // The field itself may be evaluated later than the tuple was, if that had several uses.
    if (!(i == proj.index ? effects.steady(tuple->fields[i]) : effects.silent(tuple->fields[i])))
      return &proj;
  }
  return tuple->fields[proj.index];
}

Module call_operator_values(const Module& m) { return rewrite(m, name_operators); }

Module expand_operators(const Module& m, analysis::TrapOrder traps,
                        const std::function<bool(const op::OpDef&)>& which) {
  // An expansion may call further operators that expand: the definitions are not
  // cyclic, so this ends.
  for (Module now = m;;) {
    analysis::Effects effects(now, traps);
    Module next = rewrite(now, [&](relay::Builder& b, Expr e) -> Expr {
      if (const auto* proj = e->as<Proj>()) return field_of_tuple(*proj, effects);
      const op::OpDef* def = op::callee(e);
      return def && def->expand && which(*def) ? expand_in_place(b, *def, *e->as<Call>(), effects) : e;
    });
    if (next.same(now)) return now;
    now = next;
  }
}

}  // namespace relay::passes
