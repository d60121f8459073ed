// The reference of all operators, for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "op/op_def.h"

namespace relay::op {

// What the comments of an operator's file say (bazel/op_rules.py). Lines end in '\n', but
// for the last one.
struct OpRule {
  std::string_view name;
  std::string_view formula;      // "nn.relu(x) = max(x, 0)"
  std::string_view signature;    // "(Tensor[s, d]) -> Tensor[s, d]"; may be empty
  std::string_view constraints;  // one a line: "C1: d is numeric."; may be empty
  std::string_view notes;        // one paragraph a line; may be empty
};
const OpRule& rule_of(const OpDef& op);

// What the table says of the operator as a plain text: what it computes, its signature, constraints
// and notes, then its arguments and attributes. Ends in a new line.
std::string description(const OpDef& op);

// docs/operators.md, by family: the folder that an operator's name begins with, and "core" for the
// others. `example_of` gives a checked example of the operator with a name, or nothing.
std::string markdown(const std::function<std::string_view(std::string_view)>& example_of);

}  // namespace relay::op
