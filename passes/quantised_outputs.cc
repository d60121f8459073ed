#include "passes/quantised_outputs.h"

#include <algorithm>
#include <set>

#include "base/components.h"
#include "ir/function_graph.h"
#include "ir/traverse.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::passes {
namespace {

bool is_quantising(Expr e) {
  const auto* ref = e->as<OpRef>();
  return ref && quantises(*ref->op);
}

bool touches_references(Expr e) { return e->as<RefNew>() || e->as<RefRead>() || e->as<RefWrite>(); }

// The functions that evaluate an expression of a kind, themselves or by others that they mention.
std::set<Symbol> functions_with(const Module& m, bool (*is_wanted)(Expr)) {
  const FunctionGraph graph = function_graph(m);
  std::vector<bool> found(graph.names.size());
  std::set<Symbol> out;
  for (const std::vector<size_t>& component : strong_components(graph.mentions)) {
    const bool any = std::any_of(component.begin(), component.end(), [&](size_t i) {
      const std::vector<size_t>& others = graph.mentions[i];
      if (std::any_of(others.begin(), others.end(), [&](size_t other) { return found[other]; })) return true;
      const std::vector<Expr> all = post_order(m.function(graph.names[i].text())->body);
      return std::any_of(all.begin(), all.end(), is_wanted);
    });
    for (const size_t i : component) {
      found[i] = any;
      if (any) out.insert(graph.names[i]);
    }
  }
  return out;
}

// The expressions of a function whose value may depend on quantised numbers. What takes such a
// value depends on it, whatever it does with it.
NodeMap<bool> dependent(const Module& m, const Fn& fn) {
  const std::set<Symbol> quantising = functions_with(m, is_quantising);
  const std::vector<Expr> order = post_order(fn.body);
  NodeMap<std::vector<const Var*>> bound;  // the variables that have this value
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) bound[let->value].push_back(let->x);
  }
  NodeMap<bool> out;
  for (Expr e : order) {
    const auto* global = e->as<Global>();
    bool any = out.get(e) || is_quantising(e) || (global && quantising.contains(global->name));
    for_each_child(e, [&](Expr child) { any |= out.get(child); });
    if (!any) continue;
    out[e] = true;
    for (const Var* x : bound.get(e)) out[x] = true;
  }
  return out;
}

// Appends what holds of a value to `out`, once for each tensor of its type. False if the value has
// other parts, or if `out` would be longer than `most`.
bool append_tensors(Type root, bool depends, size_t most, std::vector<bool>& out) {
  std::vector<Type> pending{root};
  size_t parts = 0;
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (++parts > 2 * most + 1 || !t) return false;
    if (const auto* tuple = t->as<TupleType>()) {
      pending.insert(pending.end(), tuple->fields.begin(), tuple->fields.end());
    } else if (t->as<TensorType>() && out.size() < most) {
      out.push_back(depends);
    } else {
      return false;
    }
  }
  return true;
}

// The same of the result of `body`, each field of a tuple for itself. False if that is not `count`
// tensors.
bool by_fields(Expr body, const NodeMap<bool>& dependent, size_t count, std::vector<bool>& out) {
  std::vector<Expr> pending{body};
  size_t parts = 0;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (++parts > 2 * count + 1) return false;
    const auto* tuple = e->as<Tuple>();
    if (!tuple && !append_tensors(e->type, dependent.get(e), count, out)) return false;
    for (size_t i = tuple ? tuple->fields.size() : 0; i-- > 0;) pending.push_back(tuple->fields[i]);
  }
  return out.size() == count;
}

}  // namespace

bool quantises(const op::OpDef& def) { return &def == &op::kQnnQuantize || &def == &op::kQnnRequantize; }

std::vector<bool> quantised_outputs(const Module& m, std::string_view function, size_t count) {
  const Fn& fn = *m.function(function);
  const std::vector<Expr> all = post_order(fn.body);
  const std::set<Symbol> with_references = functions_with(m, touches_references);
  const bool has_references = std::any_of(all.begin(), all.end(), [&](Expr e) {
    const auto* global = e->as<Global>();
    return touches_references(e) || (global && with_references.contains(global->name));
  });
  std::vector<bool> out;
  Expr body = fn.body;
  while (const auto* let = body->as<Let>()) body = let->body;
  if (!has_references && by_fields(body, dependent(m, fn), count, out)) return out;
  return std::vector<bool>(count, true);
}

}  // namespace relay::passes
