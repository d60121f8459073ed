// In which order the tiles of a stage are computed, so that caches keep what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "target/target.h"

namespace relay::kernel::schedule::cpu {

// What tiles read.
struct TileOperand {
  std::vector<bool> along;  // each axis of the tiles: does it vary there?
  double bytes = 0;         // of all of it
};

// Loops over tiles are nested in the order of their axes, but for those of one axis, like the rows
// of an image: `together` of its tiles are computed for all tiles of the axes from `before` on, and
// then the next ones.
struct TileOrder {
  std::ptrdiff_t before = 0;
  int64_t together = 0;  // 0: the order of the axes, with no exception
};

// The order that fetches least from beyond the second level of cache. `tiles` has their number
// along each axis, `split` is the axis that may be an exception. Where it is not the last one,
// `together` divides its tiles.
TileOrder tile_order(const target::Cpu& cpu, std::span<const int64_t> tiles,
                     std::span<const TileOperand> operands, size_t split);

}  // namespace relay::kernel::schedule::cpu
