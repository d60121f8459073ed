// What a file is, before the system loads it as a shared library: loading runs its code.
#pragma once

#include <string>
#include <string_view>

namespace relay::tools {

// Returns why the file is no shared library for this machine that exports the function, or an empty
// text. The message begins with the path. Reads the file's headers and its exported names only.
std::string wrong_library(const std::string& path, std::string_view function);

}  // namespace relay::tools
