// The parameters of a graph (.params): the blob that TVM's graph executor loads.
//
// A list of names, then one record for each: dtype, shape, elements, little-endian and row after
// row, in the order of the names. Booleans are integers of one bit there, and 4-bit integers take a
// byte each, as here.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"

namespace relay::frontend::data {

// Everything that writers of the format make is read, and nothing else: sizes are exactly shape
// times dtype, reserved words are zero, elements lie on the CPU, names are distinct.
Result<NamedTensors> parse_params(std::string_view bytes, std::string_view source, const Limits& limits,
                                  Diagnostics& diagnostics);

// In the given order. Names must be distinct. No 8-bit floats: writers of the format disagree
// about their number.
Result<std::string> params_bytes(const NamedTensors& tensors, Diagnostics& diagnostics);

}  // namespace relay::frontend::data
