#include "base/components.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace relay {
namespace {

using Components = std::vector<std::vector<size_t>>;

Components sorted(Components c) {
  for (auto& component : c) std::sort(component.begin(), component.end());
  return c;
}

TEST(Components, WhatIsLedToComesFirst) {
  EXPECT_EQ(strong_components({}), Components{});
  EXPECT_EQ(strong_components({{1}, {2}, {}}), (Components{{2}, {1}, {0}}));
  EXPECT_EQ(strong_components({{}, {0, 0}, {0, 1}}), (Components{{0}, {1}, {2}}));
}

TEST(Components, NodesThatLeadToEachOtherAreOne) {
  EXPECT_EQ(strong_components({{0}}), (Components{{0}}));
  EXPECT_EQ(sorted(strong_components({{1}, {2, 3}, {0}, {4}, {3}})), (Components{{3, 4}, {0, 1, 2}}));
}

TEST(Components, DepthIsNoLimit) {
  Components edges(200000);
  for (size_t i = 0; i + 1 < edges.size(); ++i) edges[i] = {i + 1};
  EXPECT_EQ(strong_components(edges).size(), edges.size());
  edges.back() = {0};
  EXPECT_EQ(strong_components(edges).size(), 1u);
}

}  // namespace
}  // namespace relay
