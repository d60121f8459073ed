// Where the NaN and infinities in what a program gives come from.
#pragma once

#include <string>
#include <vector>

#include "runtime/value.h"
#include "tools/model.h"

namespace relay::tools {

// Runs the model, each operator compiled by itself, up to the first call that gives a NaN, or where
// there is none an infinity: which call that is, its place and its line. An input that holds one is
// named instead. Empty if nothing holds one. Throws what the machine throws.
std::string origin_of_nonfinite(const driver::Model& model, const std::vector<Value>& args,
                                Denormals denormals);

}  // namespace relay::tools
