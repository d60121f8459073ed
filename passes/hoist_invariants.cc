// hoist-invariants: what every turn of a recursion would compute again is computed in the first
// one and handed on.
//
//   def @f(%i, %w) { ... nn.dense(%w, a) ... @f(%i - 1, %w) ... }    becomes
//
//   def @f(%i, %w)           { %p = nn.dense(%w, a);   ... %p ... @f_rest(%i - 1, %w, %p) ... }
//   def @f_rest(%i, %w, %p)  {                         ... %p ... @f_rest(%i - 1, %w, %p) ... }
//
// A parameter is invariant if every call that the function makes of itself passes it on as it is;
// so is what depends on such parameters and on what the function captures alone. Products and
// reductions are handed on, with the cheap things around them that are invariant too; cheap things
// alone stay, as a kernel has them for less than it reads a parameter.
//
// The first turn computes them where they stand, if it comes there: nothing is computed that was
// not computed before, and a recursion that ends at once costs what it did. They must have been
// computed whenever the function calls itself: what stands in a branch from which it does not, or
// in one of two from which it does, stays. The price is a second copy of the function.
//
// Before: functions that do not recur are inlined. After: what may be handed on is computed in the
// first turn alone.
#include <algorithm>
#include <functional>
#include <optional>

#include "analysis/effects.h"
#include "analysis/evaluation_regions.h"
#include "analysis/recursion.h"
#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/execute.h"
#include "op/registry.h"
#include "passes/map_types.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// A function that may call itself, by a global or by the variable of a let.
struct Recursion {
  const Fn* fn;
  std::function<bool(Expr)> is_self;
};

// A recursion whose first iteration is peeled: the later ones take what is handed on as further
// parameters.
struct Peeled {
  const Fn* first;
  const Fn* rest;
};

class Hoister {
 public:
  Hoister(const Module& m, Expr root, size_t most_nodes)
      : context_(m.context()),
        builder_(m.context()),
        most_nodes_(most_nodes),
        order_(post_order(root)),
        scopes_(scopes(root)),
        regions_(analysis::evaluation_regions(scopes_, order_)),
        effects_(m, root) {}

  // Of the root itself or of a function in it; nothing if it computes nothing again. `rest` names
  // the function of later iterations.
  std::optional<Peeled> split(const Recursion& r, Expr rest) {
    if (!r.fn->type_params.empty() || r.fn->attrs.flag("Primitive")) return std::nullopt;
    const std::vector<Expr> body = post_order(r.fn->body);
    if (body.size() > most_nodes_ || !stands_alone(r.fn, body)) return std::nullopt;
    const std::optional<std::vector<const Call*>> calls = calls_of_itself(r, body);
    if (!calls) return std::nullopt;
    const std::vector<Expr> handed_on = find_invariants(*r.fn, body, *calls);
    if (handed_on.empty()) return std::nullopt;
    return split(r, body, handed_on, rest);
  }

 private:
  // Is nothing in the body shared with what is around the function? Such things are evaluated
  // outside, and once.
  bool stands_alone(const Fn* fn, const std::vector<Expr>& body) const {
    std::vector<bool> inside(scopes_.all.size());
    const uint32_t own = scopes_.opens.get(fn);
    for (uint32_t i = own; i < inside.size(); ++i) inside[i] = i == own || inside[scopes_.all[i].parent];
    return std::all_of(body.begin(), body.end(),
                       [&](Expr e) { return is_leaf(e) || inside[scopes_.scope_of.get(e)]; });
  }

  // Nothing if it does not call itself, or does something else with itself.
  static std::optional<std::vector<const Call*>> calls_of_itself(const Recursion& r,
                                                                 const std::vector<Expr>& body) {
    std::vector<const Call*> calls;
    bool only_calls = !r.is_self(r.fn->body);
    for (Expr e : body) {
      const auto* call = e->as<Call>();
      if (call && r.is_self(call->callee)) calls.push_back(call);
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        const bool called = call && position++ == 0;
        only_calls &= called || !r.is_self(child);
      });
    }
    for (const Call* call : calls) only_calls &= call->args.size() == r.fn->params.size();
    if (calls.empty() || !only_calls) return std::nullopt;
    return calls;
  }

  // Of each evaluation region, whether it is evaluated whenever one of the calls is.
  std::vector<bool> before_all(const std::vector<const Call*>& calls) const {
    std::vector<size_t> times(regions_.size());
    for (const Call* call : calls) {
      for (uint32_t z = regions_[scopes_.scope_of.get(call)];; z = regions_[scopes_.all[z].parent]) {
        ++times[z];
        if (z == 0) break;
      }
    }
    std::vector<bool> out(times.size());
    for (size_t z = 0; z < out.size(); ++z) out[z] = times[z] == calls.size();
    return out;
  }

  // The largest expressions that are worth to be handed on, in the order of evaluation.
  std::vector<Expr> find_invariants(const Fn& fn, const std::vector<Expr>& body,
                                    const std::vector<const Call*>& calls) {
    NodeMap<bool> varies;
    for (Expr e : body) for_each_binder(e, [&](const Var* v) { varies[v] = true; });
    std::vector<kernel::Expr> extents;  // that invariant parameters have
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Var* p = fn.params[i];
      varies[p] = std::any_of(calls.begin(), calls.end(), [&](const Call* c) { return c->args[i] != p; });
      const auto* t = p->type ? p->type->as<TensorType>() : nullptr;
      for (size_t d = 0; t && !varies[p] && d < t->rank(); ++d) {
        if (t->dims[d].is_symbolic()) extents.push_back(t->dims[d].symbolic());
      }
    }
    const auto known = kernel::determined_by(extents);
    const std::vector<bool> before = before_all(calls);
    NodeMap<bool> expensive;
    for (Expr e : body) {
      const auto* call = e->as<Call>();
      const op::OpDef* def = call ? op::callee(*call) : nullptr;
      if (e->kind == ExprKind::kVar) continue;
      const bool dataflow = def || e->kind == ExprKind::kTuple || e->kind == ExprKind::kProj ||
                            e->kind == ExprKind::kConstant || e->kind == ExprKind::kOpRef;
      bool same = dataflow && effects_.silent(e), costs = def && def->fusion >= op::Fusion::kReduction;
      for_each_child(e, [&](Expr child) {
        same &= !varies.get(child);
        costs |= expensive.get(child);
      });
      varies[e] = !same;
      expensive[e] = same && costs;
    }
    const auto is_known = [&](Expr e) {
      const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
      const auto unknown = [](Dim d) { return d.is_unknown(); };
      if (!t || std::any_of(t->dims.begin(), t->dims.end(), unknown)) return false;
      const std::vector<kernel::Expr> mentioned = shape_variables(context_, e);
      return std::all_of(mentioned.begin(), mentioned.end(),
                         [&](kernel::Expr v) { return known.contains(v.get()); });
    };
    std::vector<Expr> found;
    NodeMap<bool> needed;
    needed[fn.body] = true;
    for (size_t i = body.size(); i-- > 0;) {
      const Expr e = body[i];
      if (!needed.get(e)) continue;
      const bool here = before[regions_[scopes_.scope_of.get(e)]];
      if (expensive.get(e) && here && op::callee(e) && is_known(e)) {
        found.push_back(e);
      } else {
        for_each_child(e, [&](Expr child) { needed[child] = true; });
      }
    }
    return {found.rbegin(), found.rend()};
  }

  Peeled split(const Recursion& r, const std::vector<Expr>& body, const std::vector<Expr>& handed_on,
               Expr rest) {
    std::vector<const Var*> params(r.fn->params.begin(), r.fn->params.end());
    NodeMap<Expr> in_first, in_rest;
    for (Expr e : handed_on) {
      const SpanScope at(builder_, e->span);
      params.push_back(
          builder_.with_type(builder_.var(cat("same", params.size()), e->type), e->type)->as<Var>());
      in_first[e] = e;  // nothing in it changes
      in_rest[e] = params.back();
    }
    const auto rebuilt = [&](NodeMap<Expr>& now, Expr e) -> Expr {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      const auto* call = e->as<Call>();
      if (!call || !r.is_self(call->callee)) return with_children(context_, e, children);
      children.erase(children.begin());
      for (Expr h : handed_on) children.push_back(now.get(h));
      const SpanScope at(builder_, e->span);
      return builder_.call(rest, children, {}, e->type);
    };
    for (Expr e : body) in_first[e] = in_first.get(e) ? in_first.get(e) : rebuilt(in_first, e);
    for (Expr e : body) in_rest[e] = in_rest.get(e) ? in_rest.get(e) : rebuilt(in_rest, e);
    const SpanScope at(builder_, r.fn->span);
    const Fn* first = builder_.fn(r.fn->params, in_first.get(r.fn->body), r.fn->result, r.fn->attrs);
    const Fn* others = builder_.fn(params, in_rest.get(r.fn->body), r.fn->result, r.fn->attrs);
    return {first, refresh(context_, others)->as<Fn>()};
  }

  Context& context_;
  relay::Builder builder_;
  size_t most_nodes_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  const std::vector<uint32_t> regions_;
  analysis::Effects effects_;
};

// The root with one of the lets that bind a recursive function split; the root itself
// if there is none.
Expr split_let(const Module& m, Expr root, size_t most_nodes) {
  const std::vector<const Let*> lets = analysis::recursive_lets(root);
  if (lets.empty()) return root;
  Hoister hoister(m, root, most_nodes);
  relay::Builder b(m.context());
  for (const Let* let : lets) {
    const Var* rest = b.var(cat(let->x->name.text(), "_rest"));
    const std::optional<Peeled> peeled =
        hoister.split({let->value->as<Fn>(), [&](Expr e) { return e == let->x; }}, rest);
    if (!peeled) continue;
    return rewrite(m.context(), root, [&](relay::Builder& builder, Expr now) -> Expr {
      const auto* same = now->as<Let>();
      if (!same || same->x != let->x) return now;
      return builder.let(rest, peeled->rest, builder.let(let->x, peeled->first, same->body));
    });
  }
  return root;
}

std::string free_name(const Module& m, std::string_view wanted) {
  std::string name(wanted);
  for (int i = 1; m.function(name) || m.kernel(name); ++i) name = cat(wanted, i);
  return name;
}

Module run(const Module& m, const PassContext& pass) {
  Context& context = m.context();
  const auto most_nodes = static_cast<size_t>(pass.value("max-nodes"));
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    Expr now = fn;
    for (Expr before = nullptr; before != now;) {
      before = now;
      now = split_let(m, before, most_nodes);
    }
    const std::vector<Symbol> mentioned = mentioned_globals(now);
    if (std::find(mentioned.begin(), mentioned.end(), name) != mentioned.end()) {
      const std::string rest = free_name(out, cat(name.text(), "_rest"));
      const auto is_self = [own = name](Expr e) {
        const auto* global = e->as<Global>();
        return global && global->name == own;
      };
      relay::Builder b(context);
      if (const auto peeled = Hoister(m, now, most_nodes).split({now->as<Fn>(), is_self}, b.global(rest))) {
        now = peeled->first;
        out.set_function(rest, peeled->rest);
      }
    }
    if (now != fn) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace

const Pass kHoistInvariants = {
    .name = "hoist-invariants",
    .doc = "compute products that are the same in every turn of a recursion in the first one",
    .parameters = {{"max-nodes", 4096, "a larger function is not copied"}},
    .run = run,
};

}  // namespace relay::passes
