// Reading a text so that one run tells all that is wrong with it.
#pragma once

#include <string>

#include "ir/text/parser.h"

namespace relay::typecheck {

// As relay::parse. If functions or kernels of the text have mistakes, mistakes of types in what
// could be read are reported too; what could not be read agrees with everything. Types are not
// checked if the text has no mistakes: `check` does that.
Result<Module> read(std::string name, std::string text, Diagnostics& diagnostics, const Operators& operators,
                    const ParseOptions& options = {});

}  // namespace relay::typecheck
