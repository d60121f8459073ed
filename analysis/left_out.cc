#include "analysis/left_out.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/effects.h"
#include "ir/function_graph.h"
#include "ir/traverse.h"
#include "kernel/expr.h"
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

// A parameter's extent, and the argument's.
struct ExtentPair {
  Dim asked, given;
};

// Of all tensors and fields of tuples, in order; nothing if a type is not known. What data types,
// references and functions hold is not looked at when a function is called. Types share parts, so
// each pair is met twice at most: what is named the first time is compared the second time.
std::optional<std::vector<ExtentPair>> extent_pairs(const Call& call, const List<const Var*>& params) {
  std::vector<ExtentPair> out;
  std::vector<std::pair<Type, Type>> pending;
  std::map<std::pair<Type, Type>, int> met;
  for (size_t i = params.size(); i-- > 0;) pending.emplace_back(params[i]->type, call.args[i]->type);
  while (!pending.empty()) {
    const auto [asked, given] = pending.back();
    pending.pop_back();
    if (!asked || !given) return std::nullopt;
    if (++met[{asked, given}] > 2) continue;
    if (const auto* tuple = asked->as<TupleType>()) {
      const auto* fields = given->as<TupleType>();
      if (!fields || fields->fields.size() != tuple->fields.size()) return std::nullopt;
      for (size_t i = tuple->fields.size(); i-- > 0;)
        pending.emplace_back(tuple->fields[i], fields->fields[i]);
    } else if (const auto* tensor = asked->as<TensorType>()) {
      const auto* from = given->as<TensorType>();
      if (!from || from->rank() != tensor->rank()) return std::nullopt;
      for (size_t i = 0; i < tensor->rank(); ++i) out.push_back({tensor->dims[i], from->dims[i]});
    }
  }
  return out;
}

// Does a run compare extents when these parameters get the arguments? `names`: shape variables are
// the parameters' own. Those of a function expression may be of the functions around it.
bool compares_extents(Context& context, const Call& call, const List<const Var*>& params, bool names) {
  const auto pairs = extent_pairs(call, params);
  if (!pairs) return true;
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> known;
  std::unordered_set<const kernel::ExprNode*> open;  // named after an extent that only a run tells
  const auto names_it = [&](const ExtentPair& p) {
    if (!names || !p.asked.is_symbolic() || p.asked.symbolic()->kind != kernel::ExprKind::kVar) return false;
    const kernel::ExprNode* v = p.asked.symbolic().get();
    if (known.contains(v) || open.contains(v)) return false;
    if (p.given.is_unknown()) return open.insert(v).second;
    return known.emplace(v, p.given.expr(context.pool())).second;
  };
  std::vector<ExtentPair> compared;
  for (const ExtentPair& p : *pairs) {
    if (!p.asked.is_unknown() && !names_it(p)) compared.push_back(p);
  }
  return std::any_of(compared.begin(), compared.end(), [&](const ExtentPair& p) {
    if (p.given.is_unknown() || !p.asked.is_symbolic()) return p.asked != p.given;
    for (kernel::Expr v : kernel::variables(p.asked.symbolic())) {
      if (open.contains(v.get())) return true;
    }
    return Dim(kernel::substitute(p.asked.symbolic(), known)) != p.given;
  });
}

}  // namespace

const std::set<Symbol, Module::ByName>& LeftOut::total_functions() {
  if (std::exchange(is_begun_, true)) return total_;
  const FunctionGraph graph = function_graph(module_);
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
    if (is_total(graph.names[at], module_.function(graph.names[at].text()))) total_.insert(graph.names[at]);
    for (size_t caller : callers[at]) {
      if (--open[caller] == 0) pending.push_back(caller);
    }
  }
  return total_;
}

bool LeftOut::is_total(Symbol name, const Fn* fn) {
  std::vector<const Call*> calls_of_itself;
  std::vector<const Match*> matches;
  const std::vector<Expr> order = post_order(fn->body);
  for (Expr e : order) {
    const auto* call = e->as<Call>();
    const auto* callee = call ? call->callee->as<Global>() : nullptr;
    if (callee && callee->name == name) {
      if (compares_extents(context_, *call, fn->params, true)) return false;
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
  if (call.callee->as<CtorRef>()) return false;
  if (const auto* fn = call.callee->as<Fn>()) return compares_extents(context_, call, fn->params, false);
  const auto* global = call.callee->as<Global>();
  if (!global || !total_functions().contains(global->name)) return true;
  return compares_extents(context_, call, module_.function(global->name.text())->params, true);
}

bool LeftOut::is_noticed(Expr e) {
  if (const auto* match = e->as<Match>()) return !match->total;
  if (const auto* call = e->as<Call>()) return is_noticed(*call);
  return e->kind == ExprKind::kRefWrite;
}

}  // namespace relay::analysis
