// Tensors as compiled code takes them that flushes denormals (runtime/denormals.h).
//
// It flushes denormals of float32, bfloat16 and float64. Denormals of float16 and of eight bits are
// kept in any case: kernels compute in float32, where these are ordinary numbers.
#pragma once

#include "runtime/tensor.h"

namespace relay {

// The smallest normal number of a dtype whose denormals may be flushed; 0 for other dtypes.
double smallest_normal(DType dtype);

bool has_denormals(const Tensor& t);
// The tensor with zeros of their signs in the place of denormals; the same one if there are none.
Tensor flushed(const Tensor& t);

}  // namespace relay
