// Do the rounds of loops have places of their own?
#pragma once

#include <vector>

#include "kernel/bounds.h"

namespace relay::kernel {

// Is the place, an index for each dim, another one in each round of the loops together? So it is
// if it tells the variables of all loops: `4 * i + j`, where j is in [0, 4), tells both; `i // 4`
// and `i % 4` tell i. False if that is not known, as where data are a part of the place.
// `bounds`: what is known of the variables. Loops of one round need not be told.
bool are_distinct(const std::vector<Expr>& place, const std::vector<Expr>& loops, const Bounds& bounds);

}  // namespace relay::kernel
