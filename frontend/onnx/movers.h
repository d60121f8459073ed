// Operators that only move elements, so that it does not matter what these are.
#pragma once

#include <cstdint>
#include <string_view>

namespace relay::frontend {

// An operator, the inputs whose elements it moves, and the results that have them: sets of bits.
struct Mover {
  std::string_view name;
  uint32_t inputs = 1, results = 1;

  bool moves(size_t input) const { return input >= 32 || (inputs >> input & 1) != 0; }
  bool fills(size_t result) const { return result >= 32 || (results >> result & 1) != 0; }
};

// Null if the operator of this full name (node.h) computes.
const Mover* find_mover(std::string_view name);

}  // namespace relay::frontend
