#include "passes/gradient/local_functions.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"
#include "passes/closed_functions.h"
#include "passes/inner_pass.h"

namespace relay::passes::gradient {
namespace {

// What a function uses is looked for in all that is inside of it.
constexpr uint32_t kMostNestedFunctions = 64;
// Each call has an argument for each variable, and functions that call others use theirs, too.
constexpr size_t kMostVariables = 64;

class Lifter {
 public:
  Lifter(Module m, Symbol name) : out_(std::move(m)), b_(out_.context()), name_(name) {}

  // The module with the functions inside of this one lifted.
  Module run() {
    const Fn* root = out_.function(name_.text());
    if (!root->type_params.empty() || root->attrs.flag("Primitive")) return out_;
    const std::vector<Expr> order = post_order(root);
    for (Expr e : order) note(e);
    NodeMap<Expr> now;
    for (Expr e : order) {
      const auto* let = e->as<Let>();
      if (let && lifted_.contains(let->x)) {
        now[e] = now.get(let->body);
      } else if (const Lifted* callee = lifted_callee(e)) {
        std::vector<Expr> args(callee->captured.begin(), callee->captured.end());
        for (Expr arg : e->as<Call>()->args) args.push_back(now.get(arg));
        const SpanScope at(b_, e->span);
        now[e] = b_.call(b_.global(callee->name), args, {}, e->type);
      } else {
        std::vector<Expr> children;
        for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
        now[e] = with_children(b_.context(), e, children);
      }
      // Its calls come later in the order.
      const auto named = named_.find(e);
      if (named != named_.end() && depth_.get(e) <= kMostNestedFunctions)
        lift(*now.get(e)->as<Fn>(), named->second);
    }
    if (now.get(root) != root) out_.set_function(name_.text(), now.get(root)->as<Fn>());
    return out_;
  }

 private:
  struct Lifted {
    std::string name;
    std::vector<const Var*> captured;
  };

  // Notes which functions lets name, which variables are values, and how deeply functions nest.
  void note(Expr e) {
    if (const auto* let = e->as<Let>(); let && let->value->as<Fn>()) named_[let->value] = let->x;
    bool called = e->kind == ExprKind::kCall;
    uint32_t depth = 0;
    for_each_child(e, [&](Expr child) {
      if (const auto* x = child->as<Var>(); x && !called) values_.insert(x);
      called = false;
      depth = std::max(depth, depth_.get(child));
    });
    depth_[e] = depth + (e->kind == ExprKind::kFn ? 1 : 0);
  }

  const Lifted* lifted_callee(Expr e) const {
    const auto* call = e->as<Call>();
    const auto* x = call ? call->callee->as<Var>() : nullptr;
    const auto found = x ? lifted_.find(x) : lifted_.end();
    return found == lifted_.end() ? nullptr : &found->second;
  }

  void lift(const Fn& fn, const Var* x) {
    if (values_.contains(x) || !fn.type_params.empty() || !fn.attrs.empty()) return;
    const std::vector<const Var*> captured = free_vars(&fn);
    if (captured.size() > kMostVariables) return;
    const auto is_plain = [](const Var* v) { return is_of_tensors(v->type); };
    if (!std::all_of(captured.begin(), captured.end(), is_plain)) return;
    if (!is_closed(b_.context(), fn, captured)) return;
    const SpanScope at(b_, fn.span);
    std::vector<const Var*> params;
    std::unordered_map<const Var*, Expr> by;
    for (const Var* v : captured) {
      params.push_back(b_.with_type(b_.var(v->name.text(), v->type), v->type)->as<Var>());
      by[v] = params.back();
    }
    // A function in there that stays may stand outside, too: a variable is bound once.
    const Fn* inner = refresh(b_.context(), substitute(b_.context(), &fn, by))->as<Fn>();
    params.insert(params.end(), inner->params.begin(), inner->params.end());
    std::string name = cat(name_.text(), "_local");
    while (out_.function(name) || out_.kernel(name)) name = cat(name_.text(), "_local_", ++count_);
    out_.set_function(name, b_.fn(params, inner->body, inner->result));
    lifted_[x] = {name, captured};
  }

  Module out_;
  Builder b_;
  const Symbol name_;
  size_t count_ = 0;
  NodeMap<uint32_t> depth_;  // of functions in the expression
  std::unordered_map<Expr, const Var*> named_;
  std::unordered_set<const Var*> values_;
  std::unordered_map<const Var*, Lifted> lifted_;
};

bool has_local_function(const Module& m) {
  return std::any_of(m.functions().begin(), m.functions().end(), [](const auto& entry) {
    const std::vector<Expr> order = post_order(entry.second);
    return std::any_of(order.begin(), order.end(),
                       [](Expr e) { return e->as<Let>() && e->as<Let>()->value->template as<Fn>(); });
  });
}

// How many of the roots are straight lines.
size_t straight_roots(const Module& m, const std::vector<Wanted>& roots) {
  Diagnostics nobody;
  const auto straight = Program(m, roots, nobody).straight();
  return static_cast<size_t>(std::count_if(roots.begin(), roots.end(), [&](const Wanted& wanted) {
    return straight.contains(std::string_view(wanted.root));
  }));
}

}  // namespace

Module with_local_functions_lifted(const Module& m, const std::vector<Wanted>& roots,
                                   const PassContext& pass) {
  if (!has_local_function(m)) return m;
  const size_t straight = straight_roots(m, roots);
  if (straight == roots.size()) return m;
  // What a function shares with the code around it gets a name first.
  const std::optional<Module> named = after_inner_pass(m, kToBasicBlockForm, pass);
  if (!named) return m;
  Module out = *named;
  for (const auto& [name, fn] : named->functions()) out = Lifter(std::move(out), name).run();
  if (out.same(*named)) return m;
  const std::optional<Module> typed = checked_inside(out, pass, "without local functions");
  return typed && straight_roots(*typed, roots) > straight ? *typed : m;
}

}  // namespace relay::passes::gradient
