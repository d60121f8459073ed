#include "analysis/recursion.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/components.h"
#include "ir/analysis.h"
#include "ir/function_graph.h"

namespace relay::analysis {
namespace {

constexpr uint32_t kSeveral = 2;

// How many calls of the functions one evaluation can make, as far as `kSeveral`. A function literal
// may be called more than once, and so may a function that is mentioned but not called.
uint32_t most_calls(Expr body, const std::function<bool(Expr)>& is_one_of_them) {
  NodeMap<uint32_t> calls;
  for (Expr e : post_order(body)) {
    uint32_t& most = calls[e];
    if (is_one_of_them(e)) {
      most = kSeveral;
      continue;
    }
    match(
        e, [&](const Fn& n) { most = calls[n.body] > 0 ? kSeveral : 0; },
        [&](const If& n) { most = calls[n.cond] + std::max(calls[n.then_branch], calls[n.else_branch]); },
        [&](const Match& n) {
          for (const Arm& arm : n.arms) most = std::max(most, calls[arm.body]);
          most += calls[n.value];
        },
        [&](const Call& n) {
          for_each_child(
              e, [&](Expr child) { most += child == n.callee && is_one_of_them(child) ? 1 : calls[child]; });
        },
        // Each child is evaluated once, or is a leaf.
        [&]<OneOf<Constant, Var, Global, OpRef, CtorRef, Tuple, Proj, Let, RefNew, RefRead, RefWrite> Plain>(
            const Plain&) { for_each_child(e, [&](Expr child) { most += calls[child]; }); });
    most = std::min(most, kSeveral);
  }
  return calls[body];
}

}  // namespace

std::vector<const Let*> recursive_lets(Expr root) {
  std::vector<const Let*> found;
  NodeMap<const Let*> open;  // by the variable, as long as its function is walked through
  NodeMap<const Let*> binding;
  const auto enter = [&](Expr e) {
    const auto* let = e->as<Let>();
    if (let && let->value->as<Fn>()) binding[let->value] = let;
    if (const Let* around = binding.get(e)) open[around->x] = around;
    if (const Let* around = open.get(e)) found.push_back(around);
    return true;
  };
  const auto leave = [&](Expr e) {
    if (const Let* around = binding.get(e)) open[around->x] = nullptr;
  };
  walk(root, enter, leave);
  return found;
}

std::vector<const Fn*> branching_functions(const Module& m) {
  const FunctionGraph graph = function_graph(m);
  std::vector<const Fn*> functions;
  for (Symbol name : graph.names) functions.push_back(m.function(name.text()));
  std::vector<bool> branches(functions.size());
  for (const std::vector<size_t>& component : strong_components(graph.mentions)) {
    std::set<Symbol> members;
    for (size_t i : component) members.insert(graph.names[i]);
    const auto is_member = [&](Expr e) {
      const auto* global = e->as<Global>();
      return global && members.contains(global->name);
    };
    const bool any = std::any_of(component.begin(), component.end(), [&](size_t i) {
      return most_calls(functions[i]->body, is_member) >= kSeveral;
    });
    for (size_t i : component) branches[i] = any;
  }
  std::vector<const Fn*> out;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (branches[i]) {
      out.push_back(functions[i]);
      continue;
    }
    for (const Let* let : recursive_lets(functions[i]->body)) {
      const auto* fn = let->value->as<Fn>();
      if (most_calls(fn->body, [&](Expr x) { return x == let->x; }) >= kSeveral) out.push_back(fn);
    }
  }
  return out;
}

}  // namespace relay::analysis
