// Calls, and the relations of operators: asked as soon as what they need is known, else
// kept waiting for it.
#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "base/nearest.h"
#include "op/apply.h"
#include "op/registry.h"
#include "typecheck/inference.h"

namespace relay::typecheck {

Type Inference::call(const Call* n) {
  if (const auto* op = n->callee->as<OpRef>()) return operator_call(n, *op->op);
  const Type callee = unifier_.find(use_as_callee(n->callee, type_args_[n]));
  if (n->type && !type_args_.get(n).empty()) earlier_.push_back({function_, n});
  if (callee->kind == TypeKind::kHole) {
    std::vector<Type> args;
    for (Expr arg : n->args) args.push_back(use(arg));
    if (unifier_.is_poison(callee)) return unifier_.poison();
    const Type result = unifier_.hole(n);
    const Type wanted = context_.fn_type({}, args, result);
    return agree(place(n->callee, n), "what is called", wanted, callee) ? result : unifier_.poison();
  }
  const auto* fn = callee->as<FnType>();
  if (!fn) {
    error(place(n->callee, n), "not-a-function",
          cat("only a function can be called, this is `", text(callee), "`"))
        .label(n->callee->span, "this is what is called");
    return unifier_.poison();
  }
  if (fn->args.size() != n->args.size()) {
    error(n->span, "wrong-argument-count",
          cat(name_of(n->callee), " takes ", fn->args.size(),
              fn->args.size() == 1 ? " argument" : " arguments", ", the call has ", n->args.size()))
        .label(definition_of(n->callee), definition_of(n->callee).known()
                                             ? cat(name_of(n->callee), " is defined here")
                                             : cat("its type is `", text(callee), "`"));
    agree(n->span, "", callee, unifier_.poison());  // what the arguments would have determined
    return fn->result;
  }
  for (size_t i = 0; i < fn->args.size(); ++i) {
    const auto* formal = unifier_.find(fn->args[i])->as<FnType>();
    const Expr arg = n->args[i];
    const bool whole = formal && !formal->type_params.empty() && types_.get(arg);
    const auto* literal = n->callee->as<Fn>();
    agree(place(arg, n),
          literal ? cat("the value of `%", literal->params[i]->name.text(), "`")
                  : cat("argument ", i, " of ", name_of(n->callee)),
          fn->args[i], whole ? scheme(arg) : use(arg),
          {.slug = "wrong-argument-type", .call = n, .index = i});
  }
  settled(n);
  if (note_checks(n) && n->callee->kind == ExprKind::kCtorRef) {
    // Others compare what they are called with.
    for (size_t i = 0; i < fn->args.size(); ++i) compared_[n].push_back({n->args[i], fn->args[i], "field"});
  }
  return fn->result;
}

// Operators.

bool Inference::attributes(const Call* n, const op::OpDef& op) {
  const std::vector<op::AttrError> errors =
      op.check_attrs ? op.check_attrs(n->attrs) : std::vector<op::AttrError>();
  for (const op::AttrError& wrong : errors) {
    Diagnostic& d =
        error(n->span, wrong.slug, cat("attribute `", wrong.name, "` of `", op.name, "` ", wrong.reason));
    if (wrong.slug == "unknown-attribute")
      suggest(d, wrong.name, names_of(op.attrs, [](const op::AttrField& a) { return a.name; }));
    else if (wrong.slug == "missing-attribute")
      d.note(cat("`relay ops ", op.name, "` lists its attributes"));
  }
  return errors.empty() && dims_are_bound(n->attrs, n->span);
}

Type Inference::operator_call(const Call* n, const op::OpDef& op) {
  std::vector<Type> args;
  for (Expr arg : n->args) args.push_back(use(arg));
  const bool good = attributes(n, op);
  if (args.size() != op.params.size()) {
    error(n->span, "wrong-argument-count",
          cat("`", op.name, "` takes ", op.params.size(), op.params.size() == 1 ? " argument" : " arguments",
              ", the call has ", args.size()))
        .note(cat("it is called as `", op.name, "(",
                  join(op.params, ", ", [](const op::Param& p) { return cat("%", p.name); }),
                  ")`; `relay ops ", op.name, "` says more"));
    return unifier_.poison();
  }
  if (!good) return unifier_.poison();
  const Type result = start({n, &op, args, nullptr, givens_});
  if (!types_.get(n->callee)) set(n->callee, context_.fn_type({}, args, result));
  return result;
}

// An operator that is not called here but passed on: a function of unknown tensors until
// its use says more.
Type Inference::operator_value(const OpRef* n) {
  std::vector<Type> args;
  for (size_t i = 0; i < n->op->params.size(); ++i) args.push_back(unifier_.hole(n));
  const Type result = start({n, n->op, args, nullptr, givens_});
  const Type t = context_.fn_type({}, args, result);
  if (!types_.get(n)) set(n, t);
  return t;
}

// Relations.

// The result of the task: its type if it could be done at once, else a hole.
Type Inference::start(Task task) {
  task.function = function_;
  if (attempt(task, false)) return task.result;
  if (!task.result) task.result = unifier_.hole(task.e);
  const auto index = static_cast<uint32_t>(tasks_.size());
  open_tasks_.push_back(index);
  tasks_.push_back(std::move(task));
  // The attempt above could not say who waits.
  attempt(tasks_[index], false);
  return tasks_[index].result;
}

// True once nothing remains to be done. Otherwise the task waits for an unknown, if it has a
// place in tasks_.
bool Inference::attempt(Task& task, bool last_chance) {
  if (task.done) return true;
  // What it says is of the function that it is in, whoever knew what it waited for.
  struct Within {
    Symbol& function;
    const Symbol before = function;
    ~Within() { function = before; }
  } within{function_};
  function_ = task.function;
  const bool placed = !tasks_.empty() && &task >= tasks_.data() && &task < tasks_.data() + tasks_.size();
  const auto wait = [&](Type unknown) {
    if (placed && !last_chance) unifier_.wait(unknown, static_cast<uint32_t>(&task - tasks_.data()));
    return false;
  };
  if (!task.op) {
    const Type t = unifier_.find(task.args[0]);
    return t->kind == TypeKind::kHole && t != unifier_.poison() ? wait(t) : attempt_projection(task);
  }
  for (size_t i = 0; i < task.args.size(); ++i) {
    const Type unknown = unifier_.unknown_in(task.args[i]);
    if (!unknown) continue;
    if (unknown == unifier_.poison()) {
      task.done = true;
      if (task.result) {
        agree(task.e->span, "", task.result, unifier_.poison());
      } else {
        task.result = unifier_.poison();
      }
      return true;
    }
    const auto& refines = task.op->refines;
    const bool may_be_null = std::find(refines.begin(), refines.end(), static_cast<int>(i)) != refines.end();
    if (last_chance && unknown->kind == TypeKind::kTensor) {
      unifier_.forget_dims(task.args[i]);
    } else if (!(last_chance && may_be_null)) {
      return wait(unknown);
    }
  }
  ask(task);
  return true;
}

bool Inference::attempt_projection(Task& task) {
  task.done = true;
  const auto* proj = task.e->as<Proj>();
  const Type t = unifier_.find(task.args[0]);
  if (const auto* tuple = t->as<TupleType>(); tuple && proj->index < tuple->fields.size()) {
    agree(task.e->span, "the field", task.result, tuple->fields[proj->index]);
    return true;
  }
  if (t != unifier_.poison()) {
    error(proj->span, "bad-projection",
          t->kind == TypeKind::kTuple ? cat("field ", proj->index, " does not exist in a tuple of ",
                                            t->as<TupleType>()->fields.size())
                                      : cat("only a tuple has fields, this is `", text(t), "`"));
  }
  agree(task.e->span, "", task.result, unifier_.poison());
  return true;
}

Attrs Inference::Task::attrs() const {
  if (relation) return relation->attrs;
  const auto* call = e->as<Call>();
  return call ? call->attrs : Attrs();
}

// What a relation that the functions around declare says the result is; null if none is about
// these arguments.
Type Inference::given(const Task& task) {
  for (const Givens* g = task.givens; g; g = g->outer) {
    for (Type t : g->where) {
      const auto* relation = t->as<RelationType>();
      const std::span<const Type> args = relation->args();
      const bool same = op::is_relation_of(*task.op, relation->name.text()) &&
                        relation->attrs == task.attrs() &&
                        std::equal(args.begin(), args.end(), task.args.begin(), task.args.end(),
                                   [&](Type a, Type b) { return a == unifier_.resolve(b); });
      if (same) return relation->result();
    }
  }
  return nullptr;
}

// What the generic functions that `user` uses ask for of the types that they are used at.
void Inference::owe(Expr user) {
  for (const RelationType* relation : unifier_.take_obligations()) {
    const op::OpDef* op = op::find_relation(relation->name.text());
    const std::span<const Type> args = relation->args();
    CHECK(op && args.size() == op->params.size(), "a relation that the kind check refuses was instantiated");
    start({user, op, {args.begin(), args.end()}, relation->result(), givens_, relation});
  }
}

// Asks the relation, all that it needs being known.
void Inference::ask(Task& task) {
  task.done = true;
  std::vector<Type> args;
  for (Type arg : task.args) {
    const Type t = unifier_.resolve(arg);
    args.push_back(unifier_.unknown_in(t) ? nullptr : t);
  }
  Type result = unifier_.poison();
  const auto* call = task.relation ? nullptr : task.e->as<Call>();
  const bool about_parameters =
      std::any_of(args.begin(), args.end(), [](Type t) { return t && t->has_type_var; });
  const Type known = about_parameters ? given(task) : nullptr;
  if (known) {
    result = known;
  } else
    try {
      op::Relation relation(context_, args);
      const Type found = op::relate(relation, *task.op, task.attrs());
      op::require_countable(found);
      for (const auto& [arg, type] : relation.assigned()) {
        const Expr at = call ? call->args[static_cast<size_t>(arg)] : task.e;
        agree(place(at, task.e), cat("argument ", arg, " of `", task.op->name, "`"), type,
              task.args[static_cast<size_t>(arg)]);
      }
      for (const op::DimCheck& c : relation.checks())
        checks_.push_back({task.e, c.a, c.b, op::one_fits_second(c)});
      result = found;
    } catch (const op::RelationError& wrong) {
      if (about_parameters) {
        missing_relation(task);
      } else {
        relation_error(task, wrong);
      }
    }
  if (!task.result) {
    task.result = result;
  } else {
    agree(task.e->span,
          cat("the result of `", task.relation ? task.relation->name.text() : task.op->name, "`"),
          task.result, result);
    note_checks(task.e);
  }
}

// Tries again what waited for something that is known now.
void Inference::wake() {
  for (;;) {
    const std::vector<uint32_t> woken = unifier_.take_woken();
    if (woken.empty()) return;
    for (uint32_t i : woken) attempt(tasks_[i], false);
  }
}

bool Inference::note_checks(Expr at) {
  const std::vector<DimPair> pairs = unifier_.take_checks();
  for (const DimPair& pair : pairs) checks_.push_back({at, pair.first, pair.second});
  return !pairs.empty();
}

void Inference::check_at_run_time(Expr at, Expr parent, Type expected, std::string_view name) {
  if (note_checks(at)) compared_[parent].push_back({at, expected, std::string(name)});
}

// What still waits when a level is left is not generalised: its unknowns belong to
// the level around.
void Inference::leave_level() {
  wake();
  size_t kept = open_at_level_.back();
  open_at_level_.pop_back();
  for (size_t i = kept; i < open_tasks_.size(); ++i) {
    const Task& task = tasks_[open_tasks_[i]];
    if (task.done) continue;
    for (Type arg : task.args) unifier_.lower(arg, unifier_.level() - 1);
    unifier_.lower(task.result, unifier_.level() - 1);
    open_tasks_[kept++] = open_tasks_[i];
  }
  open_tasks_.resize(kept);
}

}  // namespace relay::typecheck
