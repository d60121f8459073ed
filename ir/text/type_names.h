// What the names of types mean where they stand: type parameters that are in scope, and names that
// are read as other types.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/module.h"
#include "ir/text/operators.h"

namespace relay::text {

class TypeNames {
 public:
  // The module grows while the text is read.
  TypeNames(const Module& module, std::string_view text, const Operators& operators)
      : module_(module), text_(text), operators_(operators) {}

  // How many type parameters are in scope; `leave` goes back to that.
  size_t mark() const { return bound_.size(); }
  void leave(size_t mark);
  // A type parameter is in scope from here on. One that hides another, which was declared before
  // `outer`, is another type: it gets a name that stands nowhere in the text, so that types and
  // printed texts tell them apart.
  const TypeVar* declare(Symbol name, size_t outer);
  // The type parameter of that name that is in scope; null if there is none.
  const TypeVar* variable(Symbol name) const;

  // The type that a name stands for unless the program has such a type with constructors, wherever
  // in the text it stands (Operators::type); null: for itself.
  Type read_as(Symbol name);

 private:
  struct Bound {
    const TypeVar* var;
    size_t place;  // in bound_
  };
  const TypeVar* renamed(Symbol name);
  bool defines(std::string_view name) const;

  const Module& module_;
  std::string_view text_;
  const Operators& operators_;
  std::unordered_map<Symbol, std::vector<Bound>> variables_;  // innermost last
  std::vector<Symbol> bound_;
  std::unordered_map<Symbol, size_t> renamed_;  // how many of that name got another one
  std::unordered_set<std::string_view> words_;  // of the text, once a name must differ from them
  std::unordered_map<Symbol, bool> defined_;    // does the text define it? Once that was asked
};

}  // namespace relay::text
