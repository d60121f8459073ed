// What tests of pages stand on: a form that fits everything would make them pass.
#include "tests/docs/page.h"

#include <gtest/gtest.h>

#include <fstream>

namespace relay::tests {
namespace {

std::string page(const std::string& text) {
  const std::string path = testing::TempDir() + "/page.md";
  std::ofstream(path) << text;
  return path;
}

TEST(Page, BlocksHaveKindNameTextAndLine) {
  const std::vector<PageBlock> blocks =
      blocks_of(page("text\n```relay a.relay\none\n\ntwo\n```\n```sh\n```\n"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].kind, "relay");
  EXPECT_EQ(blocks[0].name, "a.relay");
  EXPECT_EQ(blocks[0].text, "one\n\ntwo\n");
  EXPECT_EQ(blocks[0].line, 3u);
  EXPECT_EQ(blocks[1].kind, "sh");
  EXPECT_EQ(blocks[1].name, "");
  EXPECT_EQ(blocks[1].text, "");
}

TEST(Page, ABlockThatDoesNotEndIsRefused) {
  EXPECT_THROW(blocks_of(page("```relay\ndef\n")), std::runtime_error);
  EXPECT_THROW(blocks_of(testing::TempDir() + "/nowhere.md"), std::runtime_error);
}

TEST(Page, AFormWithoutWildcardsIsTheText) {
  EXPECT_TRUE(fits("a\nb\n", "a\nb\n"));
  EXPECT_TRUE(fits("", ""));
  EXPECT_FALSE(fits("a\nb\n", "a\n"));
  EXPECT_FALSE(fits("a\n", "a\nb\n"));
  EXPECT_FALSE(fits("a\n", ""));
  EXPECT_FALSE(fits("", "a\n"));
  EXPECT_FALSE(fits("a b\n", "a  b\n"));
}

TEST(Page, AWildcardIsAPartOfALine) {
  EXPECT_TRUE(fits("took 3.4 ms of 9\n", "took ... ms of 9\n"));
  EXPECT_TRUE(fits("a b c b\n", "a ... b\n"));
  EXPECT_FALSE(fits("took 3.4 ms of 9\n", "took ... ms of 8\n"));
  EXPECT_FALSE(fits("x took 3.4 ms\n", "took ... ms\n"));
  EXPECT_FALSE(fits("took 3.4 ms more\n", "took ... ms\n"));
  EXPECT_FALSE(fits("took 3.4\nms\n", "took ... ms\n"));
}

TEST(Page, ALineOfItIsAnyNumberOfLines) {
  EXPECT_TRUE(fits("a\nx\ny\nb\n", "a\n...\nb\n"));
  EXPECT_TRUE(fits("a\nb\n", "a\n...\nb\n"));
  EXPECT_TRUE(fits("a\nb\nc\nb\n", "a\n...\nb\n"));
  EXPECT_FALSE(fits("a\nx\n", "a\n...\nb\n"));
  EXPECT_FALSE(fits("x\na\nb\n", "a\n...\nb\n"));
}

}  // namespace
}  // namespace relay::tests
