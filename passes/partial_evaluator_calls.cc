// Calls: which are unfolded, and what becomes of the others.
#include <algorithm>
#include <utility>

#include "analysis/effects.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/call_instance.h"
#include "passes/normal_forms.h"
#include "passes/partial_evaluator.h"
#include "passes/type_choices.h"

namespace relay::passes {

void PartialEvaluator::call(const Work& w, const Call& n, Partial callee, std::vector<Partial> args) {
  if (const std::optional<Expr> value = folded(n, args)) {
    ++decisions_;
    values_.push_back(coerce({*value}, n.type));
    return;
  }
  if (!unfold(w, n, callee, args)) leave_call(n, callee, args, w.name);
}

// A recursive call in a branch that may not be taken has no end, unless what is known of an
// argument gets smaller.
bool PartialEvaluator::may_unfold(const Fn* fn, const std::vector<Partial>& args) {
  if (endless_.contains(fn)) return false;
  for (size_t i = active_.size(); i-- > 0;) {
    const Active& before = active_[i];
    if (before.fn != fn) continue;
    if (before.depth == depth_) return true;
    for (size_t j = 0; j < before.args.size(); ++j) {
      const Known* then = before.args[j].known;
      const Known* now = args[j].known;
      if (then && now && then->kind == Known::Kind::kData && now->kind == Known::Kind::kData &&
          now->weight < then->weight)
        return true;
    }
    for (size_t j = attempts_.size(); j-- > 0;) {
      if (attempts_[j].fn != fn) continue;
      attempts_[j].left = true;
      break;
    }
    return false;
  }
  return true;
}

bool PartialEvaluator::unfold(const Work& w, const Call& n, Partial callee,
                              const std::vector<Partial>& args) {
  const Fn* fn = nullptr;
  Template body;
  Frame* around = nullptr;
  const Expr code =
      callee.known && callee.known->kind == Known::Kind::kCallable ? callee.known->callable : callee.name;
  if (callee.known && callee.known->kind == Known::Kind::kClosure) {
    fn = callee.known->fn;
    around = callee.known->frame;
    const auto* type = fn->type ? fn->type->as<FnType>() : nullptr;
    if (!type || !type->type_params.empty() || fn->params.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (fn->params[i]->type != args[i].name->type) return false;
    }
    if (!may_unfold(fn, args)) return false;
    body = {fn, around->scopes};
  } else if (const auto* global = code->as<Global>()) {
    fn = module_.function(global->name.text());
    if (!fn || is_primitive(fn) || !may_unfold(fn, args)) return false;
    const std::optional<Template> found = instance(n, callee, *fn, args);
    if (!found) return false;
    body = *found;
  } else {
    return false;
  }
  const std::optional<CallMemo::Key> key = memo_key(n, callee, body.fn, args);
  if (const Partial* value = key ? memo_.find(*key) : nullptr) {
    ++decisions_;
    values_.push_back(coerce(*value, n.type));
    return true;
  }
  if (attempts_.empty() && steps_ > budget_.steps) return false;
  if (attempts_.empty() ||
      std::none_of(active_.begin(), active_.end(), [&](const Active& a) { return a.fn == fn; }))
    attempts_.push_back({out_.mark(), pending_.size(), values_.size(), joining_.size(), active_.size(),
                         depth_, store_.mark(), decisions_, fn, &n, callee, args, w.name, 0, false, taken_});
  ++attempts_.front().calls;
  ++decisions_;
  Frame* inside = frame(body.scopes, around);
  for (size_t i = 0; i < args.size(); ++i) inside->values[body.fn->params[i]] = args[i];
  active_.push_back({fn, depth_, args, key, out_.always_noticed()});
  pending_.push_back({Work::kReturn, &n, inside});
  pending_.push_back({Work::kScope, nullptr, inside, body.scopes->opens.get(body.fn), w.name});
  return true;
}

// Which calls have equal values: of functions of the module that reach no cells, and give none.
// What they do with cells of their own nobody notices. `fn`: with the types of the call.
std::optional<CallMemo::Key> PartialEvaluator::memo_key(const Call& n, Partial callee, const Fn* fn,
                                                        const std::vector<Partial>& args) const {
  if ((callee.known && callee.known->kind == Known::Kind::kClosure) || may_hold_cells(n.type))
    return std::nullopt;
  const bool reaches =
      std::any_of(args.begin(), args.end(), [&](Partial p) { return may_hold_cells(p.name->type); });
  return reaches ? std::nullopt : CallMemo::key(fn, args);
}

void PartialEvaluator::end_call(const Call& n) {
  const Active done = std::move(active_.back());
  active_.pop_back();
  const Partial value = coerce(pop(), n.type);
  if (done.key && out_.always_noticed() == done.noticed)
    memo_.add(*done.key, value, out_.size(), out_.depth());
  values_.push_back(value);
}

// The global function with the types of the call; once for equal types.
std::optional<PartialEvaluator::Template> PartialEvaluator::instance(const Call& n, Partial callee,
                                                                     const Fn& fn,
                                                                     const std::vector<Partial>& args) {
  std::vector<Type> type_args, arg_types;
  for (Partial p : args) arg_types.push_back(p.name->type);
  if (n.callee == callee.name) {
    type_args.assign(n.type_args.begin(), n.type_args.end());
  } else if (!fn.type_params.empty()) {
    // It came as a value, of a type that is made of its own.
    const auto* general = fn.type ? fn.type->as<FnType>() : nullptr;
    const auto chosen = general && n.callee->type ? types_chosen(*general, n.callee->type) : std::nullopt;
    if (!chosen) return std::nullopt;
    type_args = *chosen;
  }
  std::vector<Type> key = type_args;
  key.insert(key.end(), arg_types.begin(), arg_types.end());
  const auto [it, is_new] = templates_.try_emplace({&fn, key});
  if (!is_new) return it->second;
  auto variables = shape_variables_.find(&fn);
  if (variables == shape_variables_.end())
    variables = shape_variables_.emplace(&fn, shape_variables(context_, &fn)).first;
  const std::optional<Instance> made = instance_of(context_, fn, type_args, arg_types, variables->second);
  if (!made) return std::nullopt;
  const Fn* own = made->is_same() ? &fn : map_types(context_, &fn, made->map())->as<Fn>();
  for (size_t i = 0; i < arg_types.size(); ++i) {
    if (own->params[i]->type != arg_types[i]) return std::nullopt;
  }
  scopes_.push_back(scopes(own));
  it->second = Template{own, &scopes_.back()};
  return it->second;
}

// Extents that are known now may make the call wrong in all runs.
bool PartialEvaluator::has_type(const Call& n, const op::OpDef& op) {
  std::vector<Type> types;
  for (Expr arg : n.args) types.push_back(arg->type);
  try {
    op::infer(context_, op, types, n.attrs);
    return true;
  } catch (const op::RelationError&) {
    return false;
  }
}

// A global function reaches cells by its arguments alone: they are cells, or hold
// cells or functions.
bool PartialEvaluator::may_hold_cells(Type type) const {
  std::vector<Type> pending{type};
  std::set<Type> seen;
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (!t) return true;
    if (!seen.insert(t).second) continue;
    if (const auto* tuple = t->as<TupleType>()) {
      pending.insert(pending.end(), tuple->fields.begin(), tuple->fields.end());
    } else if (const auto* data = t->as<DataType>()) {
      pending.insert(pending.end(), data->args.begin(), data->args.end());
      const DataTypeDef* def = module_.data_type(data->name.text());
      if (!def || def->is_extern) return true;
      for (const Constructor* ctor : def->ctors) {
        for (Type field : ctor->fields) {
          // What a parameter of the type stands for is among its arguments.
          if (field->kind != TypeKind::kVar) pending.push_back(field);
        }
      }
    } else if (t->kind != TypeKind::kTensor) {
      return true;
    }
  }
  return false;
}

void PartialEvaluator::leave_call(const Call& n, Partial callee, const std::vector<Partial>& args,
                                  const Var* name) {
  Builder& b = out_.builder();
  const SpanScope at(b, n.span);
  std::vector<Expr> names;
  for (Partial p : args) names.push_back(p.name);
  const auto* ref = callee.name->as<OpRef>();
  // As a value an operator had another place, and its type is that of this call.
  const Expr code = ref && n.callee != callee.name ? Expr(b.op(*ref->op)) : callee.name;
  const Call* now = b.call(code, names, n.attrs, n.type);
  Noticed noticed = Noticed::kAlways;
  if (ref) {
    if (ref->op->effects != op::Effects::kEffect && !analysis::may_trap(context_, *now, *ref->op) &&
        has_type(*now, *ref->op))
      noticed = Noticed::kNothing;
  } else if (!is_primitive(callee.name) && !kernels_.callee(now) &&
             (!callee.name->as<Global>() || std::any_of(args.begin(), args.end(), [&](Partial p) {
               return may_hold_cells(p.name->type);
             }))) {
    store_.forget_all();
  }
  values_.push_back(unknown(now, n.type, name, noticed));
}

void PartialEvaluator::end_attempts() {
  while (!attempts_.empty() && pending_.size() <= attempts_.back().pending) {
    if (attempts_.back().left && attempts_.back().taken == taken_) {
      give_up_attempt(attempts_.size() - 1);
    } else {
      attempts_.pop_back();
    }
  }
  if (attempts_.empty()) return;
  const Attempt& first = attempts_.front();
  if (first.calls <= budget_.calls && out_.size() <= first.residual.entries + budget_.nodes &&
      steps_ <= budget_.steps)
    return;
  endless_.insert(first.fn);
  give_up_attempt(0);
}

// What was done since is taken back.
void PartialEvaluator::give_up_attempt(size_t index) {
  const Attempt a = std::move(attempts_[index]);
  attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(index), attempts_.end());
  for (size_t i = out_.size(); i-- > a.residual.entries;) closures_.erase(i);
  out_.go_back(a.residual);
  memo_.forget_deeper(out_.depth());
  memo_.forget_since(a.residual.entries);
  pending_.resize(a.pending);
  values_.resize(a.values);
  joining_.erase(joining_.begin() + static_cast<std::ptrdiff_t>(a.joining), joining_.end());
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(a.active), active_.end());
  depth_ = a.depth;
  store_.go_back(a.store);
  decisions_ = a.decisions;
  taken_ = a.taken;
  leave_call(*a.call, a.callee, a.args, a.name);
}

}  // namespace relay::passes
