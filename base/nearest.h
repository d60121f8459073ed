// Which name a misspelt one may mean.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace relay {

// Names that are longer are near to nothing: comparing two takes time that grows with the product
// of their lengths.
inline constexpr size_t kLongestNearName = 64;

// The number of characters to insert, delete or replace, or to swap with their neighbour, that make
// `b` of `a`. Both are at most kLongestNearName long.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that looks most like `name`, or "" if none does. Of many candidates the last
// 2,000 are looked at.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

// "did you mean `PREFIXcandidate`?", or "" if no candidate is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates,
                         std::string_view prefix = "");

// Adds that question as a note, if a candidate is near.
void suggest(Diagnostic& d, std::string_view name, std::span<const std::string> candidates,
             std::string_view prefix = "");

// What `show` says of each item: candidates.
template <class Items, class Show>
std::vector<std::string> names_of(const Items& items, Show&& show) {
  std::vector<std::string> out;
  for (const auto& item : items) out.emplace_back(show(item));
  return out;
}

// "did you mean `a`? There are: a, b, c", or "there are: a, b, c" if none is near, or
// "there are: none".
std::string choices(std::string_view name, std::span<const std::string> candidates);

// "there is no WHAT `NAME`; did you mean `a`? There are: a, b, c": what the user wrote is none
// of the candidates.
std::string no_such(std::string_view what, std::string_view name, std::span<const std::string> candidates);

}  // namespace relay
