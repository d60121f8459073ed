#include "passes/places.h"

#include <gtest/gtest.h>

#include <random>

namespace relay::passes {
namespace {

TEST(Places, OneAfterTheOtherShareMemory) {
  const std::vector<Life> lives = {{0, 1}, {1, 2}, {2, 3}};
  const std::vector<uint64_t> bytes = {100, 64, 100};
  const Places p = find_places(lives, bytes);
  EXPECT_EQ(p.offsets, (std::vector<uint64_t>{0, 128, 0}));
  EXPECT_EQ(p.bytes, 192u);
  EXPECT_EQ(p.bytes_without_sharing, 320u);
}

TEST(Places, WhatIsAliveAtOnceDoesNotOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Life> lives;
    std::vector<uint64_t> bytes;
    for (int i = 0; i < 40; ++i) {
      const size_t first = random() % 60;
      lives.push_back({first, first + random() % 10});
      bytes.push_back(random() % 1000);
    }
    const Places p = find_places(lives, bytes);
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(p.offsets[i] % kPlaceAlignment, 0u);
      EXPECT_LE(p.offsets[i] + bytes[i], p.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool at_once = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        const bool overlap = p.offsets[i] < p.offsets[j] + bytes[j] && p.offsets[j] < p.offsets[i] + bytes[i];
        EXPECT_FALSE(at_once && overlap) << i << " " << j;
      }
    }
  }
}

TEST(Places, ASlotGoesToOneOfTheSameSizeFirst) {
  const std::vector<Life> lives = {{0, 1}, {0, 1}, {2, 3}, {3, 3}, {4, 4}};
  const std::vector<int> size = {1, 2, 2, 3, 3};
  EXPECT_EQ(find_slots(lives, [&](size_t a, size_t b) { return size[a] == size[b]; }),
            (std::vector<size_t>{0, 1, 1, 0, 0}));
}

TEST(Places, WhatNoMemoryHoldsDoesNotWrapAround) {
  const std::vector<Life> lives{{0, 1}, {0, 1}, {0, 1}};
  const std::vector<uint64_t> bytes{uint64_t{1} << 63, uint64_t{1} << 63, 64};
  EXPECT_EQ(find_places(lives, bytes).bytes, UINT64_MAX);
  EXPECT_EQ(find_places(lives, bytes).bytes_without_sharing, UINT64_MAX);
}

TEST(Places, NothingTakesNothing) {
  EXPECT_EQ(find_places({}, {}).bytes, 0u);
  EXPECT_TRUE(find_slots({}, [](size_t, size_t) { return true; }).empty());
}

}  // namespace
}  // namespace relay::passes
