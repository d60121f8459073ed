#include "base/split.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Split, CommasInBracesBelongToAPart) {
  EXPECT_EQ(split_outside_braces("a"), Parts{"a"});
  EXPECT_EQ(split_outside_braces("a{x=1,y=2},b"), (Parts{"a{x=1,y=2}", "b"}));
  EXPECT_EQ(split_outside_braces("a{b{,},},c{,}"), (Parts{"a{b{,},}", "c{,}"}));
}

TEST(Split, NothingIsLeftOut) {
  EXPECT_EQ(split_outside_braces(""), Parts{""});
  EXPECT_EQ(split_outside_braces(",a, ,"), (Parts{"", "a", " ", ""}));
  EXPECT_EQ(split_outside_braces("a{,b"), Parts{"a{,b"});
  EXPECT_EQ(split_outside_braces("a},b"), Parts{"a},b"});
}

}  // namespace
}  // namespace relay
