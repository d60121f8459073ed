// Exhaustiveness and redundancy of `match`.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace relay::typecheck {

struct Coverage {
  std::vector<std::string> missing;  // patterns of values that no arm fits, the first few
  std::vector<size_t> unreachable;   // arms that no value reaches
  bool too_complex = false;          // given up: nothing is known
};

// The patterns must be well typed. Time is bounded: what would take too long is given up.
Coverage coverage(const Module& m, const Match& match);

}  // namespace relay::typecheck
