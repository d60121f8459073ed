// Replacement: what becomes of a match, as a text (docs/patterns.md, "Rewriting").
//
//   nn.relu(%x)      for the pattern    nn.relu(nn.relu(%x))
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "pattern/match.h"

namespace relay::pattern {

class Replacement {
 public:
  // An expression whose free variables are parts that the pattern names. Its globals and types are
  // those of the module, whose context owns it, and has the text as a source.
  static Result<Replacement> parse(std::string name, const std::string& source, const Pattern& pattern,
                                   const Module& into, Diagnostics& diagnostics);

  // A copy with what the parts matched, without types. Null if it mentions a part that is in an
  // alternative that was not taken.
  Expr make(const Match& m) const;

 private:
  Replacement(Module into, Expr e, std::vector<const Var*> parts)
      : into_(std::move(into)), e_(e), parts_(std::move(parts)) {}

  Module into_;
  Expr e_;
  std::vector<const Var*> parts_;  // that it mentions
};

// The names of the pattern's parts, each once, sorted. Those of paths of dominators are not among
// them if `with_paths` is false: such a part may match several expressions.
std::vector<std::string> names_of(const Pattern& p, bool with_paths = true);

}  // namespace relay::pattern
