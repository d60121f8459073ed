// Tensors as small integers whose scale is a power of two: x = q / 2^exponent.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/tensor.h"

namespace relay::passes {

// Returns the exponent with which integers of so many bits, sign included, reach the largest
// absolute value of the tensor: 2^(bits - 1 - exponent) is the smallest power of two that is not
// below it. Returns 0 if all elements are 0, and nullopt if one is not finite.
std::optional<int> exponent_for(const Tensor& t, int bits);

// round(x * 2^exponent), halves to even, moved into [low, high]; of finite elements.
Tensor to_integers(const Tensor& t, int exponent, DType dtype, int64_t low, int64_t high);

// The largest of |round(x * 2^exponent)|; nullopt if it is above `most` or an
// element is not finite.
std::optional<int64_t> largest_integer(const Tensor& t, int exponent, int64_t most);

}  // namespace relay::passes
