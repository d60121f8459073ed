// The operators, as the text format asks for them.
#pragma once

#include <string>

#include "ir/text/operators.h"
#include "ir/text/printer.h"

namespace relay::op {

Operators operators();

// The module's text with the operators' names. Large constants are left out of it unless
// `options` says where to.
std::string text_of(const Module& m, PrintOptions options = {.elide = true});

}  // namespace relay::op
