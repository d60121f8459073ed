// What the parser keeps of expressions (ir/text/parser_expr.cc) and types (ir/text/parser_type.cc)
// that it has begun to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/expr.h"

namespace relay::text {

enum class Step : uint8_t {
  kSequence,
  kLet,
  kMatchShape,
  kGraph,
  kBinary,
  kArgs,
  kParen,
  kBlock,
  kFn,
  kCondition,
  kThen,
  kElse,
  kScrutinee,
  kArm,
  kRef,
};

struct Frame {
  Step step;
  bool bare = false;         // kElse: an `if` without braces follows; kLet: the variable is in scope already
  uint8_t precedence = 0;    // kBinary
  uint32_t begin = 0;        // where its text begins
  uint32_t operands = 0;     // operands_ from here on are its own
  uint32_t items = 0;        // kSequence: items_ from here on are its own
  size_t scope = 0;          // kSequence: undo mark
  Expr first = nullptr;      // callee, left operand, condition
  Expr second = nullptr;     // then-branch
  const Var* var = nullptr;  // kLet, kMatchShape
  std::string_view name = {};  // operator, kind of reference, number of a graph binding
};
struct Item {  // let var = value; or match_shape var = value; (a plain item has no variable)
  const Var* var;
  Expr value;
  uint32_t begin;
  bool matches_shape = false;
};
struct MatchState {
  bool total = true;
  Expr value = nullptr;
  Pattern pattern = nullptr;
  std::vector<Arm> arms;
  size_t scope = 0;
  uint32_t begin = 0;
};

// A type whose parts are on the stack of finished types from `parts` on.
struct OpenType {
  enum Kind : uint8_t { kTuple, kFnArgs, kFnResult, kRef, kData } kind;
  size_t parts;
  std::vector<const TypeVar*> type_params = {};  // of a function type
  std::vector<Type> where = {};                  // likewise
  size_t types = 0;                              // undo mark
  Symbol name = {};                              // of a data type
};
struct OpenTypes {
  std::vector<OpenType> open;
  std::vector<Type> parts;
};

}  // namespace relay::text
