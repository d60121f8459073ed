// The module of Python beside a library: `--emit python`.
#pragma once

#include <string>
#include <string_view>

namespace relay::aot {

// Can Python import a module of this name?
bool is_module_name(std::string_view name);

// The text of NAME.py, which loads NAME.so beside it and takes and gives NumPy arrays. is_module_name holds.
std::string python_module(std::string_view name);

}  // namespace relay::aot
