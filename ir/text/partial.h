// What could be read of a text with mistakes, so that mistakes of types in the rest can be reported
// beside them (typecheck/read.h).
#pragma once

#include <optional>
#include <string>

#include "ir/text/parser.h"

namespace relay {

struct Partial {
  Module module;      // without the functions and kernels that could not be read
  const Var* unread;  // stands where an expression could not be read, and is bound nowhere
};

// As `parse`. If only functions and kernels have mistakes, `partial` is set to what could be read.
// Data types, imports and names of types with mistakes leave it empty: too much would follow from
// them.
Result<Module> parse_partial(std::string name, std::string text, Diagnostics& diagnostics,
                             const Operators& operators, const ParseOptions& options,
                             std::optional<Partial>& partial);

}  // namespace relay
