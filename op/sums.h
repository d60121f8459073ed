// Sums: the arithmetic in which `evaluate` adds up floating-point terms.
//
// The definition of an operator adds in double and rounds the result once. Bounds of whole networks
// need the error that an honest float32 kernel has (docs/semantics.md, "How far an engine may be
// away"). So the same rules can also add in float32, one term after the other.
#pragma once

#include <cstdint>

#include "runtime/dtype.h"

namespace relay::op {

enum class Sums : uint8_t {
  kDouble,  // the definition
  kSingle,  // every term is added in float32; terms of float64 in double
};

// Calls `f` with a zero of the type that sums of `dtype` have:
// `with_zero(s, d, [&](auto zero) { ... })`.
template <class F>
auto with_zero(Sums sums, DType dtype, const F& f) {
  return sums == Sums::kSingle && dtype.bits <= 32 ? f(0.0f) : f(0.0);
}

}  // namespace relay::op
