#include "passes/trap_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/effects.h"
#include "analysis/user_kernels.h"
#include "ir/evaluation_order.h"
#include "op/registry.h"

namespace relay::passes {
namespace {

// What may trap: the name in its message, and where it is written.
struct Trapping {
  std::string_view name;
  Span span;
};

// What may trap, by its name.
class Traps {
 public:
  explicit Traps(const Module& m) : kernels_(m) {}

  // Of the evaluation of the expression itself; empty if it cannot trap.
  std::string_view of(Expr e) {
    switch (e->kind) {
      case ExprKind::kMatch: return e->as<Match>()->total ? "" : "match";
      case ExprKind::kCall: return of_call(*e->as<Call>());
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kTuple:
      case ExprKind::kProj:
      case ExprKind::kFn:
      case ExprKind::kLet:
      case ExprKind::kIf:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;  // never traps itself
    }
    return {};
  }

 private:
  std::string_view of_call(const Call& n) {
    if (n.callee->kind == ExprKind::kFn || n.callee->kind == ExprKind::kCtorRef) return "";
    if (const op::OpDef* def = op::callee(n)) return analysis::may_trap_on_values(n, *def) ? def->name : "";
    if (const kernel::Kernel* k = kernels_.callee(&n))
      return k->external || kernels_.may_trap(n, *k) ? k->name.text() : "";
    return "call";
  }

  analysis::UserKernels kernels_;
};

std::vector<Trapping> traps_in_order(const Module& m) {
  std::vector<Trapping> out;
  Traps traps(m);
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : evaluation_order(fn)) {
      if (const std::string_view trap = traps.of(e); !trap.empty()) out.push_back({trap, e->span});
    }
  }
  return out;
}

// The place of each trap among all of them, by where it is written. Left out is what is written
// nowhere, or stands in several places.
std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> places(const std::vector<Trapping>& traps) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> out;
  constexpr size_t kSeveral = SIZE_MAX;
  for (size_t i = 0; i < traps.size(); ++i) {
    const Span at = traps[i].span;
    if (!at.known()) continue;
    const auto [it, is_new] = out.try_emplace({at.file, at.begin, at.end}, i);
    if (!is_new) it->second = kSeveral;
  }
  std::erase_if(out, [](const auto& entry) { return entry.second == kSeveral; });
  return out;
}

// Two traps of one name may have two messages: a quotient may not fit, or divide by zero. So traps
// that are written in one place each stay in their order, too.
bool exchanges_places(const std::vector<Trapping>& then, const std::vector<Trapping>& now) {
  const auto before = places(then), after = places(now);
  size_t last = 0;
  for (const Trapping& trap : now) {
    const std::tuple at{trap.span.file, trap.span.begin, trap.span.end};
    const auto found = before.find(at);
    if (found == before.end() || !after.contains(at)) continue;
    if (found->second < last) return true;
    last = found->second;
  }
  return false;
}

}  // namespace

bool keeps_trap_order(const Module& before, const Module& after) {
  const std::vector<Trapping> now = traps_in_order(after);
  if (now.size() < 2) return true;
  const std::vector<Trapping> then = traps_in_order(before);
  if (exchanges_places(then, now)) return false;
  const auto is_first = [&](const Trapping& trap) { return trap.name == now.front().name; };
  if (std::all_of(now.begin(), now.end(), is_first)) return true;
  size_t next = 0;
  for (const Trapping& trap : then) {
    if (next < now.size() && trap.name == now[next].name) ++next;
  }
  return next == now.size();
}

}  // namespace relay::passes
