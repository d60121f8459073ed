// What the rules of a target accept in one kernel. Each schedule publishes its own, and
// analysis/kernel_groups asks.
#pragma once

#include <cstdint>

namespace relay::kernel::schedule {

struct Accepts {
  // Elements of a row that goes through several reductions, if its length is known.
  int64_t longest_row;
  // Of attention: rows of scores, and scores in a row, if they are known. No rule: 0 scores.
  int64_t fewest_score_rows = 0, longest_score_row = 0;
};

}  // namespace relay::kernel::schedule
