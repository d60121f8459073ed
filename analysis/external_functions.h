// Functions for code generators of others (docs/devices.md): what their attributes are called.
#pragma once

#include <string_view>

namespace relay::analysis {

inline constexpr std::string_view kCompiler = "Compiler";    // whose code the function is
inline constexpr std::string_view kComposite = "Composite";  // which pattern a part of it matched

}  // namespace relay::analysis
