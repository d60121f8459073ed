// Calls, and functions as values.
#include <algorithm>

#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "tests/property/generator.h"

namespace relay::property {

// A variable of exactly this type; null if there is none.
Expr Generator::one_of_scope(Type t) {
  std::vector<Expr> candidates;
  for (size_t i = scope_.size(); i-- > 0 && candidates.size() < 8;) {
    if (scope_[i].type == t && !scope_[i].fuel) candidates.push_back(scope_[i].var);
  }
  return candidates.empty() ? nullptr : in_.choose(candidates);
}

// Everything that can be called for this result.
std::vector<Generator::Callable> Generator::callables(Type result) {
  std::vector<Callable> out;
  const auto consider = [&](Callable c, bool binds_dims) {
    if (!binds_dims) {
      for (Dim d : dims_) c.instance.dims.emplace(d.symbolic().get(), d.symbolic());
    }
    if (match(c.type->result, result, *c.type, c.instance)) out.push_back(std::move(c));
  };
  for (const Binding& x : scope_) {
    const auto* fn = x.type->as<FnType>();
    if (!fn || x.calls == Binding::Calls::kNever) continue;
    const Var* less = x.calls == Binding::Calls::kWithLessFuel ? x.fuel : nullptr;
    consider({x.var, fn, less, x.fuel != nullptr, {}}, false);
  }
  for (const Signature& f : functions_) {
    const bool own_group = f.group == group_;
    if (own_group && !(f.recursive && own_fuel_)) continue;
    consider({b_.global(f.name), f.type, own_group ? own_fuel_ : nullptr, f.recursive, {}}, true);
  }
  return out;
}

Expr Generator::call(Type t, int depth) {
  std::vector<Callable> candidates = callables(t);
  if (candidates.empty()) return nullptr;
  Callable& f = candidates[in_.below(static_cast<uint32_t>(candidates.size()))];
  complete(*f.type, f.instance);
  // A dim of the result that is an expression was taken on trust.
  if (substituted(f.type->result, f.instance) != t) return nullptr;
  return call_of(f, depth);
}

// A call of what is wholly known but for its operands.
Expr Generator::call_of(Callable& f, int depth) {
  std::vector<Expr> args;
  for (Type arg : f.type->args) {
    if (args.empty() && f.recursive) {
      args.push_back(f.fuel ? Expr(b_.call(b_.op(op::kSubtract), {f.fuel, b_.scalar(kInt32, 1)}))
                            : Expr(b_.scalar(kInt32, in_.below(4))));
    } else {
      const Type type = substituted(arg, f.instance);
      // What a variable names may be an operator, which compares nothing. What stands for a type
      // parameter has no extents before the call.
      const bool compares = f.callee->as<Global>() && arg->kind == TypeKind::kTensor;
      args.push_back(compares ? operand(type, depth - 1) : expr(type, depth - 1));
    }
  }
  return b_.call(f.callee, args);
}

// fn (...) {...}(...), and calls of what calls give.
Expr Generator::curried_call(Type t, int depth) {
  std::vector<Type> args;
  for (uint32_t n = 1 + in_.below(2); n-- > 0;) args.push_back(type(Allow::kAll, 1));
  const FnType* fn = context_.fn_type({}, args, t);
  const bool literal = in_.below(2) == 0, annotated = literal && in_.below(2) == 0;
  Expr callee = literal ? lambda(*fn, depth - 1, annotated) : expr(fn, depth - 1);
  std::vector<Expr> operands;
  for (Type arg : args) operands.push_back(annotated ? operand(arg, depth - 1) : expr(arg, depth - 1));
  return b_.call(callee, operands);
}

// A function as a value: written here, an operator, a constructor, or a function of the module.
Expr Generator::function_value(const FnType& t, int depth) {
  std::vector<Expr> named;
  static constexpr std::string_view kOperators[] = {"negative", "nn.relu",     "add",     "multiply",
                                                    "maximum",  "logical_not", "subtract"};
  for (std::string_view name : kOperators) {
    const op::OpDef& def = *op::find(name);
    if (def.params.size() != t.args.size()) continue;
    if (!std::all_of(t.args.begin(), t.args.end(), [](Type arg) { return arg->kind == TypeKind::kTensor; }))
      continue;
    try {
      if (op::infer(context_, def, t.args, {}) == t.result) named.push_back(b_.op(def));
    } catch (const op::RelationError&) {  // not of this type
    }
  }
  if (const auto* data = t.result->as<DataType>()) {
    for (const Constructor* ctor : program_.module.data_type(data->name.text())->ctors) {
      const std::vector<Type> fields = fields_of(*ctor, *data);
      if (determines_type(*ctor) && std::equal(fields.begin(), fields.end(), t.args.begin(), t.args.end()))
        named.push_back(b_.ctor(*ctor));
    }
  }
  for (const Signature& f : functions_) {
    if (f.group == group_ || f.recursive) continue;
    Instance found;
    if (match(f.type->result, t.result, *f.type, found)) {
      complete(*f.type, found);
      if (f.type->args.size() == t.args.size() && substituted(f.type->result, found) == t.result &&
          std::equal(f.type->args.begin(), f.type->args.end(), t.args.begin(),
                     [&](Type formal, Type wanted) { return substituted(formal, found) == wanted; })) {
        named.push_back(b_.global(f.name));
      }
    }
  }
  if (!named.empty() && in_.below(2) == 1) {
    // Most of these have many types; here it is this one.
    const Var* x = variable(&t, true);
    return b_.let(x, in_.choose(named), x);
  }
  return lambda(t, depth - 1, true);
}

}  // namespace relay::property
