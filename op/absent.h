// Operators of the established system that are not here, and why: what calls another
// implementation's machinery means nothing without it.
#pragma once

#include <span>
#include <string_view>

namespace relay::op {

struct Absent {
  std::string_view name, reason;  // the reason ends the sentence "there is no such operator: ..."
};
std::span<const Absent> absent_operators();  // sorted by name
// Empty if the name is none of theirs.
std::string_view why_absent(std::string_view name);

}  // namespace relay::op
