// Expressions of kernels as LLVM values.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/codegen/sharing.h"
#include "kernel/kernel.h"
#include "kernel/llvm/arithmetic.h"
#include "kernel/simplify.h"

namespace relay::kernel::llvm {

// Where a buffer's elements are.
struct Place {
  Value* base = nullptr;  // a pointer to the first element; null if `variables` has them
  bool apart = true;      // no other buffer has the same memory
  bool as_stored = true;  // small floats are bits; in local arrays and variables they are floats
  std::map<int64_t, Value*> variables = {};  // offset -> stack slot of an element or a vector
};

// What the statements around an expression have said.
struct Surroundings {
  Instructions& make;
  Arithmetic arithmetic;
  std::unordered_map<const ExprNode*, Value*> variables = {};
  std::unordered_map<const Buffer*, Place> places = {};
  Bounds bounds = {};
  std::optional<codegen::Lanes> lanes = {};
  ::llvm::MDNode* independent = nullptr;  // the access group of a loop whose iterations are independent
};

// The expressions of one statement. What occurs more than once is computed once; what is on one
// side of a choice is computed only when that side is taken, unless it is cheap and harmless.
//
// Within a vectorised loop (lanes), expressions that depend on its variable are vectors, the others
// stay single values.
class Expressions {
 public:
  // All roots that the statement evaluates unconditionally.
  Expressions(Surroundings& around, const std::vector<Expr>& roots);

  Value* scalar(Expr e);  // not depending on the vectorised loop's variable
  void store(const Buffer& buffer, Expr offset, Expr value);

 private:
  Value* value(const ExprNode* n);
  Value* like(const ExprNode* n, const ExprNode* argument);  // a vector if n is one
  Value* compute(const ExprNode* n);
  Value* sum_or_product(const ExprNode* n);
  Value* division(const ExprNode* n);
  Value* minimum_or_maximum(const ExprNode* n);
  Value* binary(const ExprNode* n);
  Value* choice(const ExprNode* n);
  Value* branches(const ExprNode* n, Value* condition);
  Value* math(const ExprNode* n);
  Value* load(const ExprNode* n);
  Value* address(const Buffer& buffer, const Place& place, Expr offset);
  template <class Access>
  Access* marked(Access* access) const;

  bool is_vector(const ExprNode* n) { return sharing_.is_vector(n); }
  bool is_index(const ExprNode* n) { return !is_vector(n) && sharing_.is_index(n); }
  // Nothing that may fail, and less work than a branch; counts `budget` down.
  bool is_harmless(const ExprNode* n, int& budget);

  Value* known(const ExprNode* n) const;

  Surroundings& around_;
  Instructions& make_;
  Arithmetic& arithmetic_;
  codegen::Sharing sharing_;
  std::vector<std::unordered_map<const ExprNode*, Value*>> computed_;  // innermost branch last
};

}  // namespace relay::kernel::llvm
