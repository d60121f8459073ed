// How a layer becomes a stream: tiles, their order, and where they lie in the scratchpads.
//
// The choice is analytic, and depends on nothing but layer, parameters and timing. All tiles whose
// extents are ceil(n / k) are weighed. For each of them, the model counts what is loaded, computed
// and stored, as docs/vta.md says. The least modelled time wins; among tiles within one percent of
// it, the fewest bytes.
#pragma once

#include <optional>
#include <string>

#include "vta/compile/tile.h"
#include "vta/sim/cycles.h"

namespace relay::vta {

// A cache of tiles in a scratchpad: `count` slots of `size` elements.
struct Slots {
  int64_t size = 0, count = 0;
  int64_t loads = 0;  // tiles that the model expects to be loaded

  int64_t total() const { return size * count; }
};

// Modelled: cycles of each engine alone, bytes of DRAM.
struct Estimate {
  int64_t load = 0, compute = 0, store = 0;
  int64_t after_products = 0;  // the part of `compute` that steps of the layer take
  int64_t total = 0;
  int64_t bytes = 0;
};

struct Schedule {
  Tile tile;
  // The outer loops go over output blocks, and the inner ones over images; else the reverse.
  // Bundles are outside of both, and input blocks inside.
  bool blocks_outside = true;
  // Virtual threads: with 2, the loads of a tile run while the tile before it computes, and its
  // STORE while the next one does.
  int threads = 1;
  // The steps of the last tile run part by part, so that ALU works on one while another is stored.
  int64_t last_parts = 1;

  Slots inputs, weights;  // in `inp` and `wgt`
  Slots sums, channels;   // in `acc`: accumulators of tiles, constants for channels
  int64_t operands = 0;   // in `acc`: elements for tensors that ALU reads
  Estimate estimate;
};

struct ScheduleOptions {
  Timing timing = {};
  std::optional<int> threads = {};  // 1 or 2; else the better one
};

// Of a layer that check_layer accepts. Reports "vta-layer" if no tile fits into the scratchpads.
Result<Schedule> choose_schedule(const Layer& layer, const Params& params, const ScheduleOptions& options,
                                 Diagnostics& d);

// "tile bundles=1 batches=1 outs=4 ins=2 rows=4 columns=56; blocks outside; threads=2".
std::string text_of(const Schedule& schedule);

}  // namespace relay::vta
