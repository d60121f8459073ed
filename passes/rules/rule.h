// Rule: an algebraic law as a value, read from a `.rules` text (docs/rules.md has the form).
//
//   rule add-of-zero exact: add(%x, const as %c) => %x when integer(%x), all(%c, 0)
//     yes int: (%x: Tensor[(n, 4), T]) { add(%x, 0T) }
//     no all int: (%x: Tensor[(n, 4), T]) { add(%x, 1T) }
//
// The left side is a pattern (docs/patterns.md). The right side is an expression over the parts
// that the pattern names. What a rule says of its examples is checked by tests alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/attrs.h"
#include "op/op_def.h"
#include "pattern/local.h"

namespace relay::passes::rules {

// How far apart the two sides may be.
enum class Class : uint8_t {
  kProved,   // the same bits, whatever the dtype; a solver proves it for every dtype of the examples
  kExact,    // the same bits; proved for integers and booleans, tested for floating point
  kBounded,  // floating point may differ by `Rule::bound`; integers and booleans as for kExact
};

// What a condition or a function of a rule is told: a part of the match, a word or a number.
struct Operand {
  std::string part = {};  // the name of a part, without `%`; else empty
  std::string word = {};
  double number = 0;
};

// `name(operands)`, of a condition (conditions.h) or of a value (values.h).
struct Use {
  std::string name;
  std::vector<Operand> operands;
};

// An attribute of the right side.
struct NewAttribute {
  std::string name;
  std::variant<Use, decltype(AttrArg::value)> value;
};

// An expression of the right side.
struct Template {
  enum class Kind : uint8_t { kPart, kCall, kTuple, kField, kScalar };

  Template() {}  // not an aggregate: g++ 12 frees what brace lists of those hold twice

  Kind kind = Kind::kPart;
  std::string part = {};          // kPart; kScalar: the part that has its dtype
  const op::OpDef* op = nullptr;  // kCall
  std::vector<Template> children = {};
  std::vector<NewAttribute> attrs = {};
  std::string attrs_of = {};  // kCall: the part whose attributes it has, before its own
  uint32_t index = 0;         // kField
  double number = 0;          // kScalar
};

// A program to which the rule applies at its result, or, if `broken` is not empty, does not,
// because this condition is the only one that does not hold.
struct Example {
  std::string broken;
  std::string dtypes;   // "int", "float32|int8": what T stands for
  std::string program;  // "(%x: Tensor[(n), T]) { ... }"
};

struct Rule {
  std::string name;
  Class kind = Class::kProved;
  double bound = 0;  // kBounded: in units of the last place of the largest term
  pattern::LocalMatcher left;
  Template right;
  std::vector<Use> conditions;
  std::vector<Example> examples;
  const op::OpDef* root;  // that the left side calls; null: it is a field of a tuple
  std::string text;       // without its examples
};

// The rules of a text. What is wrong with it is reported.
Result<std::vector<Rule>> read_rules(std::string_view name, std::string_view text, Diagnostics& diagnostics);

// The rules of passes/rules/*.rules, in the order in which they are tried.
std::vector<Rule> all_rules();

}  // namespace relay::passes::rules
