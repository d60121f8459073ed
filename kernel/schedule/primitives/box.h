// Boxes: what accesses of a buffer touch while the loops around them run, dim by dim.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

using Box = std::vector<Range>;

// The values that an index takes while the loops run, if it rises with each of them
// and loads nothing.
std::optional<Range> range_of(Expr index, const std::vector<const For*>& loops);
// The smallest range that holds both, if they lie at a constant distance.
std::optional<Range> join(const Range& a, const Range& b);

// What the block reads, or writes, of the buffer while the loops within `scope` around it run;
// nothing, and the reason, if it does not, or if that is no box.
std::optional<Box> box_read(Stmt scope, const Block* block, const Buffer* buffer, std::string& reason);
std::optional<Box> box_written(Stmt scope, const Block* block, const Buffer* buffer, std::string& reason);

}  // namespace relay::kernel::schedule::primitives
