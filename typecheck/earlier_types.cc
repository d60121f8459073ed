// Types that an earlier check found, where nothing determines them any more.
//
// A pass may take away what a type followed from: an annotated let, another branch, another use.
// `match (%l)` of `let %l: List[float32] = Nil` becomes `match (Nil)`, and nothing says what the
// list is of. The call of the constructor still has the type that the last check gave it. It keeps
// this type, and the checked module has it written, so that it reads as it prints.
//
// What anything determines is never replaced. Programs as people write them have no earlier types.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/builder.h"
#include "ir/type_parts.h"
#include "typecheck/inference.h"

namespace relay::typecheck {
namespace {

// The functions around each expression of a function of the module.
class Around {
 public:
  explicit Around(const Fn* root) : root_(root), scopes_(scopes(root)), function_(scopes_.all.size()) {
    for (Expr e : post_order(root)) {
      if (const auto* fn = e->as<Fn>(); fn && fn != root) function_[scopes_.opens.get(fn)] = fn;
      const auto* let = e->as<Let>();
      if (let && !let->x->annotation && scopes_.uses.get(let->value) == 1) let_of_[let->value] = let;
    }
  }

  // From the inside out.
  std::vector<const Fn*> functions(Expr e) const {
    std::vector<const Fn*> out;
    for (uint32_t s = scopes_.scope_of.get(e); s != 0; s = scopes_.all[s].parent) {
      if (function_[s]) out.push_back(function_[s]);
    }
    out.push_back(root_);
    return out;
  }
  // The let without an annotation that alone uses the expression, as its value; null if none does.
  const Let* let_of(Expr e) const { return let_of_.get(e); }

 private:
  const Fn* root_;
  Scopes scopes_;
  std::vector<const Fn*> function_;  // by scopes: whose body it is; null: nobody's
  NodeMap<const Let*> let_of_;
};

// Calls f on each part of the type that mentions a type parameter or a shape variable, once.
template <class F>
void for_each_in(Type root, F&& f) {
  for_each_type_in(root, [&](Type t) {
    const bool mentions = t->has_type_var || t->has_symbolic_dim;
    if (mentions) f(t);
    return mentions;
  });
}

template <class F>
void for_each_shape_variable(Type t, F&& f) {
  const auto* tensor = t->as<TensorType>();
  if (!tensor || !t->has_symbolic_dim) return;
  for (Dim d : tensor->dims) {
    if (!d.is_symbolic()) continue;
    for (kernel::Expr v : kernel::variables(d.symbolic())) f(v);
  }
}

// Do these functions bind all type parameters and shape variables that the type mentions? Some
// shape variables may be bound further out.
bool is_bound_in(Type type, const std::vector<const Fn*>& functions,
                 const std::function<bool(kernel::Expr)>& is_fixed) {
  std::set<Type> parameters;
  std::set<const kernel::ExprNode*> variables;
  for (const Fn* fn : functions) {
    parameters.insert(fn->type_params.begin(), fn->type_params.end());
    for (const Var* p : fn->params) {
      if (!p->annotation) continue;
      for_each_in(p->annotation, [&](Type t) {
        for_each_shape_variable(t, [&](kernel::Expr v) { variables.insert(v.get()); });
      });
    }
  }
  bool bound = true;
  for_each_in(type, [&](Type t) {
    bound = bound && (t->kind != TypeKind::kVar || parameters.contains(t));
    for_each_shape_variable(
        t, [&](kernel::Expr v) { bound = bound && (variables.contains(v.get()) || is_fixed(v)); });
  });
  return bound;
}

bool needs_binders(Type t) { return t->has_type_var || t->has_symbolic_dim; }

}  // namespace

// What `before` has where `now` has a hole. False if they differ elsewhere in more than extents.
bool Inference::holes_of(Type root_now, Type root_before, std::vector<std::pair<Type, Type>>& found) {
  std::vector<std::pair<Type, Type>> pending{{root_now, root_before}};
  std::set<std::pair<Type, Type>> seen;
  while (!pending.empty()) {
    const Type now = unifier_.find(pending.back().first), before = pending.back().second;
    pending.pop_back();
    if (now == before || !seen.emplace(now, before).second) continue;
    if (now == unifier_.poison()) return false;
    if (now->kind == TypeKind::kHole) {
      found.emplace_back(now, before);
      continue;
    }
    if (now->kind != before->kind || now->kind == TypeKind::kVar) return false;
    if (const auto* t = now->as<TensorType>()) {
      const auto* u = before->as<TensorType>();
      if (t->dtype != u->dtype || t->rank() != u->rank()) return false;
      continue;
    }
    const auto *data = now->as<DataType>(), *data_before = before->as<DataType>();
    if (data && !(data->name == data_before->name)) return false;
    const auto *fn = now->as<FnType>(), *fn_before = before->as<FnType>();
    if (fn && !(fn->type_params.empty() && fn_before->type_params.empty())) return false;
    std::vector<Type> parts, parts_before;
    for_each_part(now, [&](Type part) { parts.push_back(part); });
    for_each_part(before, [&](Type part) { parts_before.push_back(part); });
    if (parts.size() != parts_before.size()) return false;
    for (size_t i = parts.size(); i-- > 0;) pending.emplace_back(parts[i], parts_before[i]);
  }
  return true;
}

// Makes what nothing determines in `now` what it was before. False if there is no such thing.
bool Inference::keep(Type now, Type before, const std::function<bool(Type hole)>& is_open,
                     const std::function<bool(Type)>& is_bound) {
  if (!now || !before || before->has_hole) return false;
  const Type unknown = unifier_.unknown_in(now);
  if (!unknown || unknown->kind != TypeKind::kHole || unknown == unifier_.poison()) return false;
  std::vector<std::pair<Type, Type>> found;
  if (!holes_of(now, before, found)) return false;
  if (needs_binders(before) && !is_bound(before)) return false;
  bool kept = false;
  for (const auto& [hole, type] : found) {
    if (unifier_.find(hole) != hole || !is_open(hole)) continue;  // one may stand twice
    kept |= !unifier_.unify(hole, type);
  }
  return kept;
}

void Inference::keep_types() {
  std::map<Symbol, Around> around;
  const auto around_in = [&](Symbol name) -> const Around& {
    return around.try_emplace(name, module_.function(name.text())).first->second;
  };
  const auto all = [](Type) { return true; };
  for (const Earlier& earlier : earlier_) {
    const auto is_bound = [&](Type t) {
      return is_bound_in(t, around_in(earlier.function).functions(earlier.e),
                         [](kernel::Expr) { return false; });
    };
    if (const auto* fn = earlier.e->as<Fn>()) {
      for (const Var* p : fn->params) {
        if (!p->annotation && keep(types_.get(p), p->type, all, is_bound)) written_vars_.insert(p);
      }
    } else if (keep(types_.get(earlier.e), earlier.e->type, all, is_bound)) {
      const Let* let = around_in(earlier.function).let_of(earlier.e);
      if (let) {
        written_vars_.insert(let->x);
      } else {
        written_calls_.insert(earlier.e);
      }
    }
    wake();
  }
}

void Inference::keep_function_type(const Fn* fn) {
  // What still waits for a relation is not generalised, and may yet be determined.
  const auto is_open = [&](Type hole) { return unifier_.generalises(hole); };
  const auto is_bound = [&](Type t) {
    return is_bound_in(t, {fn}, [&](kernel::Expr v) { return is_fixed(v); });
  };
  const auto* before = fn->type ? fn->type->as<FnType>() : nullptr;
  if (!before || !before->type_params.empty() || before->args.size() != fn->params.size()) return;
  for (size_t i = 0; i < fn->params.size(); ++i) {
    const Var* p = fn->params[i];
    if (!p->annotation && keep(types_.get(p), before->args[i], is_open, is_bound)) written_vars_.insert(p);
  }
  if (keep(results_.get(fn), before->result, is_open, is_bound)) written_results_.insert(fn);
  wake();
}

// let %value: T = e; %value, or let %callee: T = f; %callee(...) where a call may be the last thing
// that a function does, and has to stay it.
Expr Inference::with_written_type(Expr e) {
  Builder b(context_);
  SpanScope at(b, e->span);
  const auto named = [&](std::string_view name, Type type) {
    return b.with_type(b.var(name, type), type)->as<Var>();
  };
  const auto* call = e->as<Call>();
  if (call->callee->kind == ExprKind::kCtorRef) {
    const Var* x = named("value", e->type);
    return b.let(x, e, x);
  }
  std::vector<Type> args;
  for (Expr arg : call->args) args.push_back(arg->type);
  const Var* f = named("callee", context_.fn_type({}, args, e->type));
  return b.let(f, call->callee, b.call(f, call->args, call->attrs, e->type));
}

Expr Inference::with_written_result(const Fn* fn) {
  Builder b(context_);
  SpanScope at(b, fn->span);
  const Type result = fn->type->as<FnType>()->result;
  const Fn* written = b.fn(fn->params, fn->body, result, fn->attrs, fn->type_params, fn->where);
  return b.with_type(written, fn->type);
}

}  // namespace relay::typecheck
