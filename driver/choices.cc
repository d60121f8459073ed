#include "driver/choices.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "ir/analysis.h"
#include "ir/reachable.h"
#include "ir/traverse.h"

namespace relay::driver {
namespace {

class Places {
 public:
  void add(Span s) {
    if (s.known()) all_.emplace(s.file, s.begin, s.end);
  }
  bool contain(Span s) const { return all_.contains({s.file, s.begin, s.end}); }

 private:
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> all_;
};

// What a call of `callee` evaluates, if that is known.
Expr body_of(const Module& m, Expr callee) {
  if (const auto* fn = callee->as<Fn>()) return fn->body;
  const auto* global = callee->as<Global>();
  const Fn* fn = global ? m.function(global->name.text()) : nullptr;
  return fn ? fn->body : nullptr;
}

// The expressions that each run of the function evaluates, as far as that is known.
std::unordered_set<Expr> evaluated_by_each_run(const Module& m, const Fn& entry) {
  std::unordered_set<Expr> out;
  std::vector<Expr> pending{entry.body};
  const auto push = [&](Expr e) { pending.push_back(e); };
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!out.insert(e).second) continue;
    if (const auto* choice = e->as<If>()) {
      push(choice->cond);
    } else if (const auto* match = e->as<Match>()) {
      push(match->value);
    } else if (const auto* call = e->as<Call>()) {
      if (const Expr body = body_of(m, call->callee)) push(body);
      if (!call->callee->as<Fn>()) push(call->callee);
      for (Expr arg : call->args) push(arg);
    } else if (!e->as<Fn>()) {
      for_each_child(e, push);
    }
  }
  return out;
}

// Has the function, or one that it reaches, an `if` or a `match`?
bool chooses(const Module& m, std::string_view function) {
  std::vector<Expr> roots;
  for (Symbol name : reachable_from(m, function)) {
    if (const Fn* fn = m.function(name.text())) roots.push_back(fn);
  }
  const std::vector<Expr> all = post_order(roots);
  return std::any_of(all.begin(), all.end(), [](Expr e) { return e->as<If>() || e->as<Match>(); });
}

}  // namespace

bool may_avoid(const Module& m, std::string_view function, const Diagnostics& found) {
  const Fn* entry = m.function(function);
  if (!entry || !chooses(m, function)) return false;
  const std::unordered_set<Expr> always = evaluated_by_each_run(m, *entry);
  Places calls, chosen;
  std::vector<Expr> branches;
  for (Expr e : always) {
    if (e->as<Call>()) calls.add(e->span);
    if (const auto* choice = e->as<If>())
      branches.insert(branches.end(), {choice->then_branch, choice->else_branch});
    if (const auto* match = e->as<Match>()) {
      for (const Arm& arm : match->arms) branches.push_back(arm.body);
    }
  }
  // An error about an argument lies where the argument is: a branch may use what each run computes.
  for (Expr e : branches) chosen.add(e->span);
  for (Expr e : post_order(branches)) {
    if (always.contains(e)) continue;
    chosen.add(e->span);
    for_each_child(e, [&](Expr child) { chosen.add(child->span); });
  }
  return std::none_of(found.all().begin(), found.all().end(), [&](const Diagnostic& d) {
    return d.severity() == Severity::kError && calls.contain(d.span()) && !chosen.contain(d.span());
  });
}

}  // namespace relay::driver
