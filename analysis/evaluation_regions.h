// Evaluation regions: scopes that are evaluated together. The body of a let is evaluated whenever
// the let is, so it is of the same region; a branch, an arm and the body of a function are regions
// of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/analysis.h"

namespace relay::analysis {

// Of each scope its region, which is named by its outermost scope. `order` is the post-order of the
// root of the scopes.
std::vector<uint32_t> evaluation_regions(const Scopes& scopes, const std::vector<Expr>& order);

}  // namespace relay::analysis
