#include "kernel/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/arena.h"
#include "base/symbol.h"

namespace relay::kernel {
namespace {

using Numbers = std::vector<int64_t>;

Layout read(std::string_view text, std::string_view axes = "NCHW") {
  std::string why;
  const std::optional<Layout> out = Layout::parse(text, axes, why);
  EXPECT_TRUE(out && why.empty()) << text << ": " << why;
  return out.value_or(Layout());
}
void expect_wrong(std::string_view text, std::string_view reason, std::string_view axes = "NCHW") {
  std::string why;
  EXPECT_FALSE(Layout::parse(text, axes, why)) << text;
  EXPECT_EQ(why, reason) << text;
}

TEST(Layout, TextsReadBack) {
  for (const std::string text :
       {"NCHW", "NHWC", "WHCN", "NCHW16c", "NCHW1c", "NC4cHW", "N2nC16c4cHW", "NCHW65536c"})
    EXPECT_EQ(read(text).text(), text);
  EXPECT_EQ(read("", "").text(), "");
  EXPECT_EQ(read("OIHW16i16o", "OIHW").text(), "OIHW16i16o");
}

TEST(Layout, TextsThatAreNone) {
  expect_wrong("", "an axis is missing");
  expect_wrong("NCH", "an axis is missing");
  expect_wrong("NCHWN", "`N` is there twice");
  expect_wrong("NCHWD", "there is no axis `D`");
  expect_wrong("NCHWc", "there is no axis `c`");
  expect_wrong("NCHW16C", "there is no axis `C`");
  expect_wrong("NCHW16d", "there is no axis `d`");
  expect_wrong("NCHW16", "a number is followed by the letter of an axis");
  expect_wrong("16cNCHW", "the blocks `c` stand before their axis");
  expect_wrong("NCHW0c", "blocks have 1 to 65536 elements");
  expect_wrong("NCHW65537c", "blocks have 1 to 65536 elements");
  expect_wrong("NCHW99999999999999999999c", "blocks have 1 to 65536 elements");
  expect_wrong("NCHW256c257c", "blocks have 1 to 65536 elements");
  expect_wrong("NCHW-4c", "there is no axis `-`");
  expect_wrong("NCHW 4c", "there is no axis ` `");
  expect_wrong("NN", "`N` is there twice", "NN");
  expect_wrong(std::string_view("NC\0HW", 5), std::string("there is no axis `") + '\0' + "`");
}

TEST(Layout, BlocksAreCutBehindTheRest) {
  EXPECT_EQ(Layout::plain("NCHW").cut(1, 16), read("NCHW16c"));
  EXPECT_EQ(Layout::plain("OIHW").cut(1, 4).cut(0, 8), read("OIHW4i8o", "OIHW"));
  EXPECT_EQ(panel_layout(32).text(), "NC32n");
  EXPECT_NE(read("NCHW16c"), read("NCHW8c"));
  EXPECT_NE(read("NCHW"), read("NCHW1c"));  // of another rank
  EXPECT_NE(read("NCHW"), read("OIHW", "OIHW"));
}

TEST(Layout, WhereAxesAndBlocksStand) {
  const Layout l = read("NHWC16c4c");
  EXPECT_EQ(l.axes(), 4u);
  EXPECT_EQ(l.rank(), 6u);
  EXPECT_EQ(l.place(1), 3u);
  EXPECT_EQ(l.place(3), 2u);
  EXPECT_EQ(l.block_place(1), 5u);
  EXPECT_EQ(l.block(1), 64);
  EXPECT_EQ(l.block(2), 1);
}

TEST(Layout, ShapesAndBack) {
  const Layout l = read("NCHW16c");
  EXPECT_EQ(l.shape(Numbers{2, 40, 7, 9}), (Numbers{2, 3, 7, 9, 16}));
  EXPECT_EQ(l.extents(Numbers{2, 3, 7, 9, 16}), (Numbers{2, 48, 7, 9}));  // the last block is filled up
  EXPECT_EQ(l.shape(Numbers{0, 0, 7, 9}), (Numbers{0, 0, 7, 9, 16}));
  EXPECT_EQ(read("NHWC").shape(Numbers{2, 40, 7, 9}), (Numbers{2, 7, 9, 40}));
  EXPECT_EQ(panel_layout(32).shape(Numbers{40, 100}), (Numbers{2, 100, 32}));
  EXPECT_EQ(read("", "").shape(Numbers{}), Numbers{});
}

// All elements have places of their own, and come back.
TEST(Layout, EachElementHasAPlace) {
  for (const std::string text : {"NCHW", "WHCN", "NCHW4c", "NC4cHW2c", "N2nCHW3h2w"}) {
    const Layout l = read(text);
    const Numbers extents{2, 8, 6, 4}, shape = l.shape(extents);
    std::vector<int> used(2 * 8 * 6 * 4, 0);
    for (int64_t e = 0; e < 2 * 8 * 6 * 4; ++e) {
      const Numbers at{e / 192, e / 24 % 8, e / 4 % 6, e % 4}, index = l.index(at);
      EXPECT_EQ(l.coordinates(index), at) << text;
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        ASSERT_TRUE(index[d] >= 0 && index[d] < shape[d]) << text;
        offset = offset * shape[d] + index[d];
      }
      ++used[static_cast<size_t>(offset)];
    }
    EXPECT_EQ(std::count(used.begin(), used.end(), 1), 384) << text;
  }
}

TEST(Layout, ABlockMayStandBeforeItsAxis) {
  const Layout l(2, {{1, 4}, {0}, {1}});  // of axes without letters
  EXPECT_EQ(l.shape(Numbers{3, 10}), (Numbers{4, 3, 3}));
  EXPECT_EQ(l.index(Numbers{2, 9}), (Numbers{1, 2, 2}));
  EXPECT_EQ(l.coordinates(Numbers{1, 2, 2}), (Numbers{2, 9}));
}

TEST(Layout, IndicesOfExpressions) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  const Expr n = pool.variable("n"), c = pool.variable("c"), i = pool.variable("i"), j = pool.variable("j"),
             k = pool.variable("k");
  const Layout l = panel_layout(32);
  EXPECT_EQ(l.index(std::vector{n, c}), (std::vector{floor_div(n, 32), c, floor_mod(n, 32)}));
  EXPECT_EQ(l.coordinates(std::vector{i, j, k}), (std::vector{i * 32 + k, j}));
  EXPECT_EQ(l.shape(std::vector{n, c}), (std::vector{floor_div(n + 31, 32), c, pool.integer(32)}));
}

}  // namespace
}  // namespace relay::kernel
