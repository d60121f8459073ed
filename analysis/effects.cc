#include "analysis/effects.h"

#include <algorithm>
#include <vector>

#include "analysis/external_functions.h"
#include "op/any_type.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

// Is the function what a pass made of operators, so that a call evaluates them and no more? A
// parameter of another type than its argument would be a check.
bool is_group(const Call& call, const Fn& fn) {
  if (fn.attrs.flag("Primitive")) return true;
  return fn.attrs.find(kComposite) &&
         std::equal(fn.params.begin(), fn.params.end(), call.args.begin(), call.args.end(),
                    [](const Var* x, Expr arg) { return x->type && x->type == arg->type; });
}

}  // namespace

bool may_trap_on_values(const Call& call, const op::OpDef& op) {
  if (op.effects != op::Effects::kTraps) return false;
  if (!op.traps || !call.type) return true;
  std::vector<Type> args;
  for (Expr arg : call.args) args.push_back(arg->type);
  return op.traps(call.attrs, args, call.type);
}

Fit fit_of(Context& context, const Call& call, const op::OpDef& op) {
  if (op::takes_any_type(op)) return Fit::kProved;
  std::vector<Type> types;
  bool is_static = true;
  for (Expr arg : call.args) {
    if (!arg->type || arg->type->has_type_var) return Fit::kUnknown;
    types.push_back(arg->type);
  }
  for (const TensorType* t : op::flatten(types)) is_static = is_static && t->is_static();
  if (is_static) return Fit::kProved;
  try {
    op::Relation relation(context, types);
    op::relate(relation, op, call.attrs);
    return relation.checks().empty() ? Fit::kProved : Fit::kChecked;
  } catch (const op::RelationError&) {
    return Fit::kUnknown;
  }
}

bool checks_shapes(Context& context, const Call& call, const op::OpDef& op) {
  return fit_of(context, call, op) != Fit::kProved;
}

bool may_trap(Context& context, const Call& call, const op::OpDef& op) {
  return may_trap_on_values(call, op) || checks_shapes(context, call, op);
}

// What is known of the children first; iterative, and each expression is decided once.
uint8_t Effects::known(Expr root) {
  std::vector<Expr> pending{root};
  while (!pending.empty()) {
    const Expr e = pending.back();
    if (bits_.get(e)) {
      pending.pop_back();
      continue;
    }
    const size_t before = pending.size();
    for_each_child(e, [&](Expr child) {
      if (!bits_.get(child)) pending.push_back(child);
    });
    if (pending.size() > before) continue;
    pending.pop_back();
    bits_[e] = decide(e);
  }
  return bits_.get(root);
}

uint8_t Effects::decide(Expr e) {
  uint8_t all = kSilent | kSteady, any = 0;
  for_each_child(e, [&](Expr child) {
    all &= bits_.get(child);
    any |= bits_.get(child);
  });
  const uint8_t shares = any & kSharesEffect;
  uint8_t own = kSilent | kSteady;
  switch (e->kind) {
    case ExprKind::kFn: {
      // Making a closure runs nothing. But it uses what is shared with its surroundings.
      const bool body_is_steady = bits_.get(e->as<Fn>()->body) & kSteady;
      const bool silent = uses_ ? !shares : body_is_steady;
      return static_cast<uint8_t>(kKnown | kSteady | (silent ? kSilent : 0) | shares);
    }
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: own = 0; break;
    case ExprKind::kMatch:
      if (!e->as<Match>()->total) own = kSteady;
      break;
    case ExprKind::kCall: {
      const auto* call = e->as<Call>();
      if (const op::OpDef* def = op::callee(*call)) {
        if (may_trap(context_, *call, *def)) own = kSteady;
        if (def->effects == op::Effects::kEffect) own = 0;
      } else if (const auto* fn = call->callee->as<Fn>(); fn && is_group(*call, *fn)) {
        own = bits_.get(fn->body);
      } else if (const kernel::Kernel* k = kernels_.callee(call)) {
        // How often a C function runs is nobody's promise, but where it does is the program's.
        own = k->external ? 0 : kernels_.may_trap(*call, *k) ? kSteady : kSilent | kSteady;
      } else if (!call->callee->as<CtorRef>()) {
        own = 0;
      }
      break;
    }
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kLet:
    case ExprKind::kIf:
    case ExprKind::kRefNew: break;
  }
  const uint8_t now = all & own & (kSilent | kSteady);
  const bool shared = uses_ && uses_->get(e) > 1;
  return static_cast<uint8_t>(kKnown | now | shares | (shared && !(now & kSilent) ? kSharesEffect : 0));
}

}  // namespace relay::analysis
