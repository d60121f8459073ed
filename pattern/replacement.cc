#include "pattern/replacement.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/text/parse_open.h"
#include "ir/traverse.h"
#include "op/operators.h"

namespace relay::pattern {

std::vector<std::string> names_of(const Pattern& p, bool with_paths) {
  std::set<std::string> names;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> pending{p.get()};
  while (!pending.empty()) {
    const Node* n = pending.back();
    pending.pop_back();
    if (!seen.insert(n).second) continue;
    if (!n->name.empty()) names.insert(n->name);
    for (size_t i = 0; i < n->children.size(); ++i) {
      if (with_paths || n->kind != Kind::kDominator || i != kPath) pending.push_back(n->children[i].get());
    }
  }
  return {names.begin(), names.end()};
}

Result<Replacement> Replacement::parse(std::string name, const std::string& source, const Pattern& pattern,
                                       const Module& into, Diagnostics& diagnostics) {
  const std::vector<std::string> names = names_of(pattern, /*with_paths=*/false);
  ParseOptions options;
  options.into = into;
  const Result<Expr> e =
      parse_open_expr(std::move(name), source, names, diagnostics, op::operators(), options);
  if (!e) return kReported;
  // What is bound within is a part of nothing.
  std::unordered_set<const Var*> bound;
  std::vector<const Var*> parts;
  const std::vector<Expr> all = post_order(*e);
  for (Expr node : all) for_each_binder(node, [&](const Var* v) { bound.insert(v); });
  for (Expr node : all) {
    const Var* v = node->as<Var>();
    if (!v || bound.contains(v)) continue;
    parts.push_back(v);
    if (std::binary_search(names.begin(), names.end(), v->name.text())) continue;
    // The text declares it itself: no match would ever have it.
    diagnostics.error(v->span, "unknown-variable",
                      cat("the pattern has no part `%", v->name.text(), "` outside its paths"));
    return kReported;
  }
  return Replacement(into, *e, std::move(parts));
}

Expr Replacement::make(const Match& m) const {
  std::unordered_map<const Var*, Expr> by;
  for (const Var* part : parts_) {
    const Expr matched = m.at(part->name.text());
    if (!matched) return nullptr;
    by.emplace(part, matched);
  }
  return substitute(into_.context(), refresh(into_.context(), e_), by);
}

}  // namespace relay::pattern
