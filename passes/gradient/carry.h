// Programs whose floats carry something along: functions that stand beside those of a program.
//
// A function that carries takes and gives each tensor of floats in a pair: the tensor, and what
// stands beside it (types.h). Closures, cells, data types, `match` and recursion are rebuilt with
// these types and need no rule. Only a call of an operator has one, which a class below gives.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "passes/gradient/program.h"
#include "passes/gradient/types.h"

namespace relay::passes::gradient {

// Lets whose variables are of types that are given.
class Bindings {
 public:
  explicit Bindings(Builder& b) : b_(b) {}

  const Var* name(std::string_view name, Expr value, Type type) {
    const Var* x = b_.with_type(b_.var(name), type)->as<Var>();
    lets_.emplace_back(x, value);
    return x;
  }
  // Something that is done, and gives ().
  void act(Expr e) { name("_", e, b_.context().tuple_type({})); }

  Expr around(Expr body) const {
    for (size_t i = lets_.size(); i-- > 0;) body = b_.let(lets_[i].first, lets_[i].second, body);
    return body;
  }

 private:
  Builder& b_;
  std::vector<std::pair<const Var*, Expr>> lets_;
};

// Makes the carrying functions of a program. A class below says what is carried.
class CarryingFunctions {
 public:
  virtual ~CarryingFunctions() = default;

 protected:
  CarryingFunctions(const Program& program, Carried carried);

  // What stands beside a value of which nothing is known yet: zero.
  virtual Expr beside(Expr tensor) = 0;
  // A parameter and an argument that every function of the module has besides; null: none.
  virtual const Var* extra() const { return nullptr; }
  virtual void begin_function() {}
  // The carrying result of an operator's call. `args` carry, `primals` are their values, `y` is the
  // value of the call. `active`: an argument is no constant and has floats.
  virtual Expr result_of(Bindings& lets, const Call& call, std::span<const Expr> args,
                         std::span<const Expr> primals, const Var* y, bool active) = 0;
  // The function that gives the adjoints of a function's arguments, from these and the adjoint of
  // the result. Calls of the function are then treated as those of operators. Empty: there is none.
  virtual std::string gradient_of(Symbol) const { return {}; }

  // Puts a carrying function beside each that @main reaches.
  void add_functions();
  const std::string& name_of(Symbol function) const { return names_.at(function); }

  Expr primal(Type t, Expr carrying);  // the value of a carrying tensor or tuple
  Expr second(Type t, Expr carrying);  // what stands beside each tensor; zeros for integers
  Expr pair(Type t, Expr value, Expr beside);
  Expr carry(Type t, Expr value);  // a value with nothing beside it: a constant, or one of tensors
  // Adds the functions that `carry` calls for data types.
  void add_functions_of_constants();
  Expr now(Expr e) const { return now_.at(e); }
  Expr lets_unless_variable(Bindings& lets, Expr e, Type before);
  void refuse(const Call& call, std::string_view reason);

  const Program& program_;
  Module out_;
  Context& context_;
  Builder b_;
  CarriedTypes types_;
  Symbol function_;  // the one that is being rebuilt

 private:
  const Fn* carrying(const Fn* fn);
  const Var* variable(const Var* v);
  Expr node(Expr e);
  void refuse_primitive_value(Expr e);
  Expr rebuilt(Expr e);
  Expr function_value(const Global& n);
  Expr value_with_gradient(const Global& n, const FnType& type);
  const Fn* function_of_constant(const DataType& type);
  Expr call(const Call& n);
  Expr primitive(const Call& n);

  std::map<Symbol, std::string, Module::ByName> names_;  // of carrying functions
  std::unordered_map<Expr, Expr> now_;
  std::unordered_map<Type, std::string> constants_;  // functions that carry constants of a data type
  std::deque<const DataType*> new_constants_;        // of those that are not made yet
};

}  // namespace relay::passes::gradient
