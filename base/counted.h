// Counts for people: a number with its noun.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "base/cat.h"

namespace relay {

// "1 value", "2 values". `thing` is a noun that takes an `s`.
std::string counted(std::integral auto n, std::string_view thing) {
  return cat(n, " ", thing, n == 1 ? "" : "s");
}

}  // namespace relay
