// Lists in texts of options: `fuse{max-ops=3,attention=0},lower`.
#pragma once

#include <string_view>
#include <vector>

namespace relay {

// The parts between commas that stand outside of braces, as they are: some may be empty.
std::vector<std::string_view> split_outside_braces(std::string_view text);

}  // namespace relay
