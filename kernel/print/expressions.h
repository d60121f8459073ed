// Expressions as text of a C-like language.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/print/context.h"

namespace relay::kernel::print {

// How tightly a text's outermost operator binds.
enum class Level : uint8_t {
  kChoice,
  kOr,
  kAnd,
  kBits,
  kEquality,
  kOrder,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPrimary
};

struct Text {
  std::string text;
  Level level;

  std::string at_least(Level least) const { return level < least ? "(" + text + ")" : text; }
};

// Prints the expressions of one statement. What occurs more than once, or would make a line
// unreadable, is put into a local constant first; what is on one side of a choice is computed only
// when that side is taken.
//
// Within a vectorised loop (context.lanes), expressions that depend on its variable are
// vectors, with masks (vectors of integers, all ones for true) in place of booleans; the
// others stay scalars.
class Expressions {
 public:
  // All roots that the statement evaluates unconditionally, in the order in which they
  // will be asked for.
  Expressions(Context& context, const std::vector<Expr>& roots);

  std::string scalar(Expr e);     // not depending on the vectorised loop's variable
  std::string bound(Expr e);      // the same, behind `<`
  std::string condition(Expr e);  // the same, for `if`
  void store(const Buffer& buffer, Expr offset, Expr value);

 private:
  // Operands: text that binds at least that tightly.
  std::string operand(const ExprNode* n, Level least = Level::kPrimary);
  std::string index_operand(const ExprNode* n, Level least);  // constants without their type
  std::string vector_operand(const ExprNode* n, Level least = Level::kPrimary);  // a scalar is broadcast
  std::string like(const ExprNode* n, const ExprNode* argument,
                   Level least = Level::kPrimary);  // a vector if n is one
  std::string mask(const ExprNode* n, int bits);    // with lanes of that many bits
  Text value(const ExprNode* n);

  Text compute(const ExprNode* n);
  Text constant(const ExprNode* n) const;
  Text load(const ExprNode* n);
  Text infix(const ExprNode* n, std::string_view sign, Level level);
  Text call(std::string_view function, const ExprNode* n);
  Text sum_or_product(const ExprNode* n);
  Text index_sum(const ExprNode* n);
  Text index_product(const ExprNode* n);
  Text division(const ExprNode* n);
  Text minimum_or_maximum(const ExprNode* n);
  Text comparison(const ExprNode* n);
  Text logic(const ExprNode* n);
  Text mask_operation(const ExprNode* n);  // any of these two on vectors of booleans
  Text select(const ExprNode* n);
  std::string side(const ExprNode* selection, const ExprNode* n);
  // The call of a local function, printed in front of the statement, that computes it.
  std::string part(const ExprNode* selection, const ExprNode* n);
  Text vector_select(const ExprNode* n);
  Text cast(const ExprNode* n);
  // The function of the prelude that makes an integer of a floating value, or of each lane.
  static std::string integer_of(DType to, const ExprNode* a, bool is_vector);
  Text vector_cast(const ExprNode* n);
  Text math(const ExprNode* n);
  // Rounded or wrapped if the node's dtype is a small floating format or a 4-bit integer.
  Text rounded(const ExprNode* n, Text t) const;

  bool is_vector(const ExprNode* n) { return sharing_.is_vector(n); }
  bool is_index(const ExprNode* n) { return sharing_.is_index(n); }
  int mask_bits(const ExprNode* n);
  std::string element(const Place& place, Expr offset);  // "x[4]", "x_4"
  std::string pointer(const Place& place, Expr offset);  // "x + 4"
  std::string vector_type(DType d) const;
  std::string declare(const ExprNode* n, const Text& t);

  const std::string* known(const ExprNode* n) const;

  Context& context_;
  codegen::Sharing sharing_;
  std::vector<std::unordered_map<const ExprNode*, std::string>> locals_;  // innermost scope last
  int nested_ = 0;     // sides of choices, each inside of the one before, since the statement or part begins
  std::string parts_;  // printed already, to stand in front of the outermost choice
  int depth_ = 0;      // of the lines of the statement
  const ExprNode* unrounded_ = nullptr;  // what receives this node's value rounds it anyway
};

}  // namespace relay::kernel::print
