#include "ir/reachable.h"

#include <vector>

#include "ir/analysis.h"

namespace relay {

std::set<Symbol> reachable_from(const Module& m, std::string_view function) {
  std::set<Symbol> out;
  std::vector<Symbol> pending{m.context().symbol(function)};
  while (!pending.empty()) {
    const Symbol name = pending.back();
    pending.pop_back();
    if (!out.insert(name).second) continue;
    const Fn* fn = m.function(name.text());
    if (!fn) continue;
    for (Symbol other : mentioned_globals(fn)) pending.push_back(other);
  }
  return out;
}

Module only_reachable_from(const Module& m, std::string_view function) {
  const std::set<Symbol> reachable = reachable_from(m, function);
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    if (!reachable.contains(name)) out.remove_function(name.text());
  }
  return out;
}

}  // namespace relay
