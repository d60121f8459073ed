// lambda-lift: a function that is written inside of another becomes a global one.
//
//   def @main(%x) { map(fn (%y) { add(%x, %y) }, %l) }
//   becomes
//   def @main_lifted_0(%x) { fn (%y) { add(%x, %y) } }
//   def @main(%x) { map(@main_lifted_0(%x), %l) }
//
// The global function has a parameter for each variable that the inner one captures, and makes the
// closure. If there are none, the inner function itself becomes global. A function that mentions
// itself by its let mentions the global one then.
//
// A function stays if
//   * it is called where it is written, as `match_shape` is, or has attributes or type parameters;
//   * a function around it has type parameters, which a global function would need, too;
//   * its type is not known, as that of one that is never called may be;
//   * it mentions a shape variable that no captured variable has as an extent;
//   * it has more than `max-nodes` expressions: what it captures is looked for in all of them.
//
// Before: types are known. After: other functions are bodies of global ones, and capture only the
// parameters of these.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "passes/closed_functions.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

class Lifter {
 public:
  Lifter(const Module& m, Symbol name, size_t most_nodes)
      : out_(m), context_(m.context()), b_(m.context()), name_(name), most_nodes_(most_nodes) {}

  // The module with the functions inside of this one lifted.
  Module run() {
    const Fn* root = out_.function(name_.text());
    if (!root->type_params.empty() || root->attrs.flag("Primitive")) return out_;
    const std::vector<Expr> order = post_order(root);
    for (Expr e : order) note(e);
    note_generic(root);
    if (std::none_of(order.begin(), order.end(), [&](Expr e) { return is_candidate(e, root); })) return out_;
    NodeMap<Expr> now;
    for (Expr e : order) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      const Expr rebuilt = with_children(context_, e, children);
      const Expr lifted = is_candidate(e, root) ? lift(*rebuilt->as<Fn>(), e) : nullptr;
      now[e] = lifted ? lifted : rebuilt;
    }
    if (now.get(root) != root) out_.set_function(name_.text(), now.get(root)->as<Fn>());
    return out_;
  }

 private:
  // Notes which functions are called where they are written, which lets name one, and sizes.
  void note(Expr e) {
    if (const auto* call = e->as<Call>(); call && call->callee->as<Fn>()) called_.insert(call->callee);
    if (const auto* let = e->as<Let>(); let && let->value->as<Fn>()) named_[let->value] = let->x;
    size_t& size = size_[e];
    size = 1;
    for_each_child(e, [&](Expr child) { size = std::min(size + size_.get(child), most_nodes_ + 1); });
  }

  // Notes the functions that may mention the type parameters of one around them.
  void note_generic(const Fn* root) {
    size_t depth = 0;
    const auto is_generic = [](Expr e) { return e->as<Fn>() && !e->as<Fn>()->type_params.empty(); };
    walk(
        root,
        [&](Expr e) {
          if (depth > 0 && e->as<Fn>()) inside_generic_.insert(e);
          depth += is_generic(e) ? 1 : 0;
          return true;
        },
        [&](Expr e) { depth -= is_generic(e) ? 1 : 0; });
  }

  bool is_candidate(Expr e, const Fn* root) const {
    const auto* fn = e->as<Fn>();
    return fn && fn != root && fn != root->body && fn->type_params.empty() && fn->attrs.empty() &&
           !called_.contains(fn) && !inside_generic_.contains(fn) && size_.get(e) <= most_nodes_;
  }

  // The expression that makes the closure, once there is a global function for it; null if there
  // can be none. `before` is the function as it was written.
  Expr lift(const Fn& fn, Expr before) {
    const auto named = named_.find(before);
    const Var* self = named == named_.end() ? nullptr : named->second;
    std::vector<const Var*> captured = free_vars(&fn);
    const bool recurs = std::erase(captured, self) > 0;
    if (!is_closed(context_, fn, captured)) return nullptr;
    const SpanScope at(b_, fn.span);
    const Global* global = b_.global(fresh_name());
    std::vector<const Var*> params;
    std::unordered_map<const Var*, Expr> by;
    for (const Var* x : captured) {
      params.push_back(b_.with_type(b_.var(x->name.text(), x->type), x->type)->as<Var>());
      by[x] = params.back();
    }
    const auto closure = [&](std::span<const Var* const> of) -> Expr {
      if (captured.empty()) return global;
      return b_.call(global, std::vector<Expr>(of.begin(), of.end()), {}, fn.type);
    };
    if (recurs) by[self] = closure(params);
    // A function in there that stays may stand outside, too: a variable is bound once.
    const Expr inner = refresh(context_, substitute(context_, &fn, by));
    out_.set_function(global->name.text(),
                      captured.empty() ? inner->as<Fn>() : b_.fn(params, inner, recurs ? fn.type : nullptr));
    return closure(captured);
  }

  std::string fresh_name() {
    for (;;) {
      std::string name = cat(name_.text(), "_lifted_", count_++);
      if (!out_.function(name) && !out_.kernel(name)) return name;
    }
  }

  Module out_;
  Context& context_;
  relay::Builder b_;
  const Symbol name_;
  const size_t most_nodes_;
  size_t count_ = 0;
  NodeMap<size_t> size_;  // of an expression as a tree, up to the most that is asked for and one
  std::unordered_set<Expr> called_, inside_generic_;
  std::unordered_map<Expr, const Var*> named_;
};

// What a function shares with the code around it is captured, too, and has no name. So it gets one
// first.
Module run(const Module& m, const PassContext& pass) {
  const Module named = kToBasicBlockForm.run(m, pass);
  Module out = named;
  for (const auto& [name, fn] : m.functions())
    out = Lifter(out, name, static_cast<size_t>(pass.value("max-nodes"))).run();
  return out.same(named) ? m : out;
}

}  // namespace

const Pass kLambdaLift = {
    .name = "lambda-lift",
    .doc = "make functions that are written inside of others global",
    .parameters = {{"max-nodes", 4096, "a larger function stays where it is", 1}},
    .run = run,
};

}  // namespace relay::passes
