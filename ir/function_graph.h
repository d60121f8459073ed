// Which functions of a module mention which.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/module.h"

namespace relay {

struct FunctionGraph {
  std::vector<Symbol> names;  // in the module's order
  std::vector<std::vector<size_t>>
      mentions;  // for each function the places of those that it mentions, in order
};
FunctionGraph function_graph(const Module& m);

}  // namespace relay
