#include "base/counted.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace relay {
namespace {

TEST(Counted, OnlyOneIsSingular) {
  EXPECT_EQ(counted(0, "thread"), "0 threads");
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(2, "operator call"), "2 operator calls");
  EXPECT_EQ(counted(UINT64_MAX, "element"), "18446744073709551615 elements");
}

}  // namespace
}  // namespace relay
