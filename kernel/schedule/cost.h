// Sizes of tiles that follow from the processor. No search and no measurement.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace relay::kernel::schedule {

// A product of matrices is computed in tiles of `rows` rows and `panels` panels, two vectors of
// columns each. Its sums stay in registers while the whole reduction runs.
struct ProductTile {
  int64_t rows = 1, panels = 1;
};

// The vectors of a panel: two, so that an element of the other operand, once
// broadcast, is used twice.
inline constexpr int64_t kPanelVectors = 2;

// The most rows of a tile. What the sums leave of the registers holds a row of the panel and an
// element to multiply it by.
int64_t most_tile_rows(const target::Cpu& cpu);

// The tile for that many rows. As few tiles as there can be, and rows shared out evenly among
// them, so that none has too few sums in flight to hide the latency of an addition. Few rows
// are computed for several panels at once: each panel is then a stream of its own for the
// processor to fetch ahead.
ProductTile product_tile(const target::Cpu& cpu, int64_t rows, int64_t panels);

// Elements of float32 in a line of the caches.
inline int64_t line_floats(const target::Cpu& cpu) { return cpu.line_bytes / 4; }

// How many rows of `length` floats the second level of cache keeps while panels stream by.
int64_t rows_kept(const target::Cpu& cpu, int64_t length);

// How many bytes of packed operands stay in the second level of cache with room to spare. They are
// on the stack.
int64_t packed_bytes(const target::Cpu& cpu);

// Floats of a row that goes through several stages: of a short one, the tensors of all stages stay
// in the first level of cache, with rows beside it; of one at work, in the second.
int64_t short_row(const target::Cpu& cpu);
int64_t row_at_work(const target::Cpu& cpu);

// Attention is computed a few rows of scores at a time where there are so many rows, and rows are
// no longer than this. Few rows are not worth panels of the operands; of long ones, too few would
// be at work together.
inline constexpr int64_t kFewestScoreRows = 16;
inline constexpr int64_t kLongestScoreRow = 4096;

// What each of the tiles of a panel fetches of the next one: `lines` for every `steps` rows of the
// panel that it goes through, so that together they fetch all of it.
struct FetchAhead {
  int64_t lines = 0, steps = 1;
};
FetchAhead fetch_ahead(const target::Cpu& cpu, int64_t tiles, int64_t panel_floats);

}  // namespace relay::kernel::schedule
