#include "ir/text/habits.h"

namespace relay::text {
namespace {

struct Row {
  Place place;
  std::string_view token, note;
};

constexpr std::string_view kDefine = "a function is defined by `def @name(%x: float32) { ... }`";
constexpr std::string_view kClosure = "`fn (%x: float32) { ... }` is a function";
constexpr std::string_view kLoop =
    "a loop is a function that calls itself: `let %loop = fn (%i: int32) -> int32 { ... };`";
constexpr std::string_view kTruth = "the booleans are `True` and `False`";
constexpr std::string_view kAnd = "`logical_and` is true if both of its arguments are";
constexpr std::string_view kOr = "`logical_or` is true if one of its arguments is";
constexpr std::string_view kPatternOfBool = "a bool is the condition of an `if`";

constexpr Row kRows[] = {
    {Place::kDefinition, "fn", kDefine},
    {Place::kDefinition, "fun", kDefine},
    {Place::kDefinition, "func", kDefine},
    {Place::kDefinition, "function", kDefine},
    {Place::kDefinition, "define", kDefine},
    {Place::kDefinition, "=", "a data type lists its constructors in braces: `type T { A(int32), B }`"},
    {Place::kParameters, "<", "type parameters stand in brackets: `def @f[A](%x: A) -> A { %x }`"},
    {Place::kBody, ":", "the type of the result stands behind `->`"},
    {Place::kBody, "=", "a body stands in braces"},
    {Place::kBody, "=>", "a body stands in braces, the type of the result behind `->`"},
    {Place::kLet, "(", "`match` takes a tuple apart; `let %a = %t.0;` names its first field"},
    {Place::kBinding, "(", "a function is a value: `let %f = fn (%x: float32) { ... };`"},
    {Place::kOperand, "!", "`logical_not` negates a bool"},
    {Place::kOperand, "not", "`logical_not` negates a bool"},
    {Place::kOperand, "*", "`power` raises to a power; `ref_read` reads a cell"},
    {Place::kOperand, "[", "a tensor is written `tensor([1, 2], float32)`"},
    {Place::kOperand, "def", "inside a function it is a value: `let %f = fn (%x: float32) { ... };`"},
    {Place::kOperand, "false", kTruth},
    {Place::kOperand, "true", kTruth},
    {Place::kOperand, "for", kLoop},
    {Place::kOperand, "while", kLoop},
    {Place::kOperand, "fun", kClosure},
    {Place::kOperand, "func", kClosure},
    {Place::kOperand, "function", kClosure},
    {Place::kOperand, "lambda", kClosure},
    {Place::kOperand, "return", "the last expression of a body is its value: leave `return` out"},
    {Place::kAfterOperand, "[",
     "`%x.0` is the first field of a tuple; `take` and `strided_slice` give parts of a tensor"},
    {Place::kAfterOperand, "%",
     "`mod` gives the remainder of a division, `floor_mod` that of one that rounds down"},
    {Place::kAfterOperand, "&&", kAnd},
    {Place::kAfterOperand, "and", kAnd},
    {Place::kAfterOperand, "||", kOr},
    {Place::kAfterOperand, "or", kOr},
    {Place::kAfterOperand, "?", "`if (%c) { 1 } else { 2 }` chooses, and is an expression"},
    {Place::kAfterOperand, "in", "what a `let` is for stands behind its `;`"},
    {Place::kAfterScalar, "[", "all indices of an element stand in one pair of brackets: `x[i, j]`"},
    {Place::kAfterScalar, "and", "`a && b` is true if both of its operands are"},
    {Place::kAfterScalar, "or", "`a || b` is true if one of its operands is"},
    {Place::kAfterScalar, "?", "`select(c, a, b)` chooses"},
    {Place::kPattern, "True", kPatternOfBool},
    {Place::kPattern, "False", kPatternOfBool},
    {Place::kPattern, "|", "arms are separated by commas"},
    {Place::kType, "tensor", "the type of a tensor begins with a capital: `Tensor[(3), float32]`"},
};

}  // namespace

std::string_view habit(Place place, const Token& found) {
  if (place == Place::kPattern && found.kind == TokenKind::kNumber)
    return "numbers are compared: `if (%x == 3) { ... } else { ... }`";
  if (place == Place::kParameters && found.kind == TokenKind::kGlobal) return kDefine;
  if (found.quoted || (found.kind != TokenKind::kName && found.kind != TokenKind::kPunctuation)) return {};
  for (const Row& row : kRows) {
    if (row.place == place && row.token == found.text) return row.note;
  }
  return {};
}

}  // namespace relay::text
