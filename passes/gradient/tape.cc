#include "passes/gradient/tape.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "passes/gradient/adjoints.h"

namespace relay::passes::gradient {
namespace {

Expr field(Builder& b, Expr e, uint32_t i) {
  const auto* tuple = e->as<Tuple>();
  return tuple ? tuple->fields[i] : b.proj(e, i);
}

}  // namespace

const Var* append(Builder& b, Tape& tape, std::string_view name, Expr value) {
  const Var* x = b.with_type(b.var(name), value->type)->as<Var>();
  tape.push_back({{x}, {value}});
  return x;
}

Expr around(Builder& b, const Tape& tape, Expr body) {
  for (auto step = tape.rbegin(); step != tape.rend(); ++step) {
    const SpanScope at(b, step->values.empty() ? b.span() : step->values[0]->span);
    body = step->form == Step::Form::kShapes ? b.call(b.fn(step->xs, body), step->values, {}, body->type)
                                             : static_cast<Expr>(b.let(step->xs[0], step->values[0], body));
  }
  return body;
}

// --- Recorder ------------------------------------------------------------------------------------

Recorder::Recorder(Context& context, const Fn* fn) : fn_(fn), b_(context), scopes_(scopes(fn)) {
  for (const Var* p : fn->params) {
    const Type written = p->annotation ? p->annotation : p->type;
    params_.push_back(b_.with_type(b_.var(p->name.text(), written), p->type)->as<Var>());
    set(p, params_.back());
  }
}

Expr Recorder::record_branch(const If* origin, bool then_branch, Tape& tape) {
  const uint32_t first = scopes_.opens.get(origin);
  return then_branch ? record(origin->then_branch, first, tape)
                     : record(origin->else_branch, first + 1, tape);
}

void Recorder::forget_since(size_t known) {
  for (; log_.size() > known; log_.pop_back()) now_.erase(log_.back());
}

Expr Recorder::record(Expr body, uint32_t scope, Tape& tape) {
  enter(body, scope);
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    const SpanScope at(b_, task.e->span);
    switch (task.what) {
      case Task::What::kVisit: visit(task.e); break;
      case Task::What::kBuild: build(task.e, tape); break;
      case Task::What::kBind: bind(task.e, tape); break;
      case Task::What::kLeave: {
        const auto* let = task.e->as<Let>();
        set(task.e, now_.at(let ? let->body : task.e->as<Call>()->callee->as<Fn>()->body));
        break;
      }
    }
  }
  return now_.at(body);
}

// What is shared in a scope is evaluated first (docs/semantics.md, "Sharing").
void Recorder::enter(Expr body, uint32_t scope) {
  tasks_.push_back({Task::What::kVisit, body});
  const std::vector<Expr>& shared = scopes_.all[scope].shared;
  for (size_t i = shared.size(); i-- > 0;) tasks_.push_back({Task::What::kVisit, shared[i]});
}

void Recorder::visit(Expr e) {
  if (now_.contains(e)) return;
  if (is_leaf(e)) return set(e, e);
  if (const auto* let = e->as<Let>()) {
    names_.emplace(let->value, let->x->name);
    tasks_.push_back({Task::What::kBind, e});
    tasks_.push_back({Task::What::kVisit, let->value});
    return;
  }
  const auto* call = e->as<Call>();
  tasks_.push_back({call && call->callee->as<Fn>() ? Task::What::kBind : Task::What::kBuild, e});
  const size_t before = tasks_.size();
  if (const auto* choice = e->as<If>()) {
    tasks_.push_back({Task::What::kVisit, choice->cond});
  } else if (call) {
    for (Expr arg : call->args) tasks_.push_back({Task::What::kVisit, arg});
  } else {
    for_each_child(e, [&](Expr child) { tasks_.push_back({Task::What::kVisit, child}); });
  }
  std::reverse(tasks_.begin() + static_cast<std::ptrdiff_t>(before), tasks_.end());
}

void Recorder::build(Expr e, Tape& tape) {
  if (const auto* tuple = e->as<Tuple>()) return set(e, b_.tuple(now(tuple->fields)));
  if (const auto* proj = e->as<Proj>()) return set(e, field(b_, now_.at(proj->tuple), proj->index));
  const auto* choice = e->as<If>();
  const auto* call = e->as<Call>();
  const Expr value =
      choice
          ? b_.with_type(b_.if_(now_.at(choice->cond), copy(choice->then_branch), copy(choice->else_branch)),
                         e->type)
          : b_.call(call->callee, now(call->args), call->attrs, e->type);
  set(e, append(b_, tape, name_for(e), value));
  tape.back().origin = choice;
}

void Recorder::bind(Expr e, Tape& tape) {
  tasks_.push_back({Task::What::kLeave, e});
  const auto* let = e->as<Let>();
  if (let) {
    if (let->value->type == let->x->type) {
      set(let->x, now_.at(let->value));
    } else {  // what follows is typed by the annotation, and a run may have to check it
      const Var* x = fresh(let->x);
      tape.push_back({{x}, {now_.at(let->value)}, Step::Form::kName});
      set(let->x, x);
    }
    return enter(let->body, scopes_.opens.get(let));
  }
  const auto* call = e->as<Call>();
  const auto* fn = call->callee->as<Fn>();
  Step step{{}, now(call->args), Step::Form::kShapes};
  for (const Var* p : fn->params) {
    step.xs.push_back(fresh(p));
    set(p, step.xs.back());
  }
  tape.push_back(std::move(step));
  enter(fn->body, scopes_.opens.get(fn));
}

// The branch with variables of its own, as the value of an `if`. Each node is a new one: the branch
// may be written more than once, and what two of them shared would be evaluated outside.
Expr Recorder::copy(Expr branch) {
  std::unordered_map<Expr, Expr> done;
  const auto variable = [&](const Var* v) {
    Expr& copied = done[v];
    if (!copied) copied = fresh(v);
    return copied->as<Var>();
  };
  // Not into what is known: several branches may use one long program.
  const auto is_new = [&](Expr e) {
    const auto known = now_.find(e);
    if (known != now_.end()) done[e] = known->second;
    return known == now_.end();
  };
  walk(branch, is_new, [&](Expr e) {
    if (const auto* v = e->as<Var>()) {
      variable(v);
    } else if (is_leaf(e)) {
      done[e] = e;
    } else {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(done.at(child)); });
      Expr copied = rebuild(b_.context(), e, {.children = children, .var = variable, .type = e->type});
      if (copied == e) copied = match(e, [&](const auto& n) -> Expr { return b_.context().node(n); });
      done[e] = copied;
    }
  });
  return done.at(branch);
}

const Var* Recorder::fresh(const Var* v) {
  return b_.with_type(b_.var(v->name.text(), v->annotation), v->type)->as<Var>();
}

void Recorder::set(Expr e, Expr now) {
  if (now_.emplace(e, now).second) log_.push_back(e);
}

std::vector<Expr> Recorder::now(const List<Expr>& es) const {
  std::vector<Expr> out;
  for (Expr e : es) out.push_back(now_.at(e));
  return out;
}

std::string Recorder::name_for(Expr e) {
  const auto named = names_.find(e);
  return named == names_.end() ? cat("t", unnamed_++) : named->second.str();
}

// --- Adjoints ------------------------------------------------------------------------------------

void Adjoints::add(Expr target, Expr adjoint) {
  std::vector<std::pair<Expr, Expr>> pending{{target, adjoint}};
  while (!pending.empty()) {
    const auto [at, by] = pending.back();
    pending.pop_back();
    if (const auto* tuple = at->as<Tuple>()) {
      for (uint32_t i = 0; i < tuple->fields.size(); ++i)
        pending.emplace_back(tuple->fields[i], field(b_, by, i));
      continue;
    }
    std::vector<uint32_t> path;
    Expr root = at;
    for (; root->as<Proj>(); root = root->as<Proj>()->tuple) path.push_back(root->as<Proj>()->index);
    const auto* x = root->as<Var>();
    if (!x || !active_.contains(x)) continue;
    auto& entry = slots_[x->id];
    entry.first = x;
    Slot* slot = &entry.second;
    Type type = x->type;
    for (; !path.empty(); path.pop_back()) {
      const auto& fields = type->as<TupleType>()->fields;
      slot->fields.resize(fields.size());
      type = fields[path.back()];
      slot = &slot->fields[path.back()];
    }
    add_to(*slot, type, by);
  }
}

void Adjoints::add(Expr target, const Part& part) {
  for (uint32_t i : part.path) target = field(b_, target, i);
  add(target, part.adjoint);
}

std::vector<Adjoints::Part> Adjoints::take_parts(const Var* x) {
  std::vector<Part> out;
  const auto found = slots_.find(x->id);
  if (found == slots_.end()) return out;
  std::vector<std::pair<std::vector<uint32_t>, const Slot*>> pending{{{}, &found->second.second}};
  while (!pending.empty()) {
    const auto [path, slot] = pending.back();
    pending.pop_back();
    if (slot->adjoint) out.push_back({path, slot->adjoint});
    for (size_t i = slot->fields.size(); i-- > 0;) {
      pending.emplace_back(path, &slot->fields[i]);
      pending.back().first.push_back(static_cast<uint32_t>(i));
    }
  }
  slots_.erase(found);
  return out;
}

Expr Adjoints::take(const Var* x) {
  const auto found = slots_.find(x->id);
  if (found == slots_.end()) return nullptr;
  const Expr out = value_of(found->second.second, x);
  slots_.erase(found);
  return out;
}

std::map<std::vector<uint32_t>, Adjoints::Place> Adjoints::places() const {
  std::map<std::vector<uint32_t>, Place> out;
  struct Pending {
    std::vector<uint32_t> key;
    Expr primal;
    const Slot* slot;
  };
  std::vector<Pending> pending;
  for (const auto& [id, entry] : slots_) pending.push_back({{id}, entry.first, &entry.second});
  while (!pending.empty()) {
    const Pending at = pending.back();
    pending.pop_back();
    if (at.slot->adjoint) out[at.key] = {at.primal, at.slot->adjoint};
    for (uint32_t i = 0; i < at.slot->fields.size(); ++i) {
      pending.push_back({at.key, b_.proj(at.primal, i), &at.slot->fields[i]});
      pending.back().key.push_back(i);
    }
  }
  return out;
}

void Adjoints::add_to(Slot& slot, Type type, Expr adjoint) {
  if (const auto* tuple = type->as<TupleType>()) {
    slot.fields.resize(tuple->fields.size());
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      add_to(slot.fields[i], tuple->fields[i], field(b_, adjoint, i));
  } else if (holds_floats(type)) {
    slot.adjoint = slot.adjoint ? sum(b_, slot.adjoint, adjoint) : adjoint;
  }
}

// Null if there is no adjoint in the slot.
Expr Adjoints::value_of(const Slot& slot, Expr primal) {
  if (slot.fields.empty()) return slot.adjoint;
  std::vector<Expr> fields;
  bool any = false;
  for (uint32_t i = 0; i < slot.fields.size(); ++i) {
    fields.push_back(value_of(slot.fields[i], b_.proj(primal, i)));
    any |= fields.back() != nullptr;
  }
  if (!any) return nullptr;
  for (uint32_t i = 0; i < fields.size(); ++i) {
    if (!fields[i]) fields[i] = zeros(b_, b_.proj(primal, i));
  }
  return b_.tuple(fields);
}

}  // namespace relay::passes::gradient
