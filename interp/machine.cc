// The semantics of the language, executable.
//
// When a backend disagrees with this file, the backend is wrong. Every rule here is the rule of
// the same name in docs/semantics.md, in the same order; keep them side by side. Clarity beats
// speed everywhere.
//
//   e expression   v value   env activation frame   k pending context
#include "interp/machine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/cat.h"
#include "base/limit_at.h"
#include "base/reasons.h"
#include "interp/captures.h"
#include "ir/fields.h"
#include "kernel/execute.h"
#include "kernel/explicit_checks.h"
#include "kernel/limits.h"
#include "op/apply.h"
#include "op/op_def.h"

namespace relay::interp {
namespace {

// Tries the pattern on the value; binds its variables into `bound`. Iterative:
// patterns may be deep.
bool fits(Pattern pattern, const Value& value, std::vector<std::pair<const Var*, Value>>& bound) {
  std::vector<std::pair<Pattern, Value>> pending{{pattern, value}};
  while (!pending.empty()) {
    auto [p, v] = std::move(pending.back());
    pending.pop_back();
    switch (p->kind) {
      case PatternKind::kWildcard: break;
      case PatternKind::kVar: bound.emplace_back(p->var, v); break;
      case PatternKind::kCtor:
        if (v.code() != p->ctor) return false;
        [[fallthrough]];
      case PatternKind::kTuple:
        for (size_t i = p->fields.size(); i-- > 0;) pending.emplace_back(p->fields[i], v.fields()[i]);
    }
  }
  return true;
}

// The place of an expression of the function. Passes make expressions that stand nowhere: then it
// is that of the function.
Span place(Span span, const Fn* fn) { return span.known() || !fn ? span : fn->span; }

}  // namespace

Value Machine::call(std::string_view name, std::vector<Value> args) {
  start(name, std::move(args));
  return run();
}

Value Machine::evaluate(Expr e) {
  begin();
  auto env = std::make_shared<Frame>();
  env->scopes = &scopes_of(e);
  state_ = enter(e, std::move(env));
  return run();
}

void Machine::start(std::string_view name, std::vector<Value> args) {
  begin();
  state_ = apply_global(name, std::move(args), Span::none());
}

void Machine::begin() {
  stack_.clear();
  at_ = {};
  watch_.start();
}

Value Machine::run() {
  const BoundMemory bound(watch_);
  // Who goes step by step knows where that is.
  try {
    while (advance(bound)) {
    }
  } catch (const Exhausted& limit) {
    throw LimitAt(cat(limit.what(), where()), place(at_.span, at_.fn));
  }
  return std::get<Value>(std::move(state_));
}

bool Machine::advance() { return advance(BoundMemory(watch_)); }

bool Machine::advance(const BoundMemory&) {
  watch_.step();
  if (auto* now = std::get_if<Eval>(&state_)) {
    at_ = {now->e->span, now->env->fn};
    state_ = step(std::move(*now));
    return true;
  }
  if (stack_.empty()) return false;
  Value v = std::get<Value>(std::move(state_));
  Context k = std::move(stack_.back());
  stack_.pop_back();
  state_ = std::visit([&](auto& c) { return resume(std::move(c), std::move(v)); }, k);
  return true;
}

std::string Machine::where() const {
  std::string name;
  for (const auto& [global, fn] : module_.functions()) {
    if (fn == at_.fn) name = cat("@", global.text());
  }
  if (auto own = self_.find(at_.fn); name.empty() && own != self_.end())
    name = cat("%", own->second->name.text());
  const std::string text = module_.context().sources().place(place(at_.span, at_.fn));
  return cat(name.empty() ? "" : cat(", in ", name), text.empty() ? "" : cat(" at ", text));
}

void Machine::push(Context k) {
  watch_.depth(stack_.size());
  stack_.push_back(std::move(k));
}

// Rule Share. The nodes that are shared in a scope are evaluated first, in evaluation
// order, each once.
Machine::State Machine::enter(Expr body, Env env) {
  const Scopes& all = *env->scopes;
  const uint32_t scope = all.scope_of_body.get(body);
  if (all.all[scope].body != body) return Eval{body, std::move(env)};
  return share(scope, 0, std::move(env));
}

Machine::State Machine::share(uint32_t scope, size_t index, Env env) {
  const Scopes::Scope& s = env->scopes->all[scope];
  // A node that an enclosing function shares has its value already: the closure brought it along.
  while (index < s.shared.size() && env->values.contains(s.shared[index])) ++index;
  if (index == s.shared.size()) return Eval{s.body, std::move(env)};
  push(ScopeK{scope, index, env});
  return Eval{s.shared[index], std::move(env), /*shared=*/true};
}

Machine::State Machine::resume(ScopeK k, Value v) {
  k.env->values[k.env->scopes->all[k.scope].shared[k.index]] = std::move(v);
  return share(k.scope, k.index + 1, std::move(k.env));
}

// One rule per form of expression.
Machine::State Machine::step(Eval now) {
  Expr e = now.e;
  Env& env = now.env;
  if (!now.shared) {
    if (auto it = env->values.find(e); it != env->values.end())
      return it->second;  // a variable or a shared node
  }
  if (options_.observe) push(ObserveK{e, env});
  return match(
      e, [&](const Constant& n) -> State { return Value(*n.value); },
      [&](const Var& n) -> State {
        CHECK(false, cat("variable %", n.name.text(), " has no value"));
        return Value();
      },
      [&](const Global& n) -> State { return Value::callable(&n); },
      [&](const OpRef& n) -> State { return Value::callable(&n); },
      [&](const CtorRef& n) -> State { return Value::callable(&n); },
      [&](const Tuple& n) -> State {
        if (n.fields.empty()) return Value::tuple({});
        std::vector<Value> done;
        done.reserve(n.fields.size());
        push(TupleK{&n, env, std::move(done)});
        return Eval{n.fields[0], env};
      },
      [&](const Proj& n) -> State {
        push(ProjK{&n, env});
        return Eval{n.tuple, env};
      },
      [&](const Fn& n) -> State { return closure_of(n, *env); },
      [&](const Call& n) -> State {
        std::vector<Value> done;
        done.reserve(1 + n.args.size());
        push(CallK{&n, env, std::move(done)});
        return Eval{n.callee, env};
      },
      [&](const Let& n) -> State {
        if (const auto* fn = n.value->as<Fn>()) self_[fn] = n.x;
        push(LetK{&n, env});
        return Eval{n.value, env};
      },
      [&](const If& n) -> State {
        push(IfK{&n, env});
        return Eval{n.cond, env};
      },
      [&](const Match& n) -> State {
        push(MatchK{&n, env});
        return Eval{n.value, env};
      },
      [&](const RefNew& n) -> State {
        push(RefNewK{&n, env});
        return Eval{n.value, env};
      },
      [&](const RefRead& n) -> State {
        push(RefReadK{&n, env});
        return Eval{n.ref, env};
      },
      [&](const RefWrite& n) -> State {
        push(RefWriteK{&n, env, {}});
        return Eval{n.ref, env};
      });
}

// One rule per pending context.
Machine::State Machine::resume(TupleK k, Value v) {
  k.done.push_back(std::move(v));
  if (k.done.size() == k.n->fields.size()) return Value::tuple(std::move(k.done));
  Eval next{k.n->fields[k.done.size()], k.env};
  push(std::move(k));
  return next;
}

Machine::State Machine::resume(ProjK k, Value v) { return v.fields()[k.n->index]; }

Machine::State Machine::resume(CallK k, Value v) {
  k.done.push_back(std::move(v));
  if (k.done.size() <= k.n->args.size()) {
    Eval next{k.n->args[k.done.size() - 1], k.env};
    push(std::move(k));
    return next;
  }
  Value callee = std::move(k.done.front());
  k.done.erase(k.done.begin());
  return apply(callee, std::move(k.done), k.n->span, attrs_at(*k.n, callee, *k.env));
}

Machine::State Machine::resume(LetK k, Value v) {
  k.env->values[k.n->x] = std::move(v);
  return enter(k.n->body, k.env);
}

Machine::State Machine::resume(IfK k, Value v) {
  return enter(v.tensor().get_int(0) != 0 ? k.n->then_branch : k.n->else_branch, k.env);
}

Machine::State Machine::resume(MatchK k, Value v) {
  for (const Arm& arm : k.n->arms) {
    std::vector<std::pair<const Var*, Value>> bound;
    if (!fits(arm.pattern, v, bound)) continue;
    for (auto& [var, value] : bound) k.env->values[var] = std::move(value);
    return enter(arm.body, k.env);
  }
  throw Trap(cat(kNoArm, " ", show(v, 200)), k.n->span);
}

Machine::State Machine::resume(RefNewK, Value v) { return Value::cell(std::move(v)); }

Machine::State Machine::resume(RefReadK, Value v) { return v.contents(); }

Machine::State Machine::resume(RefWriteK k, Value v) {
  if (!k.cell) {
    k.cell = std::move(v);
    Eval next{k.n->value, k.env};
    push(std::move(k));
    return next;
  }
  k.cell.write(std::move(v));
  return Value::tuple({});
}

Machine::State Machine::resume(ObserveK k, Value v) {
  options_.observe(k.e, v);
  return v;
}

// A dim among the attributes means its value in this activation.
Attrs Machine::attrs_at(const Call& site, const Value& callee, const Frame& frame) {
  const auto symbolic = [](auto& self, const AttrValue& v) -> bool {
    return v.kind == AttrKind::kDim ||
           std::any_of(v.list.begin(), v.list.end(), [&](const AttrValue& item) { return self(self, item); });
  };
  if (std::none_of(site.attrs.begin(), site.attrs.end(),
                   [&](const Attr& a) { return symbolic(symbolic, a.value); })) {
    return site.attrs;
  }
  relay::Context& context = module_.context();
  const auto concrete = [&](auto& self, const AttrValue& v) -> AttrValue {
    if (v.kind == AttrKind::kDim && v.dim.is_symbolic()) {
      const std::optional<int64_t> extent = kernel::evaluate(v.dim.symbolic(), frame.extents);
      return extent ? context.attr_value(*extent) : v;
    }
    if (v.kind != AttrKind::kList) return v;
    std::vector<AttrValue> items;
    for (const AttrValue& item : v.list) items.push_back(self(self, item));
    return context.attr_list(items);
  };
  std::vector<AttrArg> out;
  for (const Attr& a : site.attrs) out.push_back({a.name.str(), concrete(concrete, a.value)});
  const Attrs known = context.attrs(out);
  const auto* code = callee.kind() == ValueKind::kClosure ? nullptr : static_cast<Expr>(callee.code());
  const auto* ref = code ? code->as<OpRef>() : nullptr;
  return ref && ref->op->settle ? ref->op->settle(context, site.attrs, known) : known;
}

// Applying a value to arguments: one rule per kind of callee.
Machine::State Machine::apply(const Value& callee, std::vector<Value> args, Span span, Attrs attrs) {
  if (callee.kind() == ValueKind::kClosure) {
    return apply_function(*static_cast<const Fn*>(callee.code()), &callee, std::move(args), span);
  }
  const auto* code = static_cast<Expr>(callee.code());
  if (const auto* ref = code->as<OpRef>()) {
    try {
      std::optional<Value> elsewhere;
      if (options_.run_operator) elsewhere = options_.run_operator(*ref->op, args, attrs);
      return elsewhere ? *elsewhere : op::evaluate(module_.context(), *ref->op, args, attrs);
    } catch (const Trap& trap) {
      throw Trap(trap.what(), trap.span.known() ? trap.span : span);
    }
  }
  if (const auto* ref = code->as<CtorRef>()) return Value::data(ref->ctor, std::move(args));
  return apply_global(code->as<Global>()->name.text(), std::move(args), span);
}

Machine::State Machine::apply_global(std::string_view name, std::vector<Value> args, Span span) {
  if (const Fn* fn = module_.function(name)) return apply_function(*fn, nullptr, std::move(args), span);
  const kernel::Kernel* kernel = module_.kernel(name);
  CHECK(kernel != nullptr, cat("global @", name, " does not exist"));
  std::vector<Value> results;
  try {
    const std::vector<Tensor> inputs = op::flatten(args);
    auto made = options_.run_kernel
                    ? options_.run_kernel(*kernel, inputs)
                    : kernel::execute(checked_kernel(*kernel), inputs, [&] { watch_.work(); });
    for (Tensor& t : made) results.push_back(Value(std::move(t)));
  } catch (const Trap& trap) {
    throw Trap(trap.what(), trap.span.known() ? trap.span : span);
  } catch (const std::bad_alloc&) {
    throw Exhausted(cat(kNotEnoughMemory, "the results of kernel @", name));
  }
  return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
}

const kernel::Kernel& Machine::checked_kernel(const kernel::Kernel& k) {
  const auto it = checked_kernels_.find(&k);
  if (it != checked_kernels_.end()) return it->second;
  const auto require_within_limits = [](const kernel::Kernel& one) {
    if (const std::string deep = kernel::too_deep(one); !deep.empty())
      throw Exhausted(cat("kernel @", one.name.text(), " with its checks: ", deep));
  };
  require_within_limits(k);  // what makes checks recurses, and nests them in each other
  const kernel::Kernel checked = kernel::with_explicit_checks(k);
  require_within_limits(checked);
  return checked_kernels_.emplace(&k, checked).first->second;
}

Machine::State Machine::apply_function(const Fn& fn, const Value* closure, std::vector<Value> args,
                                       Span span) {
  CHECK(args.size() == fn.params.size(), "a function was called with the wrong number of arguments");
  auto env = std::make_shared<Frame>();
  env->scopes = closure ? scopes_around_.at(&fn) : &scopes_of(fn.body);
  env->fn = &fn;
  env->values.reserve(args.size());  // without it, the first value takes room for thirteen
  if (closure) {
    const std::vector<Expr>& captures = captures_.at(&fn);
    env->values.reserve(args.size() + captures.size() + 1);
    for (size_t i = 0; i < captures.size(); ++i) env->values[captures[i]] = closure->fields()[i];
    const Tensor& extents = closure->fields().back().tensor();
    const auto& variables = captured_extents_.at(&fn);
    for (size_t i = 0; i < variables.size(); ++i)
      env->extents[variables[i]] = extents.get_int(static_cast<int64_t>(i));
    if (auto own = self_.find(&fn); own != self_.end()) env->values[own->second] = *closure;
  }
  // A shape variable that is bound around the function is the same one in its parameters.
  std::vector<Type> types;
  for (const Var* p : fn.params) types.push_back(p->annotation ? p->annotation : p->type);
  check_shapes(args, types, env->extents, span);
  for (size_t i = 0; i < args.size(); ++i) env->values[fn.params[i]] = std::move(args[i]);
  return enter(fn.body, std::move(env));
}

// A closure holds the values, at this moment, of the variables and shared nodes that its body
// mentions. Its own name, if a let gives it one, is bound when it is called instead, so that
// closures never refer to themselves.
Value Machine::closure_of(const Fn& fn, const Frame& frame) {
  std::vector<Value> captured;
  for (Expr e : captures_.at(&fn)) captured.push_back(frame.values.at(e));
  // The shape variables around it come last, as one tensor: the same ones at each evaluation
  // of this function.
  auto around = captured_extents_.find(&fn);
  if (around == captured_extents_.end()) {
    std::vector<const kernel::ExprNode*> variables;
    for (const auto& [variable, extent] : frame.extents) variables.push_back(variable);
    std::sort(variables.begin(), variables.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
    around = captured_extents_.emplace(&fn, std::move(variables)).first;
  }
  Tensor extents(kInt64, {static_cast<int64_t>(around->second.size())});
  for (size_t i = 0; i < around->second.size(); ++i) {
    extents.set_int(static_cast<int64_t>(i), frame.extents.at(around->second[i]));
  }
  captured.push_back(Value(extents));
  return Value::closure(&fn, std::move(captured));
}

// --- looking at the machine ---

Machine::Now Machine::now() const {
  if (const auto* next = std::get_if<Eval>(&state_)) return {next->e, &next->env, nullptr, next->shared};
  const Value* v = &std::get<Value>(state_);
  if (stack_.empty()) return {nullptr, nullptr, v};
  const Waiting k = waiting(stack_.size() - 1);
  return {k.e, k.env, v, /*shared=*/false, k.last};
}

Machine::Waiting Machine::waiting(size_t i) const {
  struct Look {
    Waiting operator()(const ScopeK& k) const {
      const Scopes::Scope& s = k.env->scopes->all[k.scope];
      return {s.body, s.shared[k.index], &k.env};
    }
    Waiting operator()(const TupleK& k) const {
      return {k.n, k.n->fields[k.done.size()], &k.env, k.done.size() + 1 == k.n->fields.size()};
    }
    Waiting operator()(const ProjK& k) const { return {k.n, k.n->tuple, &k.env, true}; }
    Waiting operator()(const CallK& k) const {
      return {k.n, k.done.empty() ? k.n->callee : k.n->args[k.done.size() - 1], &k.env,
              k.done.size() == k.n->args.size()};
    }
    Waiting operator()(const LetK& k) const { return {k.n, k.n->value, &k.env}; }
    Waiting operator()(const IfK& k) const { return {k.n, k.n->cond, &k.env}; }
    Waiting operator()(const MatchK& k) const { return {k.n, k.n->value, &k.env}; }
    Waiting operator()(const RefNewK& k) const { return {k.n, k.n->value, &k.env, true}; }
    Waiting operator()(const RefReadK& k) const { return {k.n, k.n->ref, &k.env, true}; }
    Waiting operator()(const RefWriteK& k) const {
      return {k.n, k.cell ? k.n->value : k.n->ref, &k.env, bool(k.cell)};
    }
    Waiting operator()(const ObserveK& k) const { return {k.e, k.e, &k.env}; }
  };
  return std::visit(Look(), stack_[i]);
}

const Scopes& Machine::scopes_of(Expr root) {
  std::unique_ptr<Scopes>& entry = scopes_[root];
  if (entry) return *entry;
  auto made = std::make_unique<Scopes>(scopes(root));
  captures_.merge(captures_in(root, *made));
  for (Expr e : post_order(root)) {
    if (const auto* fn = e->as<Fn>()) scopes_around_.insert_or_assign(fn, made.get());
  }
  // Last: a run that has no memory for all of this may be followed by one that has.
  entry = std::move(made);
  return *entry;
}

}  // namespace relay::interp
