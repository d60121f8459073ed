// Outputs that would replace what they are made from.
#pragma once

#include <span>
#include <string>

#include "tools/session.h"

namespace relay::tools {

// Is none of the files that will be written one of those that were read, the same file by whatever
// path? Otherwise reports "output-is-input" for each. To be asked before anything is written, and
// before what takes long.
bool spares_inputs(std::span<const std::string> written, std::span<const std::string> read, Session& session);

}  // namespace relay::tools
