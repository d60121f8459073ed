// Products by the vector instructions of x86-64, for inputs and weights of 8 bits.
#pragma once

#include "vta/sim/products.h"

namespace relay::vta {

#if defined(__x86_64__)
// AVX2: pairs of 16-bit numbers. Inputs and weights are widened when they are loaded.
extern const Products kAvx2Products;
// AVX-512 VNNI: fours of 8-bit numbers, the left ones without sign. So inputs are kept plus 128,
// and each weight tile has its sums, times 128, beside it.
extern const Products kVnniProducts;
#endif

}  // namespace relay::vta
