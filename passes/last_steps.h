// The steps of an output's last quantised values: how far apart two neighbours are.
#pragma once

#include <string_view>
#include <vector>

#include "ir/module.h"

namespace relay::passes {

// For each of the `count` outputs of the function: the largest scale of the dequantised values
// that it consists of. 0 where it is not made of these by exact operators alone, or where a
// scale is no constant.
std::vector<double> last_steps(const Module& m, std::string_view function, size_t count);

}  // namespace relay::passes
