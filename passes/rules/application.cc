// One rule at one expression: the right side is made, and what holds for all rules is checked.
#include <algorithm>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "passes/rules/conditions.h"
#include "passes/rules/engine.h"
#include "passes/rules/values.h"

namespace relay::passes::rules {
namespace {

int64_t most_folded_bytes() {
  static const int64_t most = step(kFoldConstants).values.at("max-bytes");
  return most;
}

// The evaluations that a pattern describes. What else it matched is an input.
std::set<Expr> region_of(const pattern::LocalMatch& m) {
  std::set<Expr> out;
  for (const auto& [part, e] : m.bindings()) {
    const bool described = part->kind == pattern::Kind::kCall || part->kind == pattern::Kind::kTuple ||
                           part->kind == pattern::Kind::kTupleGetItem;
    if (described) out.insert(e);
  }
  return out;
}

// The inputs that are evaluated, in order, each as often as it is used; `inside` says what is none.
template <class Inside>
std::vector<Expr> inputs_of(Expr root, Inside&& inside) {
  std::vector<Expr> out, pending{root};
  std::set<Expr> seen;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (is_leaf(e)) continue;
    if (!inside(e)) {
      out.push_back(e);
      continue;
    }
    if (!seen.insert(e).second) continue;
    const size_t before = pending.size();
    for_each_child(e, [&](Expr child) { pending.push_back(child); });
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(before), pending.end());
  }
  return out;
}

}  // namespace

Expr Application::apply(const Rule& rule, Expr e, const pattern::LocalMatcher::UsedOnce& used_once) {
  if (!e->type) return nullptr;
  Expr out = nullptr;
  builder_.set_span(e->span);
  rule.left.match(e, used_once, [&](const pattern::LocalMatch& m) {
    for (const Use& condition : rule.conditions) {
      if (!holds(condition, m)) return false;
    }
    const Expr now = make(rule.right, m, e);
    if (!now || now == e || !provably_same(now->type, e->type)) return false;
    if (!keeps_checks(m, now) || !keeps_order(m, e, now)) return false;
    out = now;
    return true;
  });
  return out;
}

std::optional<std::vector<std::string>> Application::broken(const Rule& rule, Expr e) {
  std::optional<std::vector<std::string>> out;
  rule.left.match(
      e, [](Expr) { return true; },
      [&](const pattern::LocalMatch& m) {
        out.emplace();
        for (const Use& condition : rule.conditions) {
          if (!holds(condition, m)) out->push_back(condition.name);
        }
        const Expr now = make(rule.right, m, e);
        if (!now || !provably_same(now->type, e->type)) {
          out->push_back("type");
        } else {
          if (!keeps_checks(m, now)) out->push_back("shapes");
          if (!keeps_order(m, e, now)) out->push_back("order");
        }
        return true;
      });
  return out;
}

Expr Application::make(const Template& t, const pattern::LocalMatch& m, Expr root) {
  switch (t.kind) {
    case Template::Kind::kPart: return m.at(t.part);
    case Template::Kind::kCall: return call(t, m, root);
    case Template::Kind::kTuple: {
      std::vector<Expr> fields;
      for (const Template& child : t.children) {
        fields.push_back(make(child, m, root));
        if (!fields.back()) return nullptr;
      }
      return builder_.tuple(fields);
    }
    case Template::Kind::kField: {
      const Expr tuple = make(t.children[0], m, root);
      const auto* type = tuple && tuple->type ? tuple->type->as<TupleType>() : nullptr;
      return type && t.index < type->fields.size() ? builder_.proj(tuple, t.index) : nullptr;
    }
    case Template::Kind::kScalar: {
      const Expr like = m.at(t.part);
      const TensorType* type = like ? tensor_of(like) : nullptr;
      return type ? builder_.scalar(type->dtype, t.number) : nullptr;
    }
  }
  return nullptr;
}

Expr Application::call(const Template& t, const pattern::LocalMatch& m, Expr root) {
  std::vector<Expr> args;
  for (const Template& child : t.children) {
    args.push_back(make(child, m, root));
    if (!args.back()) return nullptr;
  }
  std::vector<AttrArg> attrs;
  if (!t.attrs_of.empty()) {
    const Expr from = m.at(t.attrs_of);
    const auto* call = from ? from->as<Call>() : nullptr;
    if (!call) return nullptr;
    attrs = op::attr_args(call->attrs);
  }
  for (const NewAttribute& attr : t.attrs) {
    if (const Use* use = std::get_if<Use>(&attr.value)) {
      const auto operands = look_up(*use, m);
      auto value = operands ? find_value(use->name)->of(*operands) : std::nullopt;
      if (!value) return nullptr;
      attrs.push_back({attr.name, std::move(*value)});
    } else {
      attrs.push_back({attr.name, std::get<1>(attr.value)});
    }
  }
  try {
    return folded(op::call(builder_, *t.op, args, attrs));
  } catch (const op::RelationError&) {
    return nullptr;  // the operator takes no such arguments
  }
}

// The constant that a call on constants is, so that the next rule sees one. Null if it would trap.
Expr Application::folded(Expr e) const {
  const auto& call = *e->as<Call>();
  const TensorType* t = tensor_of(e);
  const auto shape = t ? t->static_shape() : std::nullopt;
  const auto count = shape ? element_count(*shape) : std::nullopt;
  if (!options_.fold || call.args.empty() || !count ||
      *count > most_folded_bytes() / static_cast<int64_t>(t->dtype.bytes()))
    return e;
  std::vector<relay::Value> args;
  for (Expr arg : call.args) {
    const auto* c = arg->as<Constant>();
    if (!c) return e;
    args.push_back(*c->value);
  }
  try {
    Builder b(context_);
    b.set_span(e->span);
    return b.constant(op::evaluate(context_, *op::callee(call), args, call.attrs).tensor());
  } catch (const Trap&) {
    return nullptr;
  }
}

bool Application::keeps_checks(const pattern::LocalMatch& m, Expr now) {
  const std::set<Expr> region = region_of(m);
  std::set<Expr> inputs;
  for (Expr e : region) {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (def && analysis::checks_shapes(context_, *call, *def)) return false;
    for_each_child(e, [&](Expr child) {
      if (!region.contains(child)) inputs.insert(child);
    });
  }
  std::vector<Expr> pending{now};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (is_leaf(e) || region.contains(e) || inputs.contains(e)) continue;
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (def && analysis::checks_shapes(context_, *call, *def)) return false;
    for_each_child(e, [&](Expr child) { pending.push_back(child); });
  }
  return true;
}

bool Application::keeps_order(const pattern::LocalMatch& m, Expr root, Expr now) {
  const std::set<Expr> region = region_of(m);
  const std::vector<Expr> before = inputs_of(root, [&](Expr e) { return region.contains(e); });
  if (std::all_of(before.begin(), before.end(), [&](Expr e) { return effects_.silent(e); })) return true;
  const std::set<Expr> inputs(before.begin(), before.end());
  if (before != inputs_of(now, [&](Expr e) { return !inputs.contains(e); })) return false;
  // Where the operators themselves may trap, it matters whether they do before an input.
  return std::all_of(region.begin(), region.end(), [&](Expr e) {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    return !def || !analysis::may_trap_on_values(*call, *def);
  });
}

}  // namespace relay::passes::rules
