// Types of programs whose function values become data: a data type in the place of each type of
// functions.
//
//   fn(int32) -> int32            Function_0
//   List[fn(int32) -> int32]      List[Function_0]
//   type P { Q(fn() -> bool) }    type P { Q(Function_1) }
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "passes/new_constructors.h"

namespace relay::passes {

// Does a call of it say which function it calls? Else a value is called.
inline bool is_known_callee(Expr callee) {
  return callee->as<Global>() || callee->as<OpRef>() || callee->as<CtorRef>() || callee->as<Fn>();
}

// What a program has that keeps its function values from being data, as a text for people. Empty if
// nothing does. `used` becomes the data types that its expressions are made of.
std::string keeps_function_values(const Module& m, std::set<Symbol>& used);

// A name that no function, kernel, data type or constructor of the module has.
std::string fresh_name(const Module& m, std::string text);

class FunctionTypes {
 public:
  // Data types of `used` that hold functions get constructors that hold data.
  FunctionTypes(Module& out, const std::set<Symbol>& used);

  Type of(Type t);  // null stays null
  const Constructor* ctor(const Constructor* c) const { return ctors_.of(c); }

  // Types of functions are numbered in the order in which they are met.
  size_t count() const { return functions_.size(); }
  size_t number(const FnType* type);
  const FnType* function(size_t number) const { return functions_[number]; }
  // The data type that takes its place. It is declared by who knows its constructors.
  Symbol name(size_t number) const { return names_[number]; }
  Type data_type(size_t number) { return context_.data_type(names_[number].text(), {}); }

 private:
  Type of_parts(Type t);

  Module& out_;
  Context& context_;
  std::unordered_map<Type, Type> known_;
  std::unordered_map<const FnType*, size_t> numbers_;
  std::vector<const FnType*> functions_;
  std::vector<Symbol> names_;
  NewConstructors ctors_;
};

}  // namespace relay::passes
