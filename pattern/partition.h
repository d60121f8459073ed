// partition: regions that match a pattern become functions, for whoever knows how to run them.
//
//   relu(conv2d(x, w))  becomes  fn(%x, %w, Composite="conv_relu") { relu(conv2d(%x, %w)) }(x, w)
//
// Inlining the functions gives back a program that is alpha-equal to the first.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "pattern/match.h"

namespace relay::pattern {

// A function that was made by partitioning has this attribute: the operators of its region, in
// evaluation order, each followed by `_`. Bodies of such functions are not partitioned again.
inline constexpr std::string_view kPartitionedFromPattern = "PartitionedFromPattern";

struct PartitionOptions {
  std::vector<AttrArg> attrs = {};                 // of the functions: {{"Composite", std::string("name")}}
  std::function<bool(const Match& m)> check = {};  // may refuse a match, for what a pattern cannot say
  // Further attributes of the function of a match, asked for when the match is taken.
  std::function<std::vector<AttrArg>(const Match& m)> own_attrs = {};
  MatchOptions match = {};
};

// Matches are taken in reverse evaluation order, so that the outermost of two that overlap wins. A
// match is left alone if making a function of its region would change what is evaluated, when, or
// how often (docs/patterns.md, P1 to P5): then the region has one result, so that functions never
// wait for each other. Inputs that are evaluated, and variables, become parameters in the order in
// which the region first wants them; so do constants, unless the pattern describes them.
//
// Takes the time of matching everywhere (match.h) and O(edges log depth).
Expr partition(Context& context, const Pattern& pattern, Expr root, const PartitionOptions& options = {});
// All functions of the module, but for those made by partitioning.
Module partition(const Module& m, const Pattern& pattern, const PartitionOptions& options = {});

}  // namespace relay::pattern
