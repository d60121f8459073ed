// Divisions of indices by extents that are not known, named where their variables are bound.
//
// A loop over several dims at once takes its index apart: index // m and index % m. For a constant
// m that is nothing; else it is a division by what no compiler knows to be positive, which none
// moves out of the loops inside, where the tiles are.
#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel::codegen {

struct Quotient {
  Expr var, value;
};

struct Quotients {
  Stmt body;
  // By the variable of a loop: what its body computes before anything else, in this order.
  std::unordered_map<const ExprNode*, std::vector<Quotient>> of_loop = {};
};

// The statement with these divisions named; those with variables of vectorised and unrolled loops
// stay where they are.
Quotients name_quotients(ExprPool& pool, Stmt body);

}  // namespace relay::kernel::codegen
