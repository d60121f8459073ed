// Patterns as texts (docs/patterns.md has the grammar).
//
//   %0 = nn.conv2d(%x, %w, groups=1);
//   nn.relu(%0) | clip(%0)
//
// `%x` is a wildcard with a name, `%0 = ...;` a part that may occur more than once.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/text/parser.h"
#include "pattern/pattern.h"

namespace relay::pattern {

// Types, globals and constructors are those of `options.into`, whose context the pattern keeps
// alive and whose sources hold the text. Brackets may be nested 200 deep, paths of dominators
// in each other 64.
Result<Pattern> parse(std::string name, std::string text, Diagnostics& diagnostics,
                      const ParseOptions& options = {});

// One line for each part that occurs more than once, or that would be nested too deeply, and one
// for the whole. Reading it gives a pattern that matches the same, and whose text is the same.
std::string print(const Pattern& p);

}  // namespace relay::pattern
