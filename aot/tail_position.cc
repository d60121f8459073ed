#include "aot/tail_position.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/traverse.h"

namespace relay::aot {
namespace {

// The calls whose results are the function's.
std::set<Expr> last_calls(const Fn& fn) {
  std::set<Expr> out;
  std::set<Expr> seen;
  std::vector<Expr> pending{fn.body};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e).second) continue;
    if (const auto* let = e->as<Let>()) {
      pending.push_back(let->body);
    } else if (const auto* n = e->as<If>()) {
      pending.insert(pending.end(), {n->then_branch, n->else_branch});
    } else if (const auto* match = e->as<Match>()) {
      for (const Arm& arm : match->arms) pending.push_back(arm.body);
    } else if (e->as<Call>()) {
      out.insert(e);
    }
  }
  return out;
}

// Who mentions a function, and whether every mention is a call in the last place.
struct Mentions {
  std::set<Symbol> by;
  bool all_last = true;
};

void add_mentions(Symbol name, const Fn& fn, std::map<Symbol, Mentions>& out) {
  const std::set<Expr> last = last_calls(fn);
  std::map<Expr, size_t> uses;  // of calls: another use of the result keeps it
  const std::vector<Expr> order = post_order(&fn);
  for (Expr e : order) {
    for_each_child(e, [&](Expr child) {
      if (child->as<Call>()) ++uses[child];
    });
  }
  for (Expr e : order) {
    const auto* call = e->as<Call>();
    for_each_child(e, [&](Expr child) {
      const auto* global = child->as<Global>();
      if (!global) return;
      Mentions& m = out[global->name];
      m.by.insert(name);
      const bool is_argument =
          call && std::find(call->args.begin(), call->args.end(), child) != call->args.end();
      m.all_last &= call && !is_argument && last.contains(e) && uses[e] <= 1;
    });
  }
}

}  // namespace

std::set<Symbol> functions_in_tail_position(const Program& program) {
  std::map<Symbol, Mentions> mentions;
  for (Symbol name : program.functions) add_mentions(name, *program.module.function(name.text()), mentions);
  std::set<Symbol> out;
  if (mentions.contains(program.functions.front())) return out;
  out.insert(program.functions.front());
  // Those that call each other in a circle never have all who mention them in the set.
  for (size_t before = 0; before != out.size();) {
    before = out.size();
    for (Symbol name : program.functions) {
      const auto m = mentions.find(name);
      if (m != mentions.end() && m->second.all_last &&
          std::includes(out.begin(), out.end(), m->second.by.begin(), m->second.by.end()))
        out.insert(name);
    }
  }
  return out;
}

}  // namespace relay::aot
