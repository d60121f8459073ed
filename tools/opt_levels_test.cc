#include "tools/opt_levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace relay::tools {
namespace {

// Work of about so many units.
std::function<bool()> work(int units) {
  return [units] {
    volatile double sink = 0;
    for (int i = 0; i < units * 20000; ++i) sink = sink + std::sqrt(i);
    return true;
  };
}

TEST(OptLevels, TheOneThatIsSlowerThanTheLastIsNamed) {
  const std::vector<Level> levels = time_levels({work(8), work(2), work(4)}, 5, 1, true);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_LT(levels[1].ratio, 0.5);
  EXPECT_GT(levels[2].ratio, 1.5);
  EXPECT_LE(levels[0].least, levels[0].median);
  EXPECT_EQ(first_slower(levels), 2u);
  EXPECT_NE(show(levels, true).find("not monotone: -O2"), std::string::npos) << show(levels, true);
  EXPECT_EQ(json(levels)["monotone"], false);
}

TEST(OptLevels, NoiseIsNoSlowerLevel) {
  const std::vector<Level> levels{{1, 1, 1}, {1, 1, 1.02}, {0.5, 0.5, 0.5}};
  EXPECT_EQ(first_slower(levels), 0u);
  EXPECT_NE(show(levels, false).find("\nmonotone"), std::string::npos) << show(levels, false);
  EXPECT_EQ(json(levels)["monotone"], true);
}

TEST(OptLevels, AFailureEndsIt) {
  int runs = 0;
  EXPECT_TRUE(time_levels({[&] { return ++runs < 3; }, work(1)}, 5, 0, true).empty());
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace relay::tools
