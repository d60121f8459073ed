// An expression whose free variables the reader knows, so that its text need not declare them.
#pragma once

#include <span>
#include <string>

#include "ir/text/parser.h"

namespace relay {

// As parse_expr. The text may declare further variables by `free_var`.
Result<Expr> parse_open_expr(std::string name, std::string text, std::span<const std::string> free_variables,
                             Diagnostics& diagnostics, const Operators& operators,
                             const ParseOptions& options);

}  // namespace relay
