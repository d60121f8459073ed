// Where the tiles of a schedule lie, and how often they are loaded.
#pragma once

#include "vta/compile/schedule.h"

namespace relay::vta {

// Sets the slots of a schedule whose tile, order and threads are set. Empty if it fits; else says
// which scratchpad is too small. A slot of constants has those of a tile, or those of all channels
// if there is room: then each step needs one LOAD.
std::string assign_slots(const Layer& layer, const BlockedLayer& blocked, const Params& params,
                         Schedule& schedule);

// Tiles of each dim, in the first section.
struct TileCounts {
  int64_t bundles, batches, outs, ins, rows, columns;

  int64_t images() const { return batches * rows * columns; }
  int64_t tiles() const { return bundles * images() * outs; }
};
TileCounts count_tiles(const BlockedLayer& blocked, const Tile& tile);

// Scratchpad elements that instructions and micro-ops reach: bases have 16 bits, and inputs share a
// field with accumulators.
int64_t reachable(const Params& params, Memory memory);

}  // namespace relay::vta
