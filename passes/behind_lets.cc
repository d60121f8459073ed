#include "passes/behind_lets.h"

#include <unordered_set>

#include "base/cat.h"
#include "ir/traverse.h"
#include "passes/inner_pass.h"

namespace relay::passes {
namespace {

std::vector<const Let*> lets_of(const Module& m) {
  std::vector<const Let*> out;
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      if (const auto* let = e->as<Let>()) out.push_back(let);
    }
  }
  return out;
}

}  // namespace

void tell_of_lets(const Module& m, const Pass& pass, const PassContext& context) {
  if (!context.on_reason || !pass.skips_lets) return;
  Diagnostics none;
  const PassContext quiet{none, context.values, context.target, context.schedule};
  const std::optional<Module> inlined = after_inner_pass(m, kInlineLets, quiet);
  if (!inlined || inlined->same(m) || pass.run(*inlined, quiet).same(*inlined) || none.has_errors()) return;
  std::unordered_set<const Var*> kept;
  for (const Let* let : lets_of(*inlined)) kept.insert(let->x);
  std::vector<const Let*> gone = lets_of(m);
  std::erase_if(gone, [&](const Let* let) { return kept.contains(let->x); });
  if (gone.empty()) return;
  // Outer ones come last in post-order, and the first of them stands first in the text.
  const Let& first = *gone.back();
  const std::string place = m.context().sources().place(first.span);
  const std::string name = cat("`%", first.x->name.text(), "`", place.empty() ? "" : cat(" (", place, ")"));
  const std::string others =
      gone.size() == 1 ? " is bound by a let" : cat(" and ", gone.size() - 1, " more are bound by lets");
  context.stays(cat(name, others, ": run `inline-lets` first"));
}

}  // namespace relay::passes
