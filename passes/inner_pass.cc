#include "passes/inner_pass.h"

#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "passes/each_function.h"
#include "passes/function_types.h"
#include "passes/pipeline.h"
#include "typecheck/check.h"

namespace relay::passes {

std::optional<Module> checked_inside(const Module& m, const PassContext& outer, std::string_view when) {
  Diagnostics wrong;
  Result<Module> out = typecheck::check(m, wrong);
  if (out) return std::move(*out);
  outer.stays(cat(when, " it would not type check: ", wrong.all().front().message()));
  return std::nullopt;
}

std::optional<Module> after_inner_pass(const Module& m, const Pass& pass, const PassContext& outer,
                                       const std::map<std::string, int64_t>& values) {
  Diagnostics wrong;
  PassContext inner{wrong, step(pass).values, outer.target, outer.schedule};
  for (const auto& [name, value] : values) inner.values[name] = value;
  const Module out = pass.run(m, inner);
  if (wrong.has_errors()) {
    outer.stays(cat("`", pass.name, "` refuses it: ", wrong.all().front().message()));
    return std::nullopt;
  }
  return out.same(m) ? out : checked_inside(out, outer, cat("after `", pass.name, "`"));
}

namespace {

// The type of a function that is generic without saying so; else null.
const FnType* found_generic(const Fn* fn) {
  const auto* type = fn && fn->type_params.empty() && fn->type ? fn->type->as<FnType>() : nullptr;
  return type && !type->type_params.empty() ? type : nullptr;
}

}  // namespace

Module with_declared_parameters(const Module& m) {
  std::unordered_set<const Var*> open;
  for (const auto& [name, root] : m.functions()) {
    for (Expr e : post_order(root)) {
      if (!found_generic(e->as<Fn>())) continue;
      for (const Var* p : e->as<Fn>()->params) {
        if (!p->annotation) open.insert(p);
      }
    }
  }
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const auto* v = e->as<Var>();
    if (v && open.contains(v)) return b.with_type(b.var(v->name.text(), v->type), v->type);
    const auto* fn = e->as<Fn>();
    const FnType* type = found_generic(fn);
    if (!type) return e;
    const std::vector<const Var*> params(fn->params.begin(), fn->params.end());
    const std::vector<const TypeVar*> type_params(type->type_params.begin(), type->type_params.end());
    const std::vector<Type> where(type->where.begin(), type->where.end());
    return b.with_type(b.fn(params, fn->body, fn->result, fn->attrs, type_params, where), type);
  });
}

namespace {

// A function literal that calls the value; the value itself if it is none that has a name.
Expr literal_for(relay::Builder& b, Expr e) {
  const auto* type = e->type ? e->type->as<FnType>() : nullptr;
  if (!is_known_callee(e) || e->as<Fn>() || !type || !type->type_params.empty() || type->has_hole) return e;
  const SpanScope at(b, e->span);
  std::vector<const Var*> params;
  std::vector<Expr> args;
  for (Type t : type->args) {
    params.push_back(b.with_type(b.var(cat("a", params.size()), t), t)->as<Var>());
    args.push_back(params.back());
  }
  return b.with_type(b.fn(params, b.call(e, args, {}, type->result)), type);
}

}  // namespace

Module with_function_literals(const Module& m) {
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) {
      const bool called = children.empty() && e->as<Call>();
      children.push_back(called ? child : literal_for(b, child));
    });
    return with_children(m.context(), e, children);
  });
}

namespace {

// The function literal that the call calls, if it is used elsewhere as well.
const Fn* shared_literal(const NodeMap<uint32_t>& uses, Expr e) {
  const auto* call = e->as<Call>();
  const auto* literal = call ? call->callee->as<Fn>() : nullptr;
  return literal && uses.get(literal) > 1 ? literal : nullptr;
}

Expr with_named_literals(Context& context, const Fn* root) {
  const NodeMap<uint32_t> uses = scopes(root).uses;
  relay::Builder b(context);
  NodeMap<Expr> now;
  for (Expr e : post_order(root)) {
    const auto* let = e->as<Let>();
    // What a let binds to a call has the name before it, so that its value stays a call.
    const Expr call = let && shared_literal(uses, let->value) && uses.get(let->value) == 1 ? let->value : e;
    const Fn* literal = shared_literal(uses, call);
    const Var* name = nullptr;
    std::vector<Expr> children;
    for_each_child(call, [&](Expr child) {
      const bool named = literal && children.empty();
      if (named) name = b.with_type(b.var("f"), child->type)->as<Var>();
      children.push_back(named ? name : now.get(child));
    });
    Expr out = with_children(context, call, children);
    if (call != e) out = with_children(context, e, std::vector<Expr>{out, now.get(let->body)});
    const SpanScope at(b, call->span);
    now[e] = name ? b.let(name, now.get(literal), out) : out;
  }
  return now.get(root);
}

}  // namespace

Module with_named_literals(const Module& m) {
  return with_each_function(m, [&](const Fn* fn) { return with_named_literals(m.context(), fn); });
}

}  // namespace relay::passes
