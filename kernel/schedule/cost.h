// What the rules of the CPU schedule know of the machine, and the sizes that follow from it.
//
// No search and no measurement: the number of vector registers is that of the instruction set, and
// the sizes of caches are the smallest of the processors that have it, so that one artifact runs
// well on all of them.
#pragma once

#include <cstdint>

#include "kernel/schedule/cpu.h"

namespace relay::kernel::schedule {

struct Machine {
  int64_t vector_floats = 8;  // floats in a vector register
  int64_t registers = 16;     // vector registers
  int64_t level_1_bytes = 32 * 1024;
  int64_t level_2_bytes = 1024 * 1024;
  int64_t line_floats = 16;  // floats in a line of the cache
};
Machine machine_for(const CpuOptions& options);

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
int64_t most_tile_rows(const Machine& m);

// The tile for that many rows. As few tiles as there can be, and rows shared out evenly among
// them, so that none has too few sums in flight to hide the latency of an addition. Few rows
// are computed for several panels at once: each panel is then a stream of its own for the
// processor to fetch ahead.
ProductTile product_tile(const Machine& m, int64_t rows, int64_t panels);

// How many rows of `length` floats the second level of cache keeps while panels stream by.
int64_t rows_kept(const Machine& m, int64_t length);

// What each of the tiles of a panel fetches of the next one: `lines` for every `steps` rows of the
// panel that it goes through, so that together they fetch all of it.
struct FetchAhead {
  int64_t lines = 0, steps = 1;
};
FetchAhead fetch_ahead(const Machine& m, int64_t tiles, int64_t panel_floats);

}  // namespace relay::kernel::schedule
