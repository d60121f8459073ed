// Streams for tests and measurements: a matrix product in tiles, and random programs.
#pragma once

#include <random>
#include <vector>

#include "vta/isa/fields.h"
#include "vta/sim/dram.h"

namespace relay::vta::testing {

// result[n][m] = clip((sum over k of inp[k][m] x wgt[n][k]) >> shift): vectors, tiles and vectors.
// A step computes `tile` vectors of `width` columns. Steps use `buffers` sets of scratchpads in
// turn: with two, the loads of a step run while the step before it computes.
struct MatrixProduct {
  int rows = 8, columns = 2, depth = 2;  // M vectors, N and K blocks
  int tile = 4;                          // vectors of a step; divides rows
  int width = 1;                         // columns of a step; divides columns
  int buffers = 2;                       // 1 or 2
  int shift = 4;

  int steps() const { return rows / tile * (columns / width); }
  int64_t products() const { return int64_t{rows} * columns * depth; }
};

// Allocates and fills buffers, and returns the stream.
std::vector<Instruction> matrix_product(const Layout& layout, const MatrixProduct& shape, Dram& dram,
                                        std::mt19937_64& random);

// Instructions of all kinds with random operands that are legal, in one order by tokens. At the
// end, all accumulators are stored.
std::vector<Instruction> random_program(const Layout& layout, Dram& dram, std::mt19937_64& random);

// The address of a buffer with random bytes. CHECKs that there is room.
uint64_t random_buffer(Dram& dram, uint64_t bytes, std::mt19937_64& random);

}  // namespace relay::vta::testing
