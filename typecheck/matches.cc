// The typing rules of patterns.
#include <algorithm>

#include "base/cat.h"
#include "base/counted.h"
#include "typecheck/exhaustive.h"
#include "typecheck/inference.h"

namespace relay::typecheck {

void Inference::patterns(const Match* m) {
  const Type value = use(m->value);
  bool good = true;
  for (const Arm& arm : m->arms) good &= pattern(arm.pattern, value, m);
  if (!good || unifier_.is_poison(value)) return;
  const Coverage found = coverage(module_, *m);
  if (found.too_complex) {
    if (m->total) {
      error(m->span, "match-too-complex",
            "it would take too long to prove that this `match` covers all values")
          .note("`match?` is not checked; it traps if no arm fits");
    }
    return;
  }
  if (m->total && !found.missing.empty()) {
    const auto* data = unifier_.find(value)->as<DataType>();
    const DataTypeDef* def = data ? module_.data_type(data->name.text()) : nullptr;
    Diagnostic& d =
        error(m->span, "match-not-exhaustive", cat("`match` does not cover `", found.missing[0], "`"));
    if (def) d.label(def->span, cat("the constructors of `", def->name.text(), "`"));
    d.note(found.missing.size() > 1
               ? cat("neither does it cover `", join(std::span(found.missing).subspan(1), "`, `"), "`")
               : "add an arm, or use `match?`, which traps if no arm fits");
  }
  for (size_t i : found.unreachable) {
    diagnostics_.warning(m->arms[i].pattern->span, "unreachable-arm",
                         "no value reaches this arm: the ones before it cover all that it fits");
  }
}

bool Inference::pattern(Pattern root, Type root_type, const Match* m) {
  const Expr origin = m;
  bool good = true;
  std::vector<std::pair<Pattern, Type>> pending{{root, root_type}};
  while (!pending.empty()) {
    const auto [p, type] = pending.back();
    pending.pop_back();
    std::vector<Type> fields;
    switch (p->kind) {
      case PatternKind::kWildcard: continue;
      case PatternKind::kVar: {
        const Type written = p->var->annotation ? annotation(p->var->annotation, p->var) : nullptr;
        if (written) {
          dims_are_bound(p->var->annotation, p->span);
          good &= agree(p->span, cat("the value of `%", p->var->name.text(), "`"), written, type,
                        {.slug = "wrong-value-type", .from = m->value->span, .who = "what is matched"});
        }
        set(p->var, written ? written : type);
        continue;
      }
      case PatternKind::kCtor: {
        const Type made = ctor_type(*p->ctor);
        const auto* fn = made->as<FnType>();
        if (fn) fn = unifier_.instantiate(fn, origin, [](kernel::Expr) { return true; })->as<FnType>();
        if (fn && p->fields.size() != fn->args.size()) {
          error(p->span, "wrong-pattern-arity",
                cat("`", p->ctor->name.text(), "` has ", counted(fn->args.size(), "field"),
                    ", the pattern has ", p->fields.size()))
              .label(p->ctor->span, "the constructor");
          fn = nullptr;
        } else if (fn &&
                   !agree(p->span, "the value that is matched", fn->result, type,
                          {.slug = "wrong-pattern-type", .from = m->value->span, .who = "what is matched"})) {
          fn = nullptr;
        }
        good &= fn != nullptr;
        for (size_t i = 0; i < p->fields.size(); ++i) fields.push_back(fn ? fn->args[i] : unifier_.poison());
        break;
      }
      case PatternKind::kTuple: {
        const auto* tuple = unifier_.find(type)->as<TupleType>();
        if (tuple && tuple->fields.size() == p->fields.size()) {
          fields.assign(tuple->fields.begin(), tuple->fields.end());
          break;
        }
        for (size_t i = 0; i < p->fields.size(); ++i) fields.push_back(unifier_.hole(origin));
        if (!agree(p->span, "the value that is matched", context_.tuple_type(fields), type,
                   {.slug = "wrong-pattern-type", .from = m->value->span, .who = "what is matched"})) {
          good = false;
          std::fill(fields.begin(), fields.end(), unifier_.poison());
        }
        break;
      }
    }
    for (size_t i = p->fields.size(); i-- > 0;) pending.emplace_back(p->fields[i], fields[i]);
  }
  return good;
}

}  // namespace relay::typecheck
