// The typing rules, one for each form. Expressions are visited in evaluation order, shared
// ones where their scope begins, from a stack of steps: children first, then the expression
// itself is finished.
#include <algorithm>

#include "base/cat.h"
#include "ir/type_parts.h"
#include "typecheck/inference.h"

namespace relay::typecheck {
void Inference::body(const Fn* fn) {
  const Scopes scopes = relay::scopes(fn);
  scopes_ = &scopes;
  steps_.push_back({Do::kVisit, fn});
  while (!steps_.empty()) {
    const Step step = steps_.back();
    steps_.pop_back();
    switch (step.what) {
      case Do::kVisit: visit(step.e); break;
      case Do::kScope: open_scope(step.scope); break;
      case Do::kBind: bind_let(step.e->as<Let>()); break;
      case Do::kPatterns: patterns(step.e->as<Match>()); break;
      case Do::kFinish:
        finish(step.e);
        owe(step.e);
        wake();
        break;
    }
  }
  scopes_ = nullptr;
}

// What the scope shares comes first, in order; then its body.
void Inference::open_scope(uint32_t scope) {
  const Scopes::Scope& s = scopes_->all[scope];
  steps_.push_back({Do::kVisit, s.body});
  for (size_t i = s.shared.size(); i-- > 0;) steps_.push_back({Do::kVisit, s.shared[i]});
}

// Pushes what is to be done, last step first.
void Inference::visit(Expr e) {
  if (types_.get(e) && !(e->kind == ExprKind::kGlobal)) return;
  const uint32_t opens = scopes_->opens.get(e);
  steps_.push_back({Do::kFinish, e});
  switch (e->kind) {
    case ExprKind::kFn: {
      const auto* fn = e->as<Fn>();
      if (!results_.get(fn)) prepare(fn, false);
      bind_dims(fn);
      dims_are_bound(fn->result, fn->span);
      for (Type relation : fn->where) {
        dims_are_bound(relation, fn->span);
        dims_are_bound(relation->as<RelationType>()->attrs, fn->span);
      }
      if (!fn->where.empty()) {
        std::vector<Type> known = relations(fn);
        const bool is_complete = known.size() == fn->where.size();
        givens_ = &all_givens_.emplace_back(Givens{givens_, std::move(known), is_complete});
      }
      steps_.push_back({Do::kScope, nullptr, opens});
      return;
    }
    case ExprKind::kLet: {
      const auto* let = e->as<Let>();
      steps_.push_back({Do::kScope, nullptr, opens});
      steps_.push_back({Do::kBind, let});
      let_value(let);
      steps_.push_back({Do::kVisit, let->value});
      return;
    }
    case ExprKind::kIf:
      steps_.push_back({Do::kScope, nullptr, opens + 1});
      steps_.push_back({Do::kScope, nullptr, opens});
      steps_.push_back({Do::kVisit, e->as<If>()->cond});
      return;
    case ExprKind::kMatch: {
      const auto* m = e->as<Match>();
      for (size_t i = m->arms.size(); i-- > 0;) {
        steps_.push_back({Do::kScope, nullptr, opens + static_cast<uint32_t>(i)});
      }
      steps_.push_back({Do::kPatterns, m});
      steps_.push_back({Do::kVisit, m->value});
      return;
    }
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: break;  // opens no scope
  }
  const size_t start = steps_.size();
  for_each_child(e, [&](Expr child) { steps_.push_back({Do::kVisit, child}); });
  std::reverse(steps_.begin() + static_cast<ptrdiff_t>(start), steps_.end());
}

void Inference::finish(Expr e) {
  switch (e->kind) {
    case ExprKind::kConstant: {
      const Tensor& value = *e->as<Constant>()->value;
      set(e, context_.tensor_type(value.shape(), value.dtype()));
      break;
    }
    case ExprKind::kVar:  // bound ones have a type before they are met
      error(e->span, "unbound-variable",
            cat("variable `%", e->as<Var>()->name.text(), "` is not bound here"));
      set(e, unifier_.poison());
      break;
    case ExprKind::kGlobal: set(e, global(e->as<Global>())); break;
    case ExprKind::kOpRef: break;  // has the type of its call, or is a value: see use()
    case ExprKind::kCtorRef: set(e, ctor_type(*e->as<CtorRef>()->ctor)); break;
    case ExprKind::kTuple: {
      std::vector<Type> fields;
      for (Expr field : e->as<Tuple>()->fields) fields.push_back(use(field));
      set(e, context_.tuple_type(fields));
      break;
    }
    case ExprKind::kProj: set(e, proj(e->as<Proj>())); break;
    case ExprKind::kFn: finish_fn(e->as<Fn>()); break;
    case ExprKind::kCall: set(e, call(e->as<Call>())); break;
    case ExprKind::kLet: {
      const Expr body = e->as<Let>()->body;
      set(e, body->kind == ExprKind::kOpRef ? use(body) : types_[body]);
      break;
    }
    case ExprKind::kIf: set(e, branches(e->as<If>())); break;
    case ExprKind::kMatch: set(e, arms(e->as<Match>())); break;
    case ExprKind::kRefNew: set(e, context_.ref_type(use(e->as<RefNew>()->value))); break;
    case ExprKind::kRefRead: set(e, ref_read(e->as<RefRead>())); break;
    case ExprKind::kRefWrite: set(e, ref_write(e->as<RefWrite>())); break;
  }
}

// The type of e where it is passed on: its type parameters are chosen anew. The shape variables
// that it binds stay bound, so that whoever calls it may choose them.
Type Inference::use(Expr e) {
  if (e->kind == ExprKind::kOpRef) return operator_value(e->as<OpRef>());
  const Type t = scheme(e);
  const auto* fn = t->as<FnType>();
  if (!fn || fn->type_params.empty()) return t;
  return unifier_.instantiate(fn, e, [](kernel::Expr) { return true; });
}

// The type of e where it is called: everything that it binds is chosen anew.
Type Inference::use_as_callee(Expr e, std::vector<Type>& type_args) {
  const Type t = scheme(e);
  const Fn* own = let_fn_.get(e);
  // What a recursive function binds is its own, also inside itself; monomorphic
  // ones are left alone.
  const FixedDim fixed = [&](kernel::Expr v) {
    auto it = fixed_.find(v.get());
    return it != fixed_.end() && (it->second != own || in_progress_.get(e));
  };
  return !is_in_progress(e) && unifier_.is_generic(t, fixed)
             ? unifier_.instantiate(t->as<FnType>(), e, fixed, &type_args)
             : t;
}

bool Inference::is_in_progress(Expr e) {
  const auto* global = e->as<Global>();
  return global ? globals_[global->name].in_progress : in_progress_.get(e);
}

// The type of e with all that it binds. What a global or a constructor binds has nothing to do with
// what is bound here, whatever it is called.
Type Inference::scheme(Expr e) {
  const Type t = unifier_.find(types_[e]);
  if (t->kind != TypeKind::kFn || is_in_progress(e)) return t;
  const Type now = unifier_.resolve(t);
  if (e->kind != ExprKind::kGlobal && e->kind != ExprKind::kCtorRef) return now;
  return unifier_.rename_dims(now->as<FnType>(), [&](kernel::Expr v) { return is_fixed(v); });
}

Type Inference::annotation(Type written, Expr origin) {
  if (bad_.contains(written)) return unifier_.poison();
  return unifier_.adopt(written, origin);
}

// Functions.

// Shape variables that the parameters mention and nobody further out has bound are this function's.
void Inference::bind_dims(const Fn* fn) {
  for (const Var* p : fn->params) {
    if (!p->annotation || !p->annotation->has_symbolic_dim) continue;
    for_each_type_in(p->annotation, [&](Type t) {
      const auto* tensor = t->as<TensorType>();
      if (!tensor) return t->has_symbolic_dim;
      for (Dim d : tensor->dims) {
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) {
          if (fixed_.try_emplace(v.get(), fn).second) own_dims_[fn].push_back(v);
        }
      }
      return false;
    });
  }
}

void Inference::release_dims(const Fn* fn) {
  auto it = own_dims_.find(fn);
  if (it == own_dims_.end()) return;
  for (kernel::Expr v : it->second) fixed_.erase(v.get());
  own_dims_.erase(it);
}

// Outside the parameters only shape variables that are bound may be mentioned; function
// types bind their own.
void Inference::dims_are_bound(Type root, Span span) {
  if (!root || !root->has_symbolic_dim) return;
  bool all = true;
  for_each_type_in(root, [&](Type t) {
    if (!all || !t->has_symbolic_dim || t->kind == TypeKind::kFn) return false;
    if (const auto* tensor = t->as<TensorType>())
      all = std::all_of(tensor->dims.begin(), tensor->dims.end(), [&](Dim d) { return is_bound(d, span); });
    return all;
  });
}

// An operator asks for the values of its attributes when it runs: nobody knows that of a variable
// that nothing binds.
bool Inference::dims_are_bound(const Attrs& attrs, Span span) {
  std::vector<const AttrValue*> pending;
  for (const Attr& a : attrs) pending.push_back(&a.value);
  while (!pending.empty()) {
    const AttrValue& v = *pending.back();
    pending.pop_back();
    if (v.kind == AttrKind::kDim && !is_bound(v.dim, span)) return false;
    for (const AttrValue& item : v.list) pending.push_back(&item);
  }
  return true;
}

bool Inference::is_bound(Dim d, Span span) {
  if (!d.is_symbolic()) return true;
  for (kernel::Expr v : kernel::variables(d.symbolic())) {
    if (is_fixed(v)) continue;
    error(span, "unbound-shape-variable", cat("shape variable `", v->name.text(), "` is not bound here"))
        .note("a shape variable is bound by the types of a function's parameters");
    return false;
  }
  return true;
}

// Everything about a function that does not need its body. A function of the module has the
// level of its group.
void Inference::prepare(const Fn* fn, bool generalises) {
  generalises_[fn] = generalises;
  if (names_.contains(fn)) {
    unifier_.declare(fn->type_params);
  } else if (has_level(fn)) {
    unifier_.enter(fn->type_params);
    open_at_level_.push_back(open_tasks_.size());
  }
  for (const Var* p : fn->params) set(p, p->annotation ? annotation(p->annotation, p) : unifier_.hole(p));
  results_[fn] = fn->result ? annotation(fn->result, fn) : unifier_.hole(fn);
  if (fn->type && !names_.contains(fn) && !fully_annotated(fn)) earlier_.push_back({function_, fn});
}

bool Inference::has_level(const Fn* fn) {
  return !names_.contains(fn) && (generalises_[fn] || !fn->type_params.empty());
}

Type Inference::fn_type(const Fn* fn) {
  std::vector<Type> args;
  for (const Var* p : fn->params) args.push_back(types_[p]);
  return context_.fn_type(fn->type_params, args, results_[fn], relations(fn));
}

// Those that make sense.
std::vector<Type> Inference::relations(const Fn* fn) {
  std::vector<Type> out;
  for (Type relation : fn->where) {
    if (!bad_.contains(relation)) out.push_back(relation);
  }
  return out;
}

void Inference::finish_fn(const Fn* fn) {
  const Type result = unifier_.find(results_[fn]);
  const auto* written = result->as<FnType>();
  const bool generic = written && !written->type_params.empty() && fn->body->kind != ExprKind::kOpRef;
  const Type body = generic ? scheme(fn->body) : use(fn->body);
  // An unknown result is whatever the body is; only a written one (or one that recursion has
  // fixed) can disagree.
  agree(place(fn->body, fn), "the function's body", result, body,
        {.slug = "wrong-result-type",
         .from = fn->span,
         .who = fn->result ? "the function whose result has a type" : "the function"});
  settled(fn->body);
  check_at_run_time(fn->body, fn, result, "result");
  owe(fn->body);
  release_dims(fn);
  if (!fn->where.empty()) givens_ = givens_->outer;
  Type t = fn_type(fn);
  if (has_level(fn)) {
    leave_level();
    if (generalises_[fn]) {
      keep_function_type(fn);
      std::vector<const TypeVar*> group;
      t = unifier_.generalise(t, group);
    } else {
      unifier_.lower(t, unifier_.level() - 1);
    }
    unifier_.leave();
  }
  set(fn, t);
}

// Let.

// A function that a let binds is known inside itself, as far as it is annotated.
void Inference::let_value(const Let* let) {
  const auto* fn = let->value->as<Fn>();
  if (!fn || types_.get(fn) || results_.get(fn)) return;
  prepare(fn, true);
  set(let->x, fn_type(fn));
  let_fn_[let->x] = fn;
  in_progress_[let->x] = !fully_annotated(fn);
}

void Inference::bind_let(const Let* let) {
  in_progress_[let->x] = false;
  const Var* x = let->x;
  if (!x->annotation) {
    set(x, let->value->kind == ExprKind::kOpRef ? use(let->value) : scheme(let->value));
    return;
  }
  dims_are_bound(x->annotation, x->span);
  const Type written = annotation(x->annotation, x);
  const auto* fn = written->as<FnType>();
  const bool generic = fn && !fn->type_params.empty() && let->value->kind != ExprKind::kOpRef;
  agree(place(let->value, let), cat("the value of `%", x->name.text(), "`"), written,
        generic ? scheme(let->value) : use(let->value),
        {.slug = "wrong-value-type", .from = x->span, .who = "its type is written here"});
  settled(let->value);
  check_at_run_time(let->value, let, written, x->name.text());
  set(x, written);
}

// The other forms.

Type Inference::proj(const Proj* n) {
  const Type t = unifier_.find(use(n->tuple));
  if (const auto* tuple = t->as<TupleType>(); tuple && n->index < tuple->fields.size())
    return tuple->fields[n->index];
  return start({n, nullptr, {t}, unifier_.hole(n)});
}

Type Inference::branches(const If* n) {
  agree(place(n->cond, n), "the condition", context_.scalar_type(kBool), use(n->cond),
        {.slug = "condition-not-bool"});
  note_checks(n->cond);
  const Type then_type = use(n->then_branch), else_type = use(n->else_branch);
  Type out = nullptr;
  if (auto wrong = unifier_.join(then_type, else_type, out)) {
    mismatch(place(n->else_branch, n), "the `else` branch", then_type, else_type, *wrong,
             {.slug = "branches-differ", .from = place(n->then_branch, n), .who = "the first branch"});
    return unifier_.poison();
  }
  return out;
}

Type Inference::arms(const Match* n) {
  if (n->arms.empty()) return unifier_.hole(n);
  Type out = use(n->arms[0].body);
  for (size_t i = 1; i < n->arms.size(); ++i) {
    const Type arm = use(n->arms[i].body), before = out;
    if (auto wrong = unifier_.join(before, arm, out)) {
      mismatch(place(n->arms[i].body, n), "this arm", before, arm, *wrong,
               {.slug = "arms-differ", .from = place(n->arms[0].body, n), .who = "the first arm"});
      return unifier_.poison();
    }
  }
  return out;
}

Type Inference::ref_read(const RefRead* n) {
  const Type t = unifier_.find(use(n->ref));
  if (const auto* ref = t->as<RefType>()) return ref->contents;
  const Type contents = unifier_.hole(n);
  return agree(place(n->ref, n), "what is read", context_.ref_type(contents), t, {.slug = "not-a-reference"})
             ? contents
             : unifier_.poison();
}

Type Inference::ref_write(const RefWrite* n) {
  const Type t = unifier_.find(use(n->ref)), value = use(n->value);
  const auto* ref = t->as<RefType>();
  const Type contents = ref ? ref->contents : unifier_.hole(n);
  if (ref || agree(place(n->ref, n), "what is written to", context_.ref_type(contents), t,
                   {.slug = "not-a-reference"})) {
    agree(place(n->value, n), "the value written", contents, value,
          {.slug = "wrong-contents-type", .from = n->ref->span, .who = "the reference"});
  }
  check_at_run_time(n->value, n, contents, "contents");
  return context_.tuple_type({});
}

Type Inference::global(const Global* n) {
  auto it = globals_.find(n->name);
  if (it != globals_.end()) return it->second.type;
  if (const kernel::Kernel* k = module_.kernel(n->name.text())) {
    return globals_[n->name].type = kernel_type(*k);
  }
  if (!is_partial_) error(n->span, "unknown-global", cat("`@", n->name.text(), "` is not defined"));
  return globals_[n->name].type = unifier_.poison();
}

// fn[params](fields) -> D[params]
Type Inference::ctor_type(const Constructor& ctor) {
  Type& known = ctor_types_[&ctor];
  if (known) return known;
  const DataTypeDef* def = module_.data_type(ctor.data_type.text());
  bool good = def && ctor.tag < def->ctors.size() && def->ctors[ctor.tag] == &ctor;
  if (!good)
    error(ctor.span, "unknown-constructor",
          cat("`", ctor.name.text(), "` is not a constructor of this module"));
  for (Type field : ctor.fields) good &= field && !field->has_hole && !bad_.contains(field);
  if (!good) return known = unifier_.poison();
  const std::vector<Type> args(def->params.begin(), def->params.end());
  return known = context_.fn_type(def->params, ctor.fields, context_.data_type(def->name.text(), args));
}

}  // namespace relay::typecheck
