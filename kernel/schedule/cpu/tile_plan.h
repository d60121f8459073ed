// The register tiles of a stage: which axes they have, and of which size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/schedule/anchored_stage.h"
#include "target/target.h"

namespace relay::kernel::schedule::cpu {

// One axis of the tiles: of the stage's axes one, or two that everything goes along as along one.
// The pixels of an image are one axis where no window looks beside them: they make whole tiles.
struct TileAxis {
  size_t first, last;
  Expr extent;
};

// Does the load have other places along it?
bool goes_along(const ExprNode* load, const Stage& s, const TileAxis& axis);

struct TilePlan {
  std::vector<TileAxis> axes = {};  // of all axes of the stage but the last one, which has the lanes
  int64_t vectors = 1;              // in the lanes
  int64_t width = 1;                // lanes of a vector
  std::vector<int64_t> tile = {};   // of each of the axes
};

// The tile that costs least: by operations, loads, what comes through the second-level cache and
// results in flight, remainders at the ends of the axes included. Nothing if the stage is no sum of
// products of float32 into whole vectors of `width` lanes.
std::optional<TilePlan> tile_plan(const AnchoredStage& anchored, const target::Cpu& cpu, int64_t width);

}  // namespace relay::kernel::schedule::cpu
