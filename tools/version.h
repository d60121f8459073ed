// The version of Relay. CHANGELOG.md says what changed in each, and what the versions of the
// formats promise.
#pragma once

#include <string_view>

namespace relay::tools {

inline constexpr std::string_view kVersion = "0.1.0";
// Of the text format, which `#[version = ...]` names: the established one.
inline constexpr std::string_view kTextVersion = "0.0.5";
// Of what commands print with --json: fields are added, and none changes its meaning or goes
// without a new number.
inline constexpr int kJsonVersion = 1;

}  // namespace relay::tools
