// Arithmetic of whole numbers.
#pragma once

#include <cstdint>

namespace relay {

// a / b rounded up, for a >= 0 and b > 0 with a + b in range.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// a / b rounded down, where b is not 0 and the quotient fits 64 bits.
constexpr int64_t quotient_down(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

}  // namespace relay
