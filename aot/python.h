// The module of Python beside a library: `--emit python`.
#pragma once

#include <string>
#include <string_view>

namespace relay::aot {

// Can Python import a module of this name?
bool is_module_name(std::string_view name);
// Does the text of python_module import a module of this name?
bool is_used_by_module(std::string_view name);

// The file of a module's library, `libNAME.so`. Python would import `NAME.so` in the
// place of `NAME.py`.
std::string library_of_module(std::string_view name);
// The module of a library: the reverse, without the `.so`.
std::string module_of_library(std::string_view library);

// The text of NAME.py, which loads libNAME.so beside it and takes and gives NumPy arrays.
// is_module_name holds.
std::string python_module(std::string_view name);

}  // namespace relay::aot
