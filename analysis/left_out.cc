#include "analysis/left_out.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "ir/function_graph.h"
#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

// The variables of constructors' fields.
void add_parts(Pattern root, std::unordered_set<Expr>& out) {
  std::vector<Pattern> pending{root};
  while (!pending.empty()) {
    const Pattern p = pending.back();
    pending.pop_back();
    if (p->var && p != root) out.insert(p->var);
    pending.insert(pending.end(), p->fields.begin(), p->fields.end());
  }
}

// The variables that are parts of what this one is: those that matches take out of it, and out of
// its parts. A variable is bound before it is matched, so one walk finds all.
std::unordered_set<Expr> parts_of(const Var* x, const std::vector<const Match*>& outer_first) {
  std::unordered_set<Expr> out;
  for (const Match* match : outer_first) {
    if (match->value != x && !out.contains(match->value)) continue;
    for (const Arm& arm : match->arms) add_parts(arm.pattern, out);
  }
  return out;
}

}  // namespace

LeftOut::LeftOut(const Module& m) : context_(m.context()), kernels_(m) {
  const FunctionGraph graph = function_graph(m);
  std::vector<std::vector<size_t>> callers(graph.names.size());
  std::vector<size_t> open(graph.names.size(), 0), pending;
  for (size_t i = 0; i < graph.names.size(); ++i) {
    for (size_t callee : graph.mentions[i]) {
      if (callee == i) continue;
      callers[callee].push_back(i);
      ++open[i];
    }
    if (open[i] == 0) pending.push_back(i);
  }
  // Callees come first.
  while (!pending.empty()) {
    const size_t at = pending.back();
    pending.pop_back();
    if (is_total(graph.names[at], m.function(graph.names[at].text()))) total_.insert(graph.names[at]);
    for (size_t caller : callers[at]) {
      if (--open[caller] == 0) pending.push_back(caller);
    }
  }
}

bool LeftOut::is_total(Symbol name, const Fn* fn) {
  std::vector<const Call*> calls_of_itself;
  std::vector<const Match*> matches;
  const std::vector<Expr> order = post_order(fn->body);
  for (Expr e : order) {
    const auto* call = e->as<Call>();
    const auto* callee = call ? call->callee->as<Global>() : nullptr;
    if (callee && callee->name == name) {
      calls_of_itself.push_back(call);
    } else if (is_noticed(e)) {
      return false;
    }
    if (const auto* match = e->as<Match>()) matches.push_back(match);
  }
  if (calls_of_itself.empty()) return true;
  std::reverse(matches.begin(), matches.end());
  for (size_t i = 0; i < fn->params.size(); ++i) {
    const std::unordered_set<Expr> parts = parts_of(fn->params[i], matches);
    if (std::all_of(calls_of_itself.begin(), calls_of_itself.end(),
                    [&](const Call* call) { return parts.contains(call->args[i]); }))
      return true;
  }
  return false;
}

bool LeftOut::is_noticed(const Call& call) {
  if (const op::OpDef* def = op::callee(call))
    return def->effects == op::Effects::kEffect || may_trap(context_, call, *def);
  if (const kernel::Kernel* k = kernels_.callee(&call)) return k->external || kernels_.may_trap(call, *k);
  if (call.callee->as<CtorRef>() || call.callee->as<Fn>()) return false;
  const auto* global = call.callee->as<Global>();
  return !global || !total_.contains(global->name);
}

bool LeftOut::is_noticed(Expr e) {
  if (const auto* match = e->as<Match>()) return !match->total;
  if (const auto* call = e->as<Call>()) return is_noticed(*call);
  return e->kind == ExprKind::kRefWrite;
}

}  // namespace relay::analysis
