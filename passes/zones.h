// Zones: scopes that are evaluated together. The body of a let is evaluated whenever the let is, so
// it is of the same zone; a branch, an arm and the body of a function are zones of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/analysis.h"

namespace relay::passes {

// Of each scope the zone, which is named by its outermost scope. `order` is the post-order of the
// root of the scopes.
std::vector<uint32_t> zones(const Scopes& scopes, const std::vector<Expr>& order);

}  // namespace relay::passes
