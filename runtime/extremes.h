// The ends of a floating-point dtype's range: where a minimum or a maximum begins.
#pragma once

#include <limits>

#include "runtime/dtype.h"

namespace relay {

// Infinity, but of float8_e4m3, which has none, its largest number.
inline double greatest_real(DType d) {
  return d == kFloat8E4M3 ? 448 : std::numeric_limits<double>::infinity();
}
inline double least_real(DType d) { return -greatest_real(d); }

}  // namespace relay
