// Writing a file so that it appears whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"

namespace relay::data {

// Writes beside the destination and renames. On any failure (a full or read-only disk) nothing is left behind, and a
// file that was there before is as it was.
Result<bool> write_file(const std::string& path, std::string_view bytes, Diagnostics& diagnostics);

}  // namespace relay::data
