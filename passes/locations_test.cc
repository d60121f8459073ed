#include "passes/locations.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace relay::passes {
namespace {

TEST(Locations, OneAfterTheOtherShareMemory) {
  const std::vector<Life> lives = {{0, 1}, {1, 2}, {2, 3}};
  const std::vector<uint64_t> bytes = {100, 64, 100};
  const Locations p = find_locations(lives, bytes);
  EXPECT_EQ(p.offsets, (std::vector<uint64_t>{0, 128, 0}));
  EXPECT_EQ(p.bytes, 192u);
  EXPECT_EQ(p.bytes_without_sharing, 320u);
}

TEST(Locations, WhatIsAliveAtOnceDoesNotOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Life> lives;
    std::vector<uint64_t> bytes;
    for (int i = 0; i < 40; ++i) {
      const size_t first = random() % 60;
      lives.push_back({first, first + random() % 10});
      bytes.push_back(random() % 1000);
    }
    const Locations p = find_locations(lives, bytes);
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(p.offsets[i] % kLocationAlignment, 0u);
      EXPECT_LE(p.offsets[i] + bytes[i], p.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool at_once = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        const bool overlap = p.offsets[i] < p.offsets[j] + bytes[j] && p.offsets[j] < p.offsets[i] + bytes[i];
        EXPECT_FALSE(at_once && overlap) << i << " " << j;
      }
    }
  }
}

// Each place beside those of its neighbours alone, so that a long chain takes no time.
TEST(Locations, AChainOfThousands) {
  constexpr size_t kLong = 200'000;
  std::vector<Life> lives;
  for (size_t i = 0; i < kLong; ++i) lives.push_back({i, i + 1});
  const Locations p = find_locations(lives, std::vector<uint64_t>(kLong, 64));
  EXPECT_EQ(p.bytes, 128u);
  for (size_t i = 0; i + 1 < kLong; ++i) ASSERT_NE(p.offsets[i], p.offsets[i + 1]);
}

// The lowest place that is free, whoever else is alive.
TEST(Locations, AsFoundByComparingAll) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<Life> lives;
    for (int i = 0; i < 40; ++i) {
      const size_t first = 3 * (random() % 20);
      lives.push_back({first, first + random() % 30});
    }
    const std::vector<uint64_t> bytes(lives.size(), 64);  // so that they are placed in order
    const Locations p = find_locations(lives, bytes);
    for (size_t i = 0; i < lives.size(); ++i) {
      std::set<uint64_t> taken;
      for (size_t j = 0; j < i; ++j) {
        if (lives[i].first <= lives[j].last && lives[j].first <= lives[i].last) taken.insert(p.offsets[j]);
      }
      uint64_t lowest = 0;
      while (taken.contains(lowest)) lowest += 64;
      EXPECT_EQ(p.offsets[i], lowest);
    }
  }
}

TEST(Locations, ASlotGoesToOneOfTheSameSizeFirst) {
  const std::vector<Life> lives = {{0, 1}, {0, 1}, {2, 3}, {3, 3}, {4, 4}};
  const std::vector<int> size = {1, 2, 2, 3, 3};
  EXPECT_EQ(find_slots(lives, [&](size_t a, size_t b) { return size[a] == size[b]; }),
            (std::vector<size_t>{0, 1, 1, 0, 0}));
}

TEST(Locations, WhatNoMemoryHoldsDoesNotWrapAround) {
  const std::vector<Life> lives{{0, 1}, {0, 1}, {0, 1}};
  const std::vector<uint64_t> bytes{uint64_t{1} << 63, uint64_t{1} << 63, 64};
  EXPECT_EQ(find_locations(lives, bytes).bytes, UINT64_MAX);
  EXPECT_EQ(find_locations(lives, bytes).bytes_without_sharing, UINT64_MAX);
}

TEST(Locations, NothingTakesNothing) {
  EXPECT_EQ(find_locations({}, {}).bytes, 0u);
  EXPECT_TRUE(find_slots({}, [](size_t, size_t) { return true; }).empty());
}

}  // namespace
}  // namespace relay::passes
