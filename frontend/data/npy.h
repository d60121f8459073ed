// NumPy's format for one array (.npy), versions 1 to 3.
//
// Arrays of booleans, integers and floats, in either byte order and either memory order. Refused
// with a diagnostic: pickled objects, text, complex numbers, records, and anything whose size is
// not exactly right.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "runtime/tensor.h"

namespace relay::frontend::data {

// `source` names the file in messages: "x.npy", "inputs.npz: x.npy".
Result<Tensor> parse_npy(std::string_view bytes, std::string_view source, Diagnostics& diagnostics);

// NumPy has no bfloat16, float8 and 4-bit integers: they are written as float32 and 8-bit
// integers, exactly.
std::string npy_bytes(const Tensor& tensor);

}  // namespace relay::frontend::data
