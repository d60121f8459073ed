// What a gradient asks of a whole program: which functions take part, and how to say where a
// gradient ends.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::passes::gradient {

// Which function is differentiated, and what of it is wanted.
struct Wanted {
  bool value = true;          // what it gave before
  size_t parameter = 0;       // the gradient of this one, counted from 1; 0: of each
  size_t first = 0;           // not of those before it, counted from 0
  std::string root = "main";  // the function
  std::string into = "main";  // the name of what comes of it
  bool of(size_t i) const { return i >= first && (parameter == 0 || parameter == i + 1); }
};

// The function that this one names as its gradient, by the attribute `Gradient`; empty if none.
std::string own_gradient(const Fn* fn);

class Program {
 public:
  Program(const Module& m, Wanted wanted, Diagnostics& diagnostics);

  const Wanted& wanted() const { return wanted_; }

  const Module& module() const { return module_; }
  Diagnostics& diagnostics() const { return diagnostics_; }
  const Fn* root() const { return module_.function(wanted_.root); }
  // The functions that the root reaches, itself first, each after one that mentions it.
  const std::vector<Symbol>& reached() const { return reached_; }
  // The function that a program names as the gradient of this one; empty if it names none. The root
  // and functions that only those with such a gradient reach are not asked.
  std::string own_gradient(Symbol function) const;
  // A name for a new global, made of one that there is.
  std::string new_name(std::string_view of, std::string_view suffix) const;

  // A straight line: lets, tuples, operators, `if`, and calls of functions that are such and do not
  // recur. Its gradient is of this kind, too.
  bool is_straight() const;

  // Reports what of the root is not made of tensors.
  bool is_differentiable() const;

  // Reports that `what`, found in a function, has no gradient, why, and how the root gets there if
  // that is elsewhere: by the last calls, so that the message has a bounded length.
  void refuse(Symbol function, Span at, std::string_view what, std::string_view reason) const;

 private:
  const Module& module_;
  const Wanted wanted_;
  Diagnostics& diagnostics_;
  // Reports tuples that are nested more deeply than walks over their types are made for.
  void refuse_deep_tuples() const;
  // Reports attributes that name no function that can be a gradient.
  void refuse_wrong_gradients() const;

  struct Mention {
    Symbol by;
    Span at;
  };
  std::vector<Symbol> reached_;
  std::map<Symbol, std::string, Module::ByName> own_gradients_;
  std::map<Symbol, Mention, Module::ByName> mentioned_;  // each by the function it was reached from
};

}  // namespace relay::passes::gradient
