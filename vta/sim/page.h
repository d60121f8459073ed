// The generated part of docs/vta.md about the cycle model.
#pragma once

#include <string>

namespace relay::vta {

// Markdown: the numbers of Timing.
std::string timing_table();

}  // namespace relay::vta
