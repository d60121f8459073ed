// Parts of a program for code generators of others: calls that patterns describe become functions
// of the module, which say who makes their code.
//
//   nn.relu(nn.conv2d(%x, %w))   becomes   @dnnl_0(%x, %w), where
//
//   def @dnnl_0(%x, %w, Compiler="dnnl") {
//     fn (%x, %w, Composite="dnnl.conv2d_relu", ..) { nn.relu(nn.conv2d(%x, %w)) }(%x, %w)
//   }
//
// What matched a pattern is a *composite*. A function holds one, or several of which each but the
// last is used by the others alone: so it has one result, and no two functions wait for each other.
// The functions mean what they did, so that an engine may run their bodies
// (docs/devices.md has the whole story).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "passes/pass.h"
#include "pattern/match.h"

namespace relay::passes {

struct ExternalPattern {
  std::string_view name;  // of composites, in the attribute `Composite`
  std::string_view text;  // docs/patterns.md
};

// What a code generator is given.
struct ExternalPatterns {
  std::string_view compiler;                  // the generator's name, in the attribute `Compiler`
  std::span<const ExternalPattern> patterns;  // larger ones first: they are tried in this order
  // Of a match: does the generator take it? For what a pattern cannot say.
  bool (*takes)(Context& context, const pattern::Match& m);
};

// The module in which all that the patterns describe is in such functions. Equal functions are one.
// With `merges`, composites that feed each other share a function. Functions that have a code
// generator already stay as they are.
Module with_external_regions(const Module& m, const ExternalPatterns& table, bool merges);

}  // namespace relay::passes
