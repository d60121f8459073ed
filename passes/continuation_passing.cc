// continuation-passing: each function takes one argument more, the function that goes on with its
// result.
//
//   def @fact(%n: int32) -> int32 {
//     if (less(%n, 1)) { 1 } else { multiply(%n, @fact(subtract(%n, 1))) }
//   }
//   becomes
//   def @fact_cps[Answer](%n: int32, %k: fn(int32) -> Answer) -> Answer {
//     if (less(%n, 1)) { %k(1) } else {
//       let %v0 = subtract(%n, 1);
//       @fact_cps(%v0, fn (%v1: int32) { %k(multiply(%n, %v1)) })
//     }
//   }
//
// So no call is pending: what is left to do is a value of the program (G. D. Plotkin,
// "Call-by-name, call-by-value and the lambda-calculus", 1975). `Answer` is what @main gives. @main
// itself takes what it took, and calls `@main_cps` with the function that gives back its argument.
// What calls nothing stays as it is: operators, and branches and arms without calls. All is
// evaluated in the same order.
//
// Data types that hold functions get `Answer` as a parameter. A program stays, and `relay opt -v`
// says why, if @main takes or gives functions, if functions are kernels already, or if types of
// continuations would need shape variables that they cannot name.
//
// Before: types are known. After: each call of a function is the last thing that the function
// around it does; functions that @main does not reach are removed. Linear.
#include "passes/continuation_passing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/reachable.h"
#include "ir/rewrite.h"
#include "ir/type_parts.h"
#include "passes/first_problem.h"
#include "passes/function_types.h"
#include "passes/inner_pass.h"
#include "passes/new_constructors.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// A call of a function, by name or as a value.
bool calls_function(const Module& m, Expr e) {
  const auto* call = e->as<Call>();
  if (!call) return false;
  if (const auto* global = call->callee->as<Global>()) return m.function(global->name.text()) != nullptr;
  return !is_known_callee(call->callee);
}

// The function literal that is called where it is written, as `match_shape` is.
const Fn* called_literal(Expr e) {
  const auto* call = e->as<Call>();
  return call ? call->callee->as<Fn>() : nullptr;
}

// Types in which functions take what goes on with their results.
class ContinuationTypes {
 public:
  // Replaces the data types of `out` that hold functions.
  explicit ContinuationTypes(Module& out)
      : context_(out.context()), answer_(answer_of(out)), ctors_(out.context()) {
    const Module before = out;
    for (bool more = true; more;) {
      more = false;
      for (const auto& [name, def] : before.data_types()) more |= !holds_.contains(name) && note(name, *def);
    }
    for (Symbol name : holds_) replace(out, *before.data_type(name.text()));
  }

  const TypeVar* answer() const { return answer_; }
  Type continuation(Type of_result) { return context_.fn_type({}, std::span(&of_result, 1), answer_); }
  const Constructor* ctor(const Constructor* c) const { return ctors_.of(c); }

  // Null stays null.
  Type of(Type root) {
    return made_of_parts(root, known_, [&](Type t) { return of_parts(t); });
  }

 private:
  static const TypeVar* answer_of(const Module& m) {
    std::set<Symbol> taken;
    const auto take = [&](const List<const TypeVar*>& params) {
      for (const TypeVar* p : params) taken.insert(p->name);
    };
    for (const auto& [name, def] : m.data_types()) take(def->params);
    for (const auto& [name, fn] : m.functions()) {
      for (Expr e : post_order(fn)) {
        if (const auto* inner = e->as<Fn>()) take(inner->type_params);
      }
    }
    std::string text = "Answer";
    while (taken.contains(m.context().symbol(text))) text += "_";
    return m.context().type_var(text);
  }

  bool note(Symbol name, const DataTypeDef& def) {
    bool holds = false;
    for (const Constructor* c : def.ctors) {
      for (Type field : c->fields) {
        for_each_type_in(field, [&](Type t) {
          const auto* data = t ? t->as<DataType>() : nullptr;
          holds |= t && (t->as<FnType>() || (data && holds_.contains(data->name)));
          return !holds;
        });
      }
    }
    return holds && holds_.insert(name).second;
  }

  void replace(Module& out, const DataTypeDef& def) {
    DataTypeDef now = def;
    std::vector<const TypeVar*> params(def.params.begin(), def.params.end());
    params.push_back(answer_);
    now.params = context_.arena().list(params);
    ctors_.declare(out, now, [&](Type t) { return of(t); });
  }

  Type of_parts(Type t) {
    std::vector<Type> parts;
    for_each_part(t, [&](Type part) { parts.push_back(part ? known_.at(part) : part); });
    if (const auto* fn = t->as<FnType>()) {
      std::vector<Type> args;
      for (Type arg : fn->args) args.push_back(known_.at(arg));
      args.push_back(continuation(known_.at(fn->result)));
      const std::vector<const TypeVar*> params(fn->type_params.begin(), fn->type_params.end());
      const std::vector<Type> where(fn->where.begin(), fn->where.end());
      return context_.fn_type(params, args, answer_, where);
    }
    if (const auto* data = t->as<DataType>()) {
      if (holds_.contains(data->name)) parts.push_back(answer_);
      return context_.data_type(data->name.text(), parts);
    }
    return t->as<TupleType>() || t->as<RefType>() ? context_.with_parts(t, parts) : t;
  }

  Context& context_;
  const TypeVar* answer_;
  std::set<Symbol> holds_;
  std::unordered_map<Type, Type> known_;
  NewConstructors ctors_;
};

class Converter {
 public:
  // Of a module in A-normal form.
  explicit Converter(const Module& m)
      : before_(m), out_(m), context_(m.context()), b_(context_), types_(out_) {
    for (const auto& [name, fn] : m.functions()) names_[name] = fresh_name(m, cat(name.text(), "_cps"));
  }

  Module run() {
    for (const auto& [name, fn] : before_.functions()) {
      look_at(*fn);
      const Fn* now = function(*fn);
      out_.remove_function(name.text());
      out_.set_function(names_.at(name), now);
    }
    set_main();
    return out_;
  }

 private:
  // --- what is to be done ----------------------------------------------------------------------

  // Notes what calls functions, and with which continuation the last evaluations of scopes go on.
  void look_at(const Fn& root) {
    const std::vector<Expr> order = post_order(&root);
    for (Expr e : order) {
      bool calls = calls_function(before_, e);
      if (const Fn* literal = called_literal(e)) {
        calls = suspends_.get(literal->body);
        inside_[literal] = true;
      } else if (!e->as<Fn>()) {
        for_each_child(e, [&](Expr child) { calls |= suspends_.get(child); });
      }
      suspends_[e] = calls && !e->as<Fn>();
    }
    for (size_t i = order.size(); i-- > 0;) {
      const auto* fn = order[i]->as<Fn>();
      if (fn && !inside_.get(fn)) {
        continuation_[fn] = b_.var("k", types_.continuation(result_of(*fn)));
        ends(fn->body, continuation_.get(fn));
      } else {
        pass_on(order[i]);
      }
    }
  }

  Type result_of(const Fn& fn) { return types_.of(fn.type->as<FnType>()->result); }

  // The expression is the last of its scope. Values may be so of several scopes.
  void ends(Expr e, const Var* k) {
    if (!is_value(e)) continuation_[e] = k;
  }

  // Who comes last in a scope that ends with `e`, or in a value that calls functions?
  void pass_on(Expr e) {
    const Var* k = continuation_.get(e);
    if (!k) return;
    if (const auto* let = e->as<Let>()) {
      ends(let->body, k);
      goes_on_[let->x] = suspends_.get(let->value);
      if (suspends_.get(let->value) && !calls_function(before_, let->value)) ends(let->value, b_.var("k"));
    } else if (const Fn* literal = called_literal(e)) {
      ends(literal->body, k);
    } else if (e->as<If>() || e->as<Match>()) {
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        if (opens_scope(e, position++)) ends(child, k);
      });
    }
  }

  // --- functions -------------------------------------------------------------------------------

  const Fn* function(const Fn& root) {
    root_ = &root;
    for (Expr e : post_order(&root)) {
      const SpanScope at(b_, e->span);
      now_[e] = node(e);
      if (continuation_.get(e) && !e->as<Fn>()) last_[e] = last(e);
    }
    return now_.get(&root)->as<Fn>();
  }

  // @main as it was called before.
  void set_main() {
    const Fn& main = *before_.function("main");
    const SpanScope at(b_, main.span);
    const Type result = main.type->as<FnType>()->result;
    std::vector<const Var*> params;
    std::vector<Expr> args;
    for (const Var* p : main.params) {
      params.push_back(b_.with_type(b_.var(p->name.text(), p->type), p->type)->as<Var>());
      args.push_back(params.back());
    }
    const Var* x = b_.var("x", result);
    args.push_back(b_.fn(std::span(&x, 1), x));
    const Expr body = b_.call(b_.global(names_.at(context_.symbol("main"))), args);
    out_.set_function("main", b_.fn(params, body, result, main.attrs));
  }

  // --- expressions -----------------------------------------------------------------------------

  const Var* variable(const Var* v) {
    Expr& now = now_[v];
    if (!now) {
      const Type type = types_.of(v->type);
      // A let knows the type of its value; a parameter has to say it.
      const Type annotation = v->annotation ? types_.of(v->annotation) : goes_on_.get(v) ? type : nullptr;
      const SpanScope at(b_, v->span);
      now = b_.with_type(b_.var(v->name.text(), annotation), type);
    }
    return now->as<Var>();
  }

  // The value of the expression, which calls no functions.
  Expr node(Expr e) {
    if (const auto* v = e->as<Var>()) return variable(v);
    if (const auto* global = e->as<Global>()) {
      const auto name = names_.find(global->name);
      return name == names_.end() ? e : b_.global(name->second);
    }
    if (const auto* ctor = e->as<CtorRef>()) return b_.ctor(*types_.ctor(ctor->ctor));
    const auto* fn = e->as<Fn>();
    if (fn && !inside_.get(fn)) return converted(*fn);
    if (is_leaf(e) || suspends_.get(e)) return e;  // `last` says what becomes of it
    return rebuilt(e, types_.of(e->type), [&](Expr child, size_t) { return now_.get(child); });
  }

  Expr converted(const Fn& fn) {
    std::vector<const Var*> params;
    for (const Var* p : fn.params) params.push_back(variable(p));
    const Var* k = continuation_.get(&fn);
    params.push_back(k);
    std::vector<const TypeVar*> type_params(fn.type_params.begin(), fn.type_params.end());
    if (&fn == root_) type_params.push_back(types_.answer());
    const std::vector<Type> where(fn.where.begin(), fn.where.end());
    return b_.fn(params, last_of(fn.body, k), types_.answer(), {}, type_params, where);
  }

  // The expression with the same parts, made of `children(child, position)`.
  template <class Children>
  Expr rebuilt(Expr e, Type type, const Children& children_of) {
    std::vector<Expr> children;
    std::vector<Type> type_args;
    for_each_child(e, [&](Expr child) {
      const Fn* literal = called_literal(e);
      children.push_back(literal && children.empty() ? called(*literal, now_.get(literal->body))
                                                     : children_of(child, children.size()));
    });
    if (const auto* call = e->as<Call>()) {
      for (Type t : call->type_args) type_args.push_back(types_.of(t));
    }
    return rebuild(context_, e,
                   {.children = children,
                    .var = [&](const Var* v) { return variable(v); },
                    .ctor = [&](const Constructor* c) { return types_.ctor(c); },
                    .type = type,
                    .type_args = type_args});
  }

  // A function literal that is called where it is written.
  Expr called(const Fn& literal, Expr body) {
    std::vector<const Var*> params;
    for (const Var* p : literal.params) params.push_back(variable(p));
    const bool same = !suspends_.get(literal.body);
    return b_.fn(params, body, same ? types_.of(literal.result) : nullptr, literal.attrs);
  }

  // --- the last evaluations of scopes ----------------------------------------------------------

  Expr last_of(Expr e, const Var* k) { return is_value(e) ? b_.call(k, {now_.get(e)}) : last_.get(e); }

  // What the expression does, and then goes on with its continuation.
  Expr last(Expr e) {
    const Var* k = continuation_.get(e);
    if (const auto* let = e->as<Let>()) return last_let(*let, k);
    if (!suspends_.get(e)) return b_.call(k, {now_.get(e)});
    if (calls_function(before_, e)) return with_continuation(*e->as<Call>(), k);
    if (const Fn* literal = called_literal(e)) {
      std::vector<Expr> args;
      for (Expr arg : e->as<Call>()->args) args.push_back(now_.get(arg));
      return b_.call(called(*literal, last_of(literal->body, k)), args);
    }
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) {
      children.push_back(opens_scope(e, children.size()) ? last_of(child, k) : now_.get(child));
    });
    return rebuild(context_, e,
                   {.children = children,
                    .var = [&](const Var* v) { return variable(v); },
                    .ctor = [&](const Constructor* c) { return types_.ctor(c); },
                    .type = types_.answer()});
  }

  Expr last_let(const Let& let, const Var* k) {
    const Expr rest = last_of(let.body, k);
    const Var* x = variable(let.x);
    if (!suspends_.get(let.value)) return b_.let(x, now_.get(let.value), rest);
    // A parameter is of the type that the variable had.
    const Expr on = b_.fn(std::span(&x, 1), rest);
    if (calls_function(before_, let.value)) return with_continuation(*let.value->as<Call>(), on);
    return b_.let(continuation_.get(let.value), on, last_.get(let.value));
  }

  Expr with_continuation(const Call& call, Expr k) {
    std::vector<Expr> args;
    for (Expr arg : call.args) args.push_back(now_.get(arg));
    args.push_back(k);
    return b_.call(now_.get(call.callee), args);
  }

  const Module before_;
  Module out_;
  Context& context_;
  relay::Builder b_;
  ContinuationTypes types_;
  std::map<Symbol, std::string> names_;
  const Fn* root_ = nullptr;
  NodeMap<bool> suspends_;  // is there a call of a function in it, that is made when it is evaluated?
  NodeMap<bool> goes_on_;   // variables that become parameters of continuations
  NodeMap<bool> inside_;    // function literals that are called where they are written
  NodeMap<const Var*> continuation_;  // of functions, and of what comes last in scopes
  NodeMap<Expr> now_, last_;
};

// Why the program stays, as a text for people; empty if nothing keeps it.
std::string keeps_calls(const Module& m) {
  const Fn* main = m.function("main");
  if (!main->type_params.empty()) return "@main is generic";
  std::set<Symbol> used;
  bool functions = false;
  std::vector<Type> types;
  for_each_part(main->type, [&](Type part) { types.push_back(part); });
  for (size_t i = 0; i < types.size(); ++i) {
    for_each_type_in(types[i], [&](Type t) {
      functions |= t && t->as<FnType>();
      const auto* data = t ? t->as<DataType>() : nullptr;
      const DataTypeDef* def = data ? m.data_type(data->name.text()) : nullptr;
      if (!def || !used.insert(data->name).second) return true;
      for (const Constructor* c : def->ctors) types.insert(types.end(), c->fields.begin(), c->fields.end());
      return true;
    });
  }
  if (functions) return "@main takes or gives functions";
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      if (is_primitive(e)) return "its functions are kernels already";
      const auto* inner = e->as<Fn>();
      const auto* type = inner && inner->type ? inner->type->as<FnType>() : nullptr;
      if (inner && (!type || type->has_hole)) return "the type of a function is not known";
    }
  }
  return {};
}

Module run(const Module& m, const PassContext& pass) {
  if (!m.function("main")) {
    pass.stays("there is no @main");
    return m;
  }
  const Module reached = only_reachable_from(m, "main");
  if (breaks_continuation_passing(reached).empty()) return m;
  std::optional<Module> now =
      checked_inside(with_declared_parameters(reached), pass, "with its type parameters declared");
  if (now) now = after_inner_pass(*now, kEtaExpand, pass);
  if (now) now = checked_inside(with_function_literals(*now), pass, "with function literals");
  if (now) now = after_inner_pass(*now, kToANormalForm, pass);
  if (now) now = checked_inside(with_named_literals(*now), pass, "with names for function literals");
  if (!now) return m;
  if (const std::string why = keeps_calls(*now); !why.empty()) {
    pass.stays(why);
    return m;
  }
  const std::optional<Module> out =
      checked_inside(Converter(*now).run(), pass, "in continuation-passing style");
  return out ? *out : m;
}

}  // namespace

std::string breaks_continuation_passing(const Module& m) {
  return first_problem(m, [&m](Expr root) -> Condition {
    const std::vector<Expr> order = post_order(root);
    const NodeMap<uint32_t> uses = scopes(root).uses;
    NodeMap<bool> last;  // of evaluations: nothing is left to do after it
    NodeMap<bool> inside;
    for (size_t i = order.size(); i-- > 0;) {
      const Expr e = order[i];
      const bool goes_on = e->as<Fn>() ? inside.get(e) && !last.get(e) : !last.get(e);
      if (const Fn* literal = called_literal(e)) {
        inside[literal] = true;
        last[literal] = !goes_on;
      }
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        if (opens_scope(e, position++) && !goes_on && uses.get(child) < 2) last[child] = true;
      });
    }
    return [&m, last](Expr e) -> std::string_view {
      return calls_function(m, e) && !last.get(e) ? "a call is not the last" : "";
    };
  });
}

const Pass kContinuationPassing = {
    .name = "continuation-passing",
    .doc = "make each call the last thing that a function does, with the rest of it as an argument",
    .run = run,
};

}  // namespace relay::passes
