// NumPy's archive of arrays (.npz): a zip of .npy files, in the order of the archive.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"

namespace relay::frontend::data {

Result<NamedTensors> parse_npz(std::string_view bytes, std::string_view source, const Limits& limits,
                               Diagnostics& diagnostics);

// Stored without compression and without a date, so that equal tensors give equal bytes. Names
// must be distinct.
Result<std::string> npz_bytes(const NamedTensors& tensors, Diagnostics& diagnostics);

}  // namespace relay::frontend::data
