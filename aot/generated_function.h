// A function literal, or a global function, as a function of C++: the same to its caller but for
// what it has captured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/analysis.h"
#include "ir/expr.h"
#include "kernel/expr.h"

namespace relay::aot {

struct GeneratedFunction {
  const Fn* fn = nullptr;
  std::string name;
  const Scopes* scopes = nullptr;                         // of the global function around it
  const NodeMap<std::vector<Expr>>* mentioned = nullptr;  // captures.h, likewise
  const Var* self = nullptr;                              // by which a closure calls itself
  std::vector<Expr> captures = {};
  std::vector<const kernel::ExprNode*> extents = {};  // shape variables that it takes from around it
  bool gives_outputs = false;                         // tail_position.h

  // By its parameters. The closure itself comes first; a global function is given nothing for it.
  std::string signature() const;
  // By an array of arguments: how it is called where only its value is known.
  std::string any_signature() const;
};

// The program's names for functions and variables. Nothing else in the text begins like these, and
// the number makes each unique.
std::string function_name(std::string_view prefix, std::string_view name, size_t number);
std::string variable_name(std::string_view name, size_t number);

}  // namespace relay::aot
