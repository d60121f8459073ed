// Operators: what the text format must know of operators. The package `ir` does not know them, so
// that the caller passes this (op::operators() is the one for all operators).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

namespace op {
struct OpDef;
}

struct Operators {
  std::function<const op::OpDef*(std::string_view name)> find;  // null if there is none
  std::function<std::string_view(const op::OpDef& op)> name;
  std::function<std::vector<std::string>()> names;  // of all, for "did you mean"
};

}  // namespace relay
