// The order of tiles, for caches of known sizes.
#include "kernel/schedule/cpu/tile_order.h"

#include <gtest/gtest.h>

#include "target/machines.h"

namespace relay::kernel::schedule::cpu {
namespace {

target::Cpu with_cache(int64_t bytes) {
  target::Cpu cpu = target::target_of("avx2").cpu;
  cpu.l2.bytes = bytes;
  return cpu;
}

// Of a convolution: one image, blocks of channels, rows, tiles of a row.
TileOrder order_of_rows(int64_t cache, int64_t blocks, int64_t rows, double image, double weights) {
  const std::vector<int64_t> tiles{1, blocks, rows, 8};
  const std::vector<TileOperand> operands{{{true, false, true, true}, image},
                                          {{false, true, false, false}, weights}};
  return tile_order(with_cache(cache), tiles, operands, 2);
}

TEST(TileOrder, RowsOfALargeImageGoBeforeBlocks) {
  const TileOrder order = order_of_rows(512 << 10, 4, 56, 56 * 64 << 10, 64 << 10);
  EXPECT_EQ(order.before, 1);
  EXPECT_EQ(order.together, 2) << "128 KiB of the image, 64 of weights: half of the cache is 256";
}

TEST(TileOrder, AnImageThatStaysInTheCacheGoesBehindThem) {
  EXPECT_EQ(order_of_rows(512 << 10, 128, 7, 100 << 10, 4 << 20).together, 0);
}

TEST(TileOrder, WhatFitsWholeKeepsTheOrderOfTheAxes) {
  EXPECT_EQ(order_of_rows(8 << 20, 4, 56, 1 << 20, 64 << 10).together, 0);
}

TEST(TileOrder, LargeWeightsAreReadOnceForManyRows) {
  const TileOrder order = order_of_rows(512 << 10, 32, 28, 28 * 32 << 10, 512 << 10);
  EXPECT_EQ(order.before, 1);
  EXPECT_EQ(order.together, 7) << "the most rows whose part of the image stays in half of the cache";
}

TEST(TileOrder, ARunIsSplitIntoPartsThatNeedNotDivideIt) {
  const std::vector<int64_t> tiles{1, 32, 131};
  const std::vector<TileOperand> operands{{{true, false, true}, 800 << 10},
                                          {{false, true, false}, 512 << 10}};
  const TileOrder order = tile_order(with_cache(512 << 10), tiles, operands, 2);
  EXPECT_EQ(order.before, 1);
  EXPECT_EQ(order.together, 39) << "240 KiB of pixels and 16 of weights";
}

TEST(TileOrder, ARunAloneHasNothingToGoBefore) {
  const std::vector<int64_t> tiles{100};
  const std::vector<TileOperand> operands{{{true}, 1 << 20}, {{false}, 1 << 20}};
  EXPECT_EQ(tile_order(with_cache(64 << 10), tiles, operands, 0).together, 0);
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
