#include "aot/captures.h"

#include <map>
#include <utility>

#include "aot/extents.h"
#include "ir/traverse.h"

namespace relay::aot {

NodeMap<std::vector<Expr>> find_captures(Expr body, const Scopes& scopes) {
  const std::vector<Expr> order = post_order(body);
  // A function is named by the scope that is its body; 0 is the function around all.
  std::vector<bool> is_function(scopes.all.size(), false);
  for (Expr e : order) {
    if (e->kind == ExprKind::kFn) is_function[scopes.opens.get(e)] = true;
  }
  std::vector<uint32_t> function_of(scopes.all.size(), 0);
  for (uint32_t i = 1; i < scopes.all.size(); ++i)
    function_of[i] = is_function[i] ? i : function_of[scopes.all[i].parent];
  NodeMap<uint32_t> bound_in;
  for (Expr e : order) {
    const uint32_t function =
        e->kind == ExprKind::kFn ? scopes.opens.get(e) : function_of[scopes.scope_of.get(e)];
    for_each_binder(e, [&](const Var* v) { bound_in[v] = function; });
  }

  NodeMap<std::vector<Expr>> out;
  for (Expr root : order) {  // inner functions first
    const auto* fn = root->as<Fn>();
    if (fn == nullptr) continue;
    const uint32_t own = scopes.opens.get(fn);
    std::vector<Expr> found, pending{fn->body};
    NodeMap<bool> seen;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (std::exchange(seen[e], true)) continue;
      const bool is_variable = e->kind == ExprKind::kVar;
      if (is_variable || (!is_leaf(e) && scopes.uses.get(e) > 1)) {
        const uint32_t where = is_variable ? bound_in.get(e) : function_of[scopes.scope_of.get(e)];
        if (where != own) {
          found.push_back(e);
          continue;
        }
      }
      if (e->kind == ExprKind::kFn) {
        const std::vector<Expr>& inner = out.get(e);
        pending.insert(pending.end(), inner.rbegin(), inner.rend());
      } else {
        for_each_child(e, [&](Expr child) { pending.push_back(child); });
      }
    }
    out[fn] = std::move(found);
  }
  return out;
}

std::vector<const kernel::ExprNode*> find_captured_extents(
    const Fn& fn, const std::unordered_map<Expr, View>& views, const std::function<bool(Expr)>& has_value,
    const std::function<bool(kernel::Expr)>& is_known) {
  std::map<uint32_t, const kernel::ExprNode*> found;
  const auto add = [&](kernel::Expr v) {
    if (is_known(v)) found[v->id] = v.get();
  };
  const auto mention = [&](Dim d) {
    if (d.is_symbolic()) (void)is_printable(d.symbolic(), [&](kernel::Expr v) { return add(v), true; });
  };
  const auto enter = [&](Expr e) {
    if (has_value(e)) return false;
    if (const auto* inner = e->as<Fn>()) {
      std::vector<kernel::Expr> dims;
      for (const Var* p : inner->params) add_extents(p->type, dims);
      for (kernel::Expr dim : dims) {
        for (kernel::Expr v : kernel::variables(dim)) add(v);
      }
    } else if (const auto view = views.find(e); view != views.end()) {
      for (Dim d : view->second.dims) mention(d);
      for (const op::DimCheck& check : view->second.checks) mention(check.a), mention(check.b);
    }
    return true;
  };
  walk(&fn, enter, [](Expr) {});
  std::vector<const kernel::ExprNode*> out;
  for (const auto& [id, variable] : found) out.push_back(variable);
  return out;
}

}  // namespace relay::aot
