#include "tools/small_extents.h"

#include <gtest/gtest.h>

namespace relay::tools {
namespace {

using Extents = std::vector<int64_t>;

// With plenty of tries.
std::optional<Extents> found(size_t count, const std::function<bool(const Extents&)>& fits) {
  return small_extents(count, 1000, [&](const Extents& e) { return fits(e) ? Fit::kGood : Fit::kNone; });
}

TEST(SmallExtents, OneWhereThatFits) {
  size_t tried = 0;
  const auto all = small_extents(3, 64, [&](const Extents&) { return ++tried, Fit::kGood; });
  EXPECT_EQ(all, (Extents{1, 1, 1}));
  EXPECT_EQ(tried, 1u);
}

TEST(SmallExtents, EachIsAsSmallAsTheOthersAllow) {
  EXPECT_EQ(found(3, [](const Extents& e) { return e[1] >= 3 && e[2] >= 30; }), (Extents{1, 3, 32}));
  EXPECT_EQ(found(2, [](const Extents& e) { return e[0] + e[1] >= 10; }), (Extents{2, 8}));
}

TEST(SmallExtents, ThoseThatMustDifferAreFound) {
  EXPECT_EQ(found(2, [](const Extents& e) { return e[0] + 1 == e[1]; }), (Extents{1, 2}));
}

TEST(SmallExtents, AnEmptyResultIsTheLastResort) {
  const auto fit = [](int64_t full) {
    return [full](const Extents& e) { return e[0] >= full ? Fit::kGood : Fit::kEmptyResult; };
  };
  EXPECT_EQ(small_extents(1, 64, fit(5)), (Extents{5}));
  EXPECT_EQ(small_extents(1, 64, fit(10000)), (Extents{1}));
}

TEST(SmallExtents, TheSearchEnds) {
  size_t tried = 0;
  EXPECT_EQ(small_extents(40, 64, [&](const Extents&) { return ++tried, Fit::kNone; }), std::nullopt);
  EXPECT_EQ(tried, 64u);
  // The last tries are for shrinking: what fits is kept.
  EXPECT_EQ(small_extents(1, 9, [](const Extents& e) { return e[0] >= 225 ? Fit::kGood : Fit::kNone; }),
            (Extents{256}));
}

}  // namespace
}  // namespace relay::tools
