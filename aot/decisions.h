// Decisions: which arm of a match a value takes, as a tree of tests that looks at each constructor
// at most once on a way.
//
// L. Maranget, "Compiling Pattern Matching to Good Decision Trees", 2008; the constructor that
// decides next is the first one that the first arm which may still fit asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace relay::aot {

struct Decision {
  // At a leaf, the arm; nothing if none fits.
  std::optional<size_t> arm = {};
  // Elsewhere, the way to the part of the value whose constructor decides: fields, from
  // the whole inwards.
  std::vector<uint32_t> path = {};
  std::vector<std::pair<uint32_t, Decision>> cases = {};  // by the constructor's tag, in order
  std::unique_ptr<Decision> otherwise = {};               // what the others lead to; null if there are none
  bool is_leaf() const { return cases.empty(); }
};

// A value is asked so often at most, so that the blocks in which code asks are not too deep for C++
// compilers (limits.h).
inline constexpr uint32_t kMostQuestions = 64;

// Nothing if the tree would be deeper than that, or more than a few times as large as the arms:
// there are patterns for which it grows exponentially.
std::optional<Decision> decide(const Match& match, const Module& module);

}  // namespace relay::aot
