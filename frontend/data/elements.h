// From bytes of a file to elements of a tensor: the checks that all readers share.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/tensor.h"

namespace relay::frontend::data {

// Is `bytes` exactly the size of a tensor of this shape and dtype? What is wrong, or an empty text.
// Nothing is computed that could overflow, and nothing may be allocated before this has answered.
std::string check_size(const Shape& shape, DType dtype, uint64_t bytes);

// Do 4 bits hold each of the elements, which take a byte each?
bool fits_four_bits(DType dtype, std::string_view bytes);

// A tensor with its own copy of the elements; little-endian unless `swapped`. The size must
// have been checked. A byte of a bool is made 0 or 1. Fails (without a report) only if
// there is no memory.
Result<Tensor> copy_elements(DType dtype, const Shape& shape, std::string_view bytes, bool swapped = false);

}  // namespace relay::frontend::data
