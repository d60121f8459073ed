// What the inputs and outputs of a function are called: by the format that its model came from, in
// the attributes `input_names` and `output_names`; else inputs like their parameters, an only
// output `output`, several `output_0`, `output_1`, ...
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"

namespace relay::analysis {

// One for each parameter.
std::vector<std::string> input_names(const Fn& fn);
// One for each of so many tensors of the result, in order.
std::vector<std::string> output_names(const Fn& fn, size_t count);

// What an output is called that has no name.
std::string output_name(size_t i, size_t count);

}  // namespace relay::analysis
