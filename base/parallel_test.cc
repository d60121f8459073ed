#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace relay {
namespace {

TEST(ForEachAtOnce, EachNumberHasItsTurnOnce) {
  for (const size_t at_once : {size_t{1}, size_t{3}, size_t{200}}) {
    std::vector<std::atomic<int>> turns(100);
    for_each_at_once(turns.size(), at_once, [&](size_t i) { ++turns[i]; });
    for (const std::atomic<int>& n : turns) EXPECT_EQ(n, 1) << at_once;
  }
  for_each_at_once(0, 4, [](size_t) { FAIL(); });
}

TEST(ForEachAtOnce, NoMoreThanSoManyAreAtWork) {
  std::atomic<int> at_work = 0, most = 0;
  for_each_at_once(50, 2, [&](size_t) {
    const int now = ++at_work;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --at_work;
  });
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2);
}

// The second call fails first, and the first one is what a caller hears of.
TEST(ForEachAtOnce, WhatTheLeastNumberThrewIsThrown) {
  std::atomic<bool> second_failed = false;
  std::atomic<size_t> begun = 0;
  std::string said;
  try {
    for_each_at_once(1000, 2, [&](size_t i) {
      ++begun;
      if (i == 0) {
        while (!second_failed) std::this_thread::yield();
      }
      if (i == 1) second_failed = true;
      throw std::runtime_error(std::to_string(i));
    });
  } catch (const std::runtime_error& e) {
    said = e.what();
  }
  EXPECT_EQ(said, "0");
  EXPECT_EQ(begun, 2u) << "none begins after a failure";
}

}  // namespace
}  // namespace relay
