// What sparse_to_dense and dyn.sparse_to_dense share. Their first arguments are the indices, the
// values and the default.
#pragma once

#include "op/define.h"

namespace relay::op {

// Requires of these arguments what C1 to C3 in to_dense.cc say, for a result of this rank.
void require_elements(Relation& r, size_t rank);
// `all`, a tensor of the default, with the values at their indices.
Expr with_elements(Builder& b, Expr all, const Site& c);

}  // namespace relay::op
