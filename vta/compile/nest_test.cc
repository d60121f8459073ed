#include "vta/compile/nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "vta/compile/transfer.h"

namespace relay::vta {
namespace {

using Touch = std::array<int64_t, 3>;

// All indices of the nest, in order of their size.
std::vector<Touch> indices_of(const Nest& nest) {
  std::vector<Touch> out;
  for (const Indices& offset : nest.offsets)
    out.push_back({nest.first.dst + offset.dst, nest.first.src + offset.src, nest.first.wgt + offset.wgt});
  for (const Loop& loop : nest.loops) {
    std::vector<Touch> more;
    for (const Touch& t : out) {
      for (int64_t n = 0; n < loop.count; n++)
        more.push_back({t[0] + n * loop.step.dst, t[1] + n * loop.step.src, t[2] + n * loop.step.wgt});
    }
    out = std::move(more);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Touch> indices_of(const Instruction& i, const std::vector<MicroOp>& list) {
  std::vector<Touch> out;
  for (int64_t a = 0; a < i.iter_out; a++) {
    for (int64_t b = 0; b < i.iter_in; b++) {
      for (const MicroOp& m : list)
        out.push_back({m.dst + a * i.dst_factor_out + b * i.dst_factor_in,
                       m.src + a * i.src_factor_out + b * i.src_factor_in,
                       m.wgt + a * i.wgt_factor_out + b * i.wgt_factor_in});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Nest, FoldedLoopsTouchTheSame) {
  std::mt19937_64 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int n = 0; n < 300; n++) {
    Nest nest = {.first = {below(9), below(9), below(9)}};
    for (int64_t k = below(6); k > 0; k--)
      nest.loops.push_back({1 + below(4), {below(7), below(7), below(7)}});
    for (int64_t k = 1 + below(3); k > 0; k--) nest.offsets.push_back({below(5), below(5), below(5)});
    Instruction i = {.opcode = Opcode::kGemm};
    const std::vector<MicroOp> list = fold(nest, i);
    EXPECT_EQ(std::ssize(list), folded_size(nest.loops) * std::ssize(nest.offsets));
    EXPECT_EQ(indices_of(i, list), indices_of(nest));
  }
}

TEST(Nest, LoopsThatGoOnAreOne) {
  // 4 x 5 rows and columns without a gap, 3 blocks, 2 taps.
  Instruction i = {.opcode = Opcode::kGemm};
  const std::vector<MicroOp> list = fold(
      {.loops = {{3, {20, 0, 2}}, {4, {5, 5, 0}}, {5, {1, 1, 0}}}, .offsets = {{0, 0, 0}, {0, 7, 1}}}, i);
  EXPECT_EQ(i.iter_out, 3);
  EXPECT_EQ(i.iter_in, 20);
  EXPECT_EQ(list, (std::vector<MicroOp>{{0, 0, 0}, {0, 7, 1}}));
  // The field has 14 bits.
  fold({.loops = {{200, {100, 0, 0}}, {100, {1, 0, 0}}}, .offsets = {{}}}, i);
  EXPECT_EQ(i.iter_out, 200);
  EXPECT_EQ(i.iter_in, 100);
}

// Elements of DRAM in the order of the scratchpad; -1 for zeros.
std::vector<int64_t> elements_of(const Box& box, int64_t first) {
  std::vector<int64_t> out = {first};
  for (const BoxDim& d : box) {
    std::vector<int64_t> more;
    for (const int64_t at : out) {
      for (int64_t n = -d.pad_before; n < d.count + d.pad_after; n++)
        more.push_back(at < 0 || n < 0 || n >= d.count ? -1 : at + n * d.stride);
    }
    out = std::move(more);
  }
  return out;
}

TEST(Transfer, InstructionsMoveTheBox) {
  std::mt19937_64 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int n = 0; n < 1000; n++) {
    const int64_t rows = 1 + below(4), columns = 1 + below(4), blocks = 1 + below(4), batches = 1 + below(3);
    Box box = {{1 + below(batches), blocks * rows * columns},
               {1 + below(blocks), rows * columns},
               {1 + below(rows), columns, below(3), below(3)},
               {1 + below(columns), 1, below(3), below(3)}};
    if (below(2)) box[2].pad_before = box[2].pad_after = 0;
    if (below(2)) box[3].pad_before = box[3].pad_after = 0;
    const std::vector<int64_t> wanted = elements_of(box, 1000);
    std::vector<int64_t> got(wanted.size(), -2);
    int64_t count = 0;
    transfer({.opcode = Opcode::kLoad, .memory = Memory::kInp}, box, 10, 1000, [&](const Instruction& i) {
      count++;
      const std::vector<int64_t> moved = elements_of(
          {{i.y_size, i.x_stride, i.y_pad_0, i.y_pad_1}, {i.x_size, 1, i.x_pad_0, i.x_pad_1}}, i.dram_base);
      std::copy(moved.begin(), moved.end(), got.begin() + i.sram_base - 10);
    });
    EXPECT_EQ(got, wanted);
    EXPECT_EQ(count, transfers(box));
  }
}

TEST(Transfer, DimsWithoutAGapAreOne) {
  // All of an image with all its blocks; its first rows; with zeros around.
  EXPECT_EQ(transfers({{2, 400}, {4, 100}, {10, 10}, {10, 1}}), 1);
  EXPECT_EQ(transfers({{1, 400}, {4, 100}, {5, 10}, {10, 1}}), 1);
  EXPECT_EQ(transfers({{1, 400}, {4, 100}, {5, 10}, {5, 1}}), 4);
  EXPECT_EQ(transfers({{1, 400}, {4, 100}, {10, 10, 1, 1}, {10, 1, 1, 1}}), 4);
  // A stride that the field does not hold.
  EXPECT_EQ(transfers({{3, 70000}, {10, 1}}), 3);
}

}  // namespace
}  // namespace relay::vta
