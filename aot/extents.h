// Extents as C++: sums, products and what else they are made of, over names that the caller knows.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "base/source.h"
#include "ir/type.h"
#include "kernel/expr.h"

namespace relay::aot {

// Why something has no code ahead of time, and where.
struct Refusal {
  std::string why;
  Span span;
};

// What each shape variable is called.
using Extents = std::unordered_map<const kernel::ExprNode*, std::string>;

// Can it be printed: does it consist of what extents are made of, over variables of
// which `known` holds?
bool is_printable(kernel::Expr e, const std::function<bool(kernel::Expr)>& known);
// The C++ expression, for the body of a function; it must be printable. `name` gives that of a
// variable. Of an extent that is larger than those of types (Dim::is_too_complex), each operation
// is computed once and has a name, so that the text is linear in the extent.
std::string print_extent(kernel::Expr e, const std::function<std::string(kernel::Expr)>& name);
// Likewise; all its shape variables have names.
std::string print_extent(Dim d, const Extents& names);

// Adds the symbolic extents of tensors of the type, in order; of a tuple, those of its fields.
void add_extents(Type t, std::vector<kernel::Expr>& out);

}  // namespace relay::aot
