// Facts about extents that hold when the program is compiled, or are checked when it runs.
//
// `Relation::require` of an extent asks a constant. What only a run knows becomes a run-time check
// here, so that compiled code traps where the interpreter does.
#pragma once

#include <string>

#include "ir/dim.h"
#include "op/relation.h"

namespace relay::op {

// Fails with the reason if the extent is surely less.
void require_at_least(Relation& r, Dim d, Dim least, int arg, const std::string& reason);
// Fails with the reason if the extent is surely no multiple of the number, which is positive.
void require_multiple(Relation& r, Dim d, int64_t of, int arg, const std::string& reason);
// Fails with the reason if the extent is surely another.
void require_extent_is(Relation& r, Dim d, Dim wanted, int arg, const std::string& reason);

}  // namespace relay::op
