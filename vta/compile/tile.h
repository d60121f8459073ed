// A tile: the part of a layer between one fill of the accumulators and their STORE.
//
// In the scratchpads, vectors of a tile lie by batch, block, row and column, the last one
// innermost. Weight tiles lie by bundle, output block, input block and tap.
#pragma once

#include "vta/compile/blocks.h"
#include "vta/compile/nest.h"
#include "vta/compile/transfer.h"

namespace relay::vta {

// Extents of a tile. More than one bundle have all their blocks.
struct Tile {
  int64_t bundles = 1, batches = 1;
  int64_t outs = 1, ins = 1;      // blocks of a bundle
  int64_t rows = 1, columns = 1;  // of the result

  int64_t out_blocks() const { return bundles * outs; }
  int64_t in_blocks() const { return bundles * ins; }
  int64_t out_vectors() const { return batches * out_blocks() * rows * columns; }
  friend bool operator==(const Tile&, const Tile&) = default;
};

// The first extent, in the order of the scratchpad, that is more than 1: parts of a tile along it
// are dense. The columns if none is.
int64_t Tile::* outermost(const Tile& tile);

// A window as LOAD brings it: what is in the input, and zeros beside.
struct Clipped {
  int64_t first = 0, count = 0;  // in the input; a count of 0: nothing is
  int64_t before = 0, after = 0;

  int64_t size() const { return before + count + after; }
};
Clipped clip(Window window, int64_t size);
// Without zeros.
Clipped clip_off(Window window, int64_t size);

// Of a tensor in DRAM.
struct Pixels {
  int64_t blocks = 1;  // of channels
  int64_t rows = 1, columns = 1;
  int64_t row_step = 1;  // rows from one row of the box to the next
};
Box activation_box(const Pixels& all, int64_t batches, int64_t blocks, const Clipped& rows,
                   const Clipped& columns);
Box weight_box(const Tile& tile, const Section& section, int64_t taps);

// GEMM of two phases: over batches, bundles, blocks, rows and columns. Rows and columns of the
// window in the scratchpad are `in_rows` and `in_columns`.
std::vector<Loop> product_loops(const Tile& tile, const Phase& rows, const Phase& columns, int64_t in_rows,
                                int64_t in_columns, int64_t taps);
std::vector<Indices> product_offsets(const Tile& tile, const Phase& rows, const Phase& columns,
                                     int64_t in_columns, int64_t window_columns);

// ALU over all accumulators of the tile; its operand has a vector for each accumulator, or for each
// block.
std::vector<Loop> step_loops(const Tile& tile, OperandKind operand);

}  // namespace relay::vta
