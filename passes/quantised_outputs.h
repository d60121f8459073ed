// Which outputs of a program depend on numbers that were rounded to few steps.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "op/op_def.h"

namespace relay::passes {

// Does the operator round real numbers to few steps?
bool quantises(const op::OpDef& def);

// For each of the `count` tensors of the result of a checked function: is something that it may
// depend on quantised? All of them are taken to depend on all, if the result is not made of tensors
// and tuples, or if the program has references.
std::vector<bool> quantised_outputs(const Module& m, std::string_view function, size_t count);

}  // namespace relay::passes
