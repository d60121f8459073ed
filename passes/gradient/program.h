// What a gradient asks of a whole program: which functions take part, and how to say where a
// gradient ends.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::passes::gradient {

// A root: which function is differentiated, and what of it is wanted.
struct Wanted {
  bool value = true;                 // what it gave before
  std::set<size_t> parameters = {};  // the gradients of these, counted from 0; empty: of each
  size_t first = 0;                  // not of those before it, counted from 0
  std::string root = "main";         // the function
  std::string into = "main";         // the name of what comes of it
  bool of(size_t i) const { return i >= first && (parameters.empty() || parameters.contains(i)); }
};

// Of a function whose gradient the program has: `Gradient="name"`.
inline constexpr char kGradientAttribute[] = "Gradient";
// The function that this one names as its gradient, by that attribute; empty if none.
std::string own_gradient(const Fn* fn);
// The function of a tangent that a function with a gradient of its own names besides, from the
// arguments and their tangents to the tangent of the result: `Tangent="name"`. Empty if none.
inline constexpr char kTangentAttribute[] = "Tangent";
std::string own_tangent(const Fn* fn);

class Program {
 public:
  Program(const Module& m, Wanted wanted, Diagnostics& diagnostics)
      : Program(m, std::vector<Wanted>{std::move(wanted)}, diagnostics) {}
  // Of several functions at once, which share what they reach. No function is a root twice.
  Program(const Module& m, std::vector<Wanted> roots, Diagnostics& diagnostics);

  const std::vector<Wanted>& roots() const { return roots_; }

  const Module& module() const { return module_; }
  Diagnostics& diagnostics() const { return diagnostics_; }
  // The functions that the roots reach: first the roots, in their order, then each function after
  // one that mentions it.
  const std::vector<Symbol>& reached() const { return reached_; }
  // The function that a program names as the gradient of this one; empty if it names none. Roots
  // and functions that only those with such a gradient reach are not asked.
  std::string own_gradient(Symbol function) const;
  // A name for a new global, made of one that there is.
  std::string new_name(std::string_view of, std::string_view suffix) const;

  // The functions that are straight lines: lets, tuples, operators, `if`, and calls of functions
  // that are such and do not recur. Their gradients are of this kind, too.
  std::set<Symbol, Module::ByName> straight() const;
  bool is_straight() const { return straight().size() == reached_.size(); }

  // Reports what of a root is not made of tensors, and no constant.
  bool is_differentiable() const;

  // Reports that `what`, found in a function, has no gradient, why, and how a root gets there if
  // that is elsewhere: by the last calls, so that the message has a bounded length.
  Diagnostic& refuse(Symbol function, Span at, std::string_view what, std::string_view reason) const;

 private:
  const Fn* function(Symbol name) const { return module_.function(name.text()); }
  bool is_root(Symbol function) const;
  // Reports tuples that are nested more deeply than walks over their types are made for.
  void refuse_deep_tuples() const;
  // Reports a parameter of a root that can have no gradient and is to have one, or that can be no
  // constant.
  void refuse_parameter(size_t root, size_t index) const;
  // Reports attributes that name no function that can be a gradient.
  void refuse_wrong_gradients() const;

  struct Mention {
    Symbol by;
    Span at;
  };
  const Module& module_;
  const std::vector<Wanted> roots_;
  Diagnostics& diagnostics_;
  std::vector<Symbol> reached_;
  std::map<Symbol, std::string, Module::ByName> own_gradients_;
  std::map<Symbol, Mention, Module::ByName>
      mentioned_;  // each by the function it was reached from; roots by themselves
};

}  // namespace relay::passes::gradient
