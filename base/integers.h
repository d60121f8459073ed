// Arithmetic of whole numbers.
#pragma once

#include <cstdint>

namespace relay {

// a / b rounded up, for a >= 0 and b > 0 with a + b in range.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace relay
