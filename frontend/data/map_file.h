// A file's contents without a copy of them: a file of the wrong form is refused by its first bytes,
// however large it is.
#pragma once

#include <string>

#include "frontend/data/input_file.h"

namespace relay::frontend::data {

// InputFile::open().map(). No zero byte follows the contents.
Result<InputFile::Mapping> map_file(const std::string& path, uint64_t limit, Diagnostics& diagnostics);

}  // namespace relay::frontend::data
