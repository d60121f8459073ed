#include "base/trimmed.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

TEST(Trimmed, BlanksGoFromBothEndsAlone) {
  EXPECT_EQ(trimmed("  a b\t\n"), "a b");
  EXPECT_EQ(trimmed("ab"), "ab");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed(" \r\n\v\f\t"), "");
}

TEST(Trimmed, OtherBlanksMayBeNamed) {
  EXPECT_EQ(trimmed(" \ta ", " "), "\ta");
  EXPECT_EQ(trimmed("   ", " "), "");
}

}  // namespace
}  // namespace relay
