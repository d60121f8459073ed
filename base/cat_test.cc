#include "base/cat.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <vector>

namespace relay {
namespace {

TEST(Cat, TextsAndValues) {
  const std::string text = "text";
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat("a ", text, std::string_view("b"), 'c', true, false), "a textbctruefalse");
  EXPECT_EQ(cat(-1, 2u, int8_t{-3}, uint8_t{4}, size_t{5}), "-12-345");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min(), " ", std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(cat(1.0f, " ", 0.1f, " ", 0.1, " ", 1e100, " ", -0.0), "1 0.1 0.1 1e+100 -0");
  EXPECT_EQ(cat(std::numeric_limits<float>::infinity(), " ", std::numeric_limits<double>::quiet_NaN()),
            "inf nan");
  EXPECT_EQ(cat(static_cast<double>(0.1f)), "0.10000000149011612");
}

// As a bool it would be "true" silently.
static_assert(!std::is_constructible_v<Piece, const void*>);

TEST(Cat, Joins) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join(std::vector<int>{}, ", "), "");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, "x", [](int i) { return cat("<", i, ">"); }), "<1>x<2>x<3>");
}

}  // namespace
}  // namespace relay
