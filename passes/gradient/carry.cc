#include "passes/gradient/carry.h"

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/constants.h"
#include "passes/gradient/kernels.h"

namespace relay::passes::gradient {
namespace {

constexpr std::string_view kOwnGradientReason =
    "the gradient that it names goes back, and no tangent goes forwards; the pass `gradient` takes it";

}  // namespace

CarryingFunctions::CarryingFunctions(const Program& program, Carried carried)
    : program_(program),
      out_(program.module()),
      context_(out_.context()),
      b_(context_),
      types_(program, carried, out_) {
  for (Symbol name : program_.reached()) names_[name] = program_.new_name(name.text(), suffix(carried));
}

void CarryingFunctions::add_functions() {
  for (Symbol name : program_.reached()) {
    function_ = name;
    out_.set_function(names_.at(name), carrying(program_.module().function(name.text())));
  }
}

// --- carrying values -----------------------------------------------------------------------------

Expr CarryingFunctions::primal(Type t, Expr carrying) {
  if (!holds_floats(t)) return carrying;
  const auto* tuple = t->as<TupleType>();
  if (!tuple) return b_.proj(carrying, 0);
  std::vector<Expr> fields;
  for (uint32_t i = 0; i < tuple->fields.size(); ++i)
    fields.push_back(primal(tuple->fields[i], b_.proj(carrying, i)));
  return b_.tuple(fields);
}

Expr CarryingFunctions::second(Type t, Expr carrying) {
  if (!holds_floats(t)) return zeros(b_, carrying);
  const auto* tuple = t->as<TupleType>();
  if (!tuple) return b_.proj(carrying, 1);
  std::vector<Expr> fields;
  for (uint32_t i = 0; i < tuple->fields.size(); ++i)
    fields.push_back(second(tuple->fields[i], b_.proj(carrying, i)));
  return b_.tuple(fields);
}

Expr CarryingFunctions::pair(Type t, Expr value, Expr beside) {
  if (!holds_floats(t)) return value;
  const auto* tuple = t->as<TupleType>();
  if (!tuple) return b_.tuple({value, beside});
  std::vector<Expr> fields;
  for (uint32_t i = 0; i < tuple->fields.size(); ++i)
    fields.push_back(pair(tuple->fields[i], b_.proj(value, i), b_.proj(beside, i)));
  return b_.tuple(fields);
}

Expr CarryingFunctions::carry(Type t, Expr value) {
  if (types_.of(t) == t) return value;
  if (const auto* data = t->as<DataType>()) {
    std::string& name = constants_[t];
    if (name.empty()) {
      name = program_.new_name(data->name.text(), cat("_constant_", constants_.size()));
      new_constants_.push_back(data);
    }
    return b_.call(b_.global(name), {value}, {}, types_.of(t));
  }
  const auto* tuple = t->as<TupleType>();
  if (!tuple) return b_.tuple({value, beside(value)});
  std::vector<Expr> fields;
  for (uint32_t i = 0; i < tuple->fields.size(); ++i)
    fields.push_back(carry(tuple->fields[i], b_.proj(value, i)));
  return b_.tuple(fields);
}

void CarryingFunctions::add_functions_of_constants() {
  for (; !new_constants_.empty(); new_constants_.pop_front()) {
    const DataType& type = *new_constants_.front();
    out_.set_function(constants_.at(&type), function_of_constant(type));
  }
}

// fn (x) { match (x) { Ctor(a, ...) => Ctor_augmented(a with nothing beside it, ...), ... } }
const Fn* CarryingFunctions::function_of_constant(const DataType& type) {
  std::vector<Arm> arms;
  const Module& m = program_.module();
  for (const Constructor* ctor : m.data_type(type.name.text())->ctors) {
    std::vector<Pattern> patterns;
    std::vector<Expr> fields;
    for (Type t : field_types(m, type, *ctor)) {
      const Var* field = b_.with_type(b_.var(cat("a", fields.size())), t)->as<Var>();
      patterns.push_back(b_.bind(field));
      fields.push_back(carry(t, field));
    }
    arms.push_back({b_.ctor_pattern(*ctor, patterns),
                    b_.call(b_.ctor(*types_.ctor(ctor)), fields, {}, types_.of(&type))});
  }
  const Var* x = b_.with_type(b_.var("x", &type), &type)->as<Var>();
  return b_.fn(std::vector<const Var*>{x}, b_.match(x, arms, /*total=*/true), types_.of(&type));
}

// --- functions -----------------------------------------------------------------------------------

const Fn* CarryingFunctions::carrying(const Fn* fn) {
  const SpanScope at(b_, fn->span);
  begin_function();
  now_.clear();
  for (Expr e : post_order(fn->body)) {
    const SpanScope here(b_, e->span);
    now_[e] = node(e);
  }
  std::vector<const Var*> params;
  for (const Var* p : fn->params) params.push_back(variable(p));
  if (extra()) params.push_back(extra());
  // What `where` asks is asked of tensors, and values that carry are none. Functions that compute
  // with values of their type parameters are of known types already (monomorphise).
  return b_.fn(params, now_.at(fn->body), types_.of(fn->result), {}, fn->type_params);
}

// --- expressions ---------------------------------------------------------------------------------

const Var* CarryingFunctions::variable(const Var* v) {
  Expr& now = now_[v];
  if (!now) now = b_.with_type(b_.var(v->name.text(), types_.of(v->annotation)), types_.of(v->type));
  return now->as<Var>();
}

Expr CarryingFunctions::node(Expr e) {
  const auto* call = e->as<Call>();
  bool first = true;
  for_each_child(e, [&](Expr child) {
    const bool called = std::exchange(first, false) && call;
    if (!called) refuse_primitive_value(child);
  });
  return match(
      e, [&](const Constant& n) -> Expr { return carry(n.type, e); },
      [&](const Var& n) -> Expr { return variable(&n); },
      [&](const Global& n) -> Expr { return function_value(n); }, [&](const OpRef&) -> Expr { return e; },
      [&](const CtorRef& n) -> Expr { return b_.ctor(*types_.ctor(n.ctor)); },
      [&](const Fn& n) -> Expr {
        std::vector<const Var*> params;
        for (const Var* p : n.params) params.push_back(variable(p));
        return b_.fn(params, now_.at(n.body), types_.of(n.result), {}, n.type_params);
      },
      [&](const Call& n) -> Expr { return this->call(n); }, [&](const auto&) -> Expr { return rebuilt(e); });
}

// Reports an operator or a kernel that is a value, unless no float goes through it.
void CarryingFunctions::refuse_primitive_value(Expr e) {
  const auto* ref = e->as<OpRef>();
  const auto* global = e->as<Global>();
  if (!ref && (!global || names_.contains(global->name) || types_.of(e->type) == e->type ||
               !gradient_of(global->name).empty()))
    return;
  const bool own = global && !program_.own_gradient(global->name).empty();
  program_.refuse(function_, e->span,
                  ref ? cat("`", ref->op->name, "` as a value")
                      : cat("the ", own ? "function" : "kernel", " `@", global->name.text(), "` as a value"),
                  ref   ? std::string("its type is not known here")
                  : own ? std::string(kOwnGradientReason)
                        : why_no_gradient(program_.module(), global->name));
}

// The same form of what its parts have become. Always a new node: no two functions share any.
Expr CarryingFunctions::rebuilt(Expr e) {
  std::vector<Expr> children;
  std::vector<Type> type_args;
  for_each_child(e, [&](Expr child) { children.push_back(now_.at(child)); });
  if (const auto* call = e->as<Call>()) {
    for (Type t : call->type_args) type_args.push_back(types_.of(t));
  }
  const Expr now = rebuild(context_, e,
                           {.children = children,
                            .var = [&](const Var* v) { return variable(v); },
                            .ctor = [&](const Constructor* c) { return types_.ctor(c); },
                            .type = types_.of(e->type),
                            .type_args = type_args});
  return now == e ? match(e, [&](const auto& n) -> Expr { return context_.node(n); }) : now;
}

// A function of the module as a value takes nothing besides: it gets what is here.
Expr CarryingFunctions::function_value(const Global& n) {
  const auto name = names_.find(n.name);
  const auto* type = n.type ? n.type->as<FnType>() : nullptr;
  if (type && !program_.own_gradient(n.name).empty())
    return gradient_of(n.name).empty() ? &n : value_with_gradient(n, *type);
  if (name == names_.end() || !type) return &n;
  std::vector<const Var*> params;
  for (Type t : type->args) params.push_back(b_.var("x", type->type_params.empty() ? types_.of(t) : nullptr));
  std::vector<Expr> args(params.begin(), params.end());
  if (extra()) args.push_back(extra());
  return b_.fn(params, b_.call(b_.global(name->second), args), nullptr);
}

// A function that has a gradient of its own, as a value: a function that calls it.
Expr CarryingFunctions::value_with_gradient(const Global& n, const FnType& type) {
  std::vector<const Var*> params;
  std::vector<Expr> args;
  for (Type t : type.args) {
    args.push_back(b_.with_type(b_.var("x", t), t));
    params.push_back(variable(args.back()->as<Var>()));
    now_[args.back()] = params.back();
  }
  return b_.fn(params, primitive(*b_.call(&n, args, {}, type.result)), nullptr);
}

Expr CarryingFunctions::call(const Call& n) {
  if (op::callee(n)) return primitive(n);
  const auto* global = n.callee->as<Global>();
  if (!global) return rebuilt(&n);
  const auto name = names_.find(global->name);
  if (name == names_.end() || !gradient_of(global->name).empty()) return primitive(n);
  std::vector<Expr> args;
  for (Expr arg : n.args) args.push_back(now_.at(arg));
  if (extra()) args.push_back(extra());
  return b_.call(b_.global(name->second), args, n.attrs, types_.of(n.type));
}

// A call of an operator or a kernel, on values.
Expr CarryingFunctions::primitive(const Call& n) {
  Bindings lets(b_);
  std::vector<Expr> args, primals;
  bool active = false;
  for (Expr arg : n.args) {
    const bool carries = holds_floats(arg->type) && !arg->as<Constant>();
    if (arg->type->has_type_var) {
      refuse(n, "it computes with type parameters");
      return &n;
    }
    args.push_back(arg->as<Constant>() ? arg : lets_unless_variable(lets, now_.at(arg), arg->type));
    primals.push_back(carries ? primal(arg->type, args.back()) : args.back());
    active |= carries;
  }
  const Expr value = b_.call(n.callee, primals, n.attrs, n.type);
  if (!holds_floats(n.type)) return lets.around(value);
  const Var* y = lets.name("y", value, n.type);
  const auto* global = n.callee->as<Global>();
  if (active && global && gradient_of(global->name).empty()) {
    refuse(n, program_.own_gradient(global->name).empty() ? why_no_gradient(program_.module(), global->name)
                                                          : std::string(kOwnGradientReason));
    return &n;
  }
  const Expr result = result_of(lets, n, args, primals, y, active);
  return lets.around(result);
}

Expr CarryingFunctions::lets_unless_variable(Bindings& lets, Expr e, Type before) {
  return e->as<Var>() ? e : lets.name("x", e, types_.of(before));
}

void CarryingFunctions::refuse(const Call& n, std::string_view reason) {
  const op::OpDef* def = op::callee(n);
  const auto* global = n.callee->as<Global>();
  program_.refuse(
      function_, n.span,
      def ? cat("`", def->name, "`")
          : cat(program_.module().function(global->name.text()) ? "the function `@" : "the kernel `@",
                global->name.text(), "`"),
      reason);
}

}  // namespace relay::passes::gradient
