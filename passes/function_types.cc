#include "passes/function_types.h"

#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "ir/fields.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"

namespace relay::passes {
namespace {

// Looks at each type of a program once, and at what its data types are declared to hold.
class Reach {
 public:
  Reach(const Module& m, std::set<Symbol>& used) : m_(m), used_(used) {}

  std::string run() {
    const Fn* main = m_.function("main");
    if (!main) return "there is no @main";
    for (const Var* x : main->params) type(x->type);
    type(main->body->type);
    if (functions_) return "@main takes or gives functions";
    for (const auto& [name, fn] : m_.functions()) {
      if (!fn->type_params.empty()) return cat("@", name.text(), " is generic");
      for (const Var* x : fn->params) type(x->type);
      for (Expr e : post_order(fn->body)) expression(e);
      if (!problem_.empty()) return cat("in @", name.text(), " ", problem_);
    }
    return {};
  }

 private:
  void refuse(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
  }

  void expression(Expr e) {
    const auto* call = e->as<Call>();
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      if (position++ > 0 || !call) value(child);
    });
    if (call && !is_known_callee(call->callee)) type(call->callee->type);
    for_each_binder(e, [&](const Var* x) { type(x->type); });
    if (const auto* ctor = e->as<CtorRef>()) data_type(ctor->ctor->data_type);
  }

  void value(Expr e) {
    const auto* ctor = e->as<CtorRef>();
    const auto* fn = e->as<Fn>();
    if (const auto* op = e->as<OpRef>()) refuse(cat("`", op::name(*op->op), "` is a value"));
    if (ctor) refuse(cat("`", ctor->ctor->name.text(), "` is a value"));
    if (const auto* global = e->as<Global>()) refuse(cat("@", global->name.text(), " is a value"));
    if (fn && !fn->type_params.empty()) refuse("a generic function is a value");
    if (fn && !fn->attrs.empty()) refuse("a function with attributes is a value");
    type(e->type);
  }

  void type(Type root) {
    std::vector<Type> pending{root};
    while (!pending.empty()) {
      const Type t = pending.back();
      pending.pop_back();
      if (!seen_.insert(t).second) continue;
      if (!t) {
        refuse("a type is not known");
        continue;
      }
      if (const auto* fn = t->as<FnType>()) {
        functions_ = true;
        if (!fn->type_params.empty() || fn->has_type_var || fn->has_hole)
          refuse(cat("a function value is generic: ", show(t, kMostText)));
        if (fn->has_symbolic_dim)
          refuse(cat("the type of a function value has shape variables: ", show(t, kMostText)));
      }
      for_each_part(t, [&](Type part) { pending.push_back(part); });
      if (const auto* data = t->as<DataType>()) data_type(data->name);
    }
  }

  void data_type(Symbol name) {
    const DataTypeDef* def = m_.data_type(name.text());
    if (!def || !used_.insert(name).second) return;
    for (const Constructor* c : def->ctors) {
      for (Type t : c->fields) type(t);
    }
  }

  static constexpr size_t kMostText = 80;

  const Module& m_;
  std::set<Symbol>& used_;
  std::unordered_set<Type> seen_;
  bool functions_ = false;
  std::string problem_;
};

}  // namespace

std::string keeps_function_values(const Module& m, std::set<Symbol>& used) { return Reach(m, used).run(); }

std::string fresh_name(const Module& m, std::string text) {
  while (m.function(text) || m.kernel(text) || m.data_type(text) || m.constructor(text)) text += "_";
  return text;
}

FunctionTypes::FunctionTypes(Module& out, const std::set<Symbol>& used)
    : out_(out), context_(out.context()), ctors_(out.context()) {
  const Module before = out_;  // whose data types are replaced
  for (const auto& [name, def] : before.data_types()) {
    if (used.contains(name)) ctors_.declare(out_, *def, [&](Type t) { return of(t); });
  }
}

size_t FunctionTypes::number(const FnType* type) {
  const auto [it, is_new] = numbers_.try_emplace(type, functions_.size());
  if (is_new) {
    functions_.push_back(type);
    names_.push_back(context_.symbol(fresh_name(out_, cat("Function_", it->second))));
  }
  return it->second;
}

// What a function takes is asked for when its data type is declared.
Type FunctionTypes::of(Type root) {
  const auto enter = [](Type t) { return t->as<FnType>() == nullptr; };
  return made_of_parts(root, known_, [&](Type t) { return of_parts(t); }, enter);
}

Type FunctionTypes::of_parts(Type t) {
  if (const auto* fn = t->as<FnType>()) return data_type(number(fn));
  if (!t->as<TupleType>() && !t->as<RefType>() && !t->as<DataType>()) return t;
  std::vector<Type> parts;
  for_each_part(t, [&](Type part) { parts.push_back(part ? known_.at(part) : part); });
  return context_.with_parts(t, parts);
}

}  // namespace relay::passes
