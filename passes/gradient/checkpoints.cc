#include "passes/gradient/checkpoints.h"

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"
#include "op/ops.h"
#include "op/registry.h"
#include "typecheck/check.h"

namespace relay::passes::gradient {
namespace {

constexpr std::string_view kAttribute = "Checkpoint";

const Call* checkpoint(Expr e) {
  return op::callee(e) == &op::kCheckpoint && !is_leaf(e->as<Call>()->args[0]) ? e->as<Call>() : nullptr;
}

class Checkpoints {
 public:
  Checkpoints(const Module& m, Diagnostics& diagnostics)
      : m_(m), diagnostics_(diagnostics), b_(m.context()) {}

  Result<Module> run() {
    const size_t errors = diagnostics_.errors();
    for (const auto& [name, fn] : m_.functions()) pending_.push_back(name.str());
    for (; !pending_.empty() && diagnostics_.errors() == errors; pending_.pop_front())
      lift_in(std::string(pending_.front()));
    if (diagnostics_.errors() > errors) return kReported;
    return lifted_ == 0 ? Result<Module>(m_) : typecheck::check(m_, diagnostics_);
  }

 private:
  // Outer checkpoints first: those inside are met again in the function that is made.
  void lift_in(const std::string& name) {
    const Fn* fn = m_.function(name);
    std::vector<Expr> found;
    std::unordered_set<Expr> inside;
    const std::vector<Expr> order = post_order(fn);
    for (size_t i = order.size(); i-- > 0;) {
      if (!checkpoint(order[i]) || inside.contains(order[i])) continue;
      found.push_back(order[i]);
      for (Expr e : post_order(checkpoint(order[i])->args[0])) inside.insert(e);
    }
    if (found.empty()) return;
    const Scopes all = scopes(fn);
    std::unordered_map<Expr, Expr> by;
    for (Expr e : found) by[e] = call_of(*checkpoint(e), all, name);
    pending_.push_back(name);  // what is taken from outside may have checkpoints of its own
    m_.set_function(name, rewrite(m_.context(), fn, [&](relay::Builder&, Expr e) {
                            const auto at = by.find(e);
                            return at == by.end() ? e : at->second;
                          })->as<Fn>());
  }

  // The nodes of e that somebody outside uses, too, and its free variables: in order.
  static std::vector<Expr> taken_from_outside(Expr root, const Scopes& all) {
    const std::vector<Expr> order = post_order(root);
    std::vector<const Var*> free = free_vars(root);
    std::unordered_set<Expr> out(free.begin(), free.end());
    std::unordered_map<Expr, uint32_t> uses_inside;
    std::vector<Expr> taken(free.begin(), free.end());
    for (size_t i = order.size(); i-- > 0;) {
      const Expr e = order[i];
      if (is_leaf(e)) continue;
      if (e != root && uses_inside[e] == 0) continue;  // below what is taken
      if (e != root && uses_inside[e] < all.uses.get(e)) {
        taken.push_back(e);
        continue;
      }
      for_each_child(e, [&](Expr child) { ++uses_inside[child]; });
    }
    return taken;
  }

  Expr call_of(const Call& site, const Scopes& all, const std::string& within) {
    const SpanScope at(b_, site.span);
    std::vector<const Var*> params;
    std::vector<Expr> args;
    std::unordered_map<Expr, Expr> by;
    for (Expr e : taken_from_outside(site.args[0], all)) {
      const auto* var = e->as<Var>();
      if (!is_of_tensors(e->type)) {
        diagnostics_
            .error(site.span, "not-differentiable",
                   cat("a checkpoint uses tensors of its surroundings; ",
                       var ? cat("`%", var->name.text(), "`") : std::string("a part of it"),
                       " is of the type `", show(e->type, 100), "`"))
            .note("leave out `annotation.checkpoint`, or enclose less");
        return &site;
      }
      params.push_back(b_.with_type(b_.var(var ? var->name.text() : "x", e->type), e->type)->as<Var>());
      args.push_back(e);
      by[e] = params.back();
    }
    const Expr body = rewrite(m_.context(), site.args[0], [&](relay::Builder&, Expr e) {
      const auto found = by.find(e);
      return found == by.end() ? e : found->second;
    });
    std::string name = cat(within, "_checkpoint");
    while (m_.function(name) || m_.kernel(name)) name += "_";
    m_.set_function(name,
                    b_.fn(params, body, nullptr, m_.context().attrs({{std::string(kAttribute), true}})));
    pending_.push_back(name);
    ++lifted_;
    return b_.call(b_.global(name), args, {}, site.type);
  }

  Module m_;
  Diagnostics& diagnostics_;
  Builder b_;
  std::deque<std::string> pending_;
  size_t lifted_ = 0;
};

}  // namespace

bool is_checkpoint(const Fn* fn) { return fn && fn->attrs.flag(kAttribute); }

Result<Module> with_checkpoints(const Module& m, Diagnostics& diagnostics) {
  return Checkpoints(m, diagnostics).run();
}

}  // namespace relay::passes::gradient
