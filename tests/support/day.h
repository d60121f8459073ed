// The number that tonight's random programs begin with.
#pragma once

#include <cstdint>

namespace relay::tests {

// So many numbers belong to a day: no suite draws more of them in a night.
inline constexpr uint64_t kNumbersOfDay = 100000;

// Returns the first number of the day: of $RELAY_DAY, days since the beginning of 1970, or of today
// by the clock. `./dev nightly` sets the variable, because Bazel keeps a test's result until
// something that it knows of changes. Throws std::runtime_error if the variable is no such number.
uint64_t first_of_day();

}  // namespace relay::tests
