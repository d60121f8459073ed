// inline: calls of functions become the functions' bodies, so that what is one dataflow is
// optimised as one.
//
// A function that can come back to itself stays, and so does a large one that is called in several
// places, unless it has the attribute `Inline`: `def @f(%x: float32, Inline=1) { ... }`. With
// `marked=1` only functions that have it are inlined. The types of the parameters must be those of
// the arguments once the function's own type and shape variables stand for what the call makes of
// them; the body is typed with these, which is how generic functions become special ones.
//
// If the module has an @main, a function that is mentioned once moves: its body takes the place of
// the call, and the function is removed, as `dead-code` would have it. A copy for each step of a
// chain of functions would make the pass quadratic. @main itself stays, whoever calls it.
//
// Before: nothing is asked for. After: a function that is still called recurs, is large, not marked
// and called in several places, or has parameters of other types than its arguments. With
// `marked=1` it may also have no mark. What would make the program more than 200000 nodes larger
// stays, marked or not.
#include "passes/inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/components.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/function_graph.h"
#include "ir/rewrite.h"
#include "passes/call_instance.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// Which calls are inlined, by the extents of their arguments.
enum class Extents : uint8_t {
  kAny,
  // For the function's shape variables they have others: nothing more is known than where the
  // function was checked.
  kOpen,
};

class Inliner {
 public:
  Inliner(const Module& m, const InlineOptions& options, Extents extents)
      : out_(m), options_(options), extents_(extents) {}

  Module run() {
    const FunctionGraph graph = function_graph(out_);
    moves_ = options_.moves && out_.function("main") != nullptr;
    for (Symbol name : graph.names) count_uses(out_.function(name.text()));
    // Callees first, so that what is inlined has been inlined into.
    for (const std::vector<size_t>& component : strong_components(graph.mentions)) {
      for (size_t i : component) inline_into(graph.names[i]);
      const size_t i = component.front();
      const bool recurs =
          component.size() > 1 ||
          std::find(graph.mentions[i].begin(), graph.mentions[i].end(), i) != graph.mentions[i].end();
      if (!recurs) offer(graph.names[i]);
    }
    return out_;
  }

 private:
  void count_uses(const Fn* fn) {
    for (Expr e : post_order(fn)) {
      for_each_child(e, [&](Expr child) {
        if (const auto* global = child->as<Global>()) ++uses_[global->name];
      });
    }
  }

  // The function may be inlined from now on.
  void offer(Symbol name) {
    const Fn* fn = out_.function(name.text());
    const bool marked = fn->attrs.flag("Inline");
    if (fn->attrs.flag("Primitive") || (options_.stays && options_.stays(fn))) return;
    if (options_.marked_only && !marked) return;
    // What was inlined into it has been counted. Its shape variables became extents of the
    // arguments, which are looked at here.
    size_t size = 0;
    const std::vector<kernel::Expr> variables = shape_variables(out_.context(), fn, [&](Expr e) {
      const size_t inlined = inlined_.get(e);
      size += inlined == 0 ? 1 : inlined;
      return inlined == 0;
    });
    const bool is_large = uses_[name] > 1 && size > static_cast<size_t>(options_.most_nodes);
    if (is_large && !marked) return;
    offered_[name] = {fn, size, is_large, variables};
  }

  void inline_into(Symbol name) {
    Context& context = out_.context();
    const Fn* fn = out_.function(name.text());
    size_t grown = 0;
    const Expr inlined = rewrite(context, fn, [&](relay::Builder& b, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const auto* global = call ? call->callee->as<Global>() : nullptr;
      if (!global) return e;
      const auto it = offered_.find(global->name);
      if (it == offered_.end() || grown > kMostGrowth) return e;
      const size_t copied = it->second.is_large ? it->second.size : 0;
      if (copied_ + copied > kMostGrowth) return e;
      const bool moves = moves_ && uses_[global->name] == 1 && global->name.text() != "main";
      const auto body = body_for(b, *call, it->second, moves);
      if (!body) return e;
      grown += it->second.size;
      copied_ += copied;
      if (moves) out_.remove_function(global->name.text());
      return *body;
    });
    if (inlined != fn) out_.set_function(name.text(), inlined->as<Fn>());
  }

  struct Offer {
    const Fn* fn;
    size_t size;
    bool is_large;  // and used in several places, so it is offered for its mark alone
    std::vector<kernel::Expr> shape_variables;
  };

  // let p0 = a0; let p1 = a1; ... body, if the types allow it. A body that moves is no copy, unless
  // its types change.
  std::optional<Expr> body_for(relay::Builder& b, const Call& call, const Offer& offer, bool moves) {
    Context& context = out_.context();
    const Fn* callee = offer.fn;
    std::vector<Type> arg_types;
    for (Expr arg : call.args) arg_types.push_back(arg->type);
    const std::optional<Instance> found = instance_of(
        context, *callee, {call.type_args.begin(), call.type_args.end()}, arg_types, offer.shape_variables);
    if (!found) return std::nullopt;
    const Instance& instance = *found;
    if (extents_ == Extents::kOpen && !renames(instance)) return std::nullopt;
    const Expr own = moves ? callee : refresh(context, callee);
    const Fn* copy = (instance.is_same() ? own : map_types(context, own, instance.map()))->as<Fn>();
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (copy->params[i]->type != call.args[i]->type) return std::nullopt;
    }
    SpanScope at(b, call.span);
    Expr body = copy->body;
    if (!is_leaf(body)) inlined_[body] = offer.size;
    for (size_t i = call.args.size(); i-- > 0;) {
      const Type type = body->type;
      body = b.let(copy->params[i], call.args[i], body);
      if (type) body = b.with_type(body, type);
    }
    return body;
  }

  static bool renames(const Instance& instance) {
    std::set<const kernel::ExprNode*> names;
    for (const auto& [variable, extent] : instance.dims) {
      if (extent->kind != kernel::ExprKind::kVar || !names.insert(extent.get()).second) return false;
    }
    return true;
  }

  // Nodes that one function grows by, and those of all copies of large functions: marked ones that
  // call each other twice would double at each step.
  static constexpr size_t kMostGrowth = 200000;

  Module out_;
  const InlineOptions& options_;
  Extents extents_;
  bool moves_ = false;
  std::map<Symbol, size_t> uses_;
  std::map<Symbol, Offer> offered_;
  size_t copied_ = 0;        // nodes of copies of large functions
  NodeMap<size_t> inlined_;  // bodies that stand in other functions now: how many nodes they have
};

// Extents that a call knows may make an operator of the body wrong in all runs. That is a trap of
// these runs and no error of the program, so calls that bring such extents stay.
Module inlined(const Module& m, const InlineOptions& options) {
  Module out = Inliner(m, options, Extents::kAny).run();
  Diagnostics wrong;
  if (out.same(m) || typecheck::check(out, wrong)) return out;
  return Inliner(m, options, Extents::kOpen).run();
}

}  // namespace

// A body that is put into another function is no scope of its own there, and arguments that become
// lets are evaluated one after the other, with all that is shared in each.
Module with_inlined_calls(const Module& m, const InlineOptions& options) {
  return with_inserted_lets(m, [&](const Module& now, analysis::TrapOrder) { return inlined(now, options); });
}

const Pass kInline = {
    .name = "inline",
    .doc = "replace calls of functions that do not recur by their bodies",
    .parameters = {{"max-nodes", 256, "a larger function is inlined if it is used once or marked Inline"},
                   {"marked", 0, "1: only functions that are marked Inline", 0, 1}},
    .run =
        [](const Module& m, const PassContext& pass) {
          return with_inlined_calls(
              m, {.most_nodes = pass.value("max-nodes"), .marked_only = pass.value("marked") != 0});
        },
};

}  // namespace relay::passes
