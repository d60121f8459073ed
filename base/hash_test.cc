#include "base/hash.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

// Weights have it in their files (aot/weights.h). The values were published with the algorithm.
TEST(HashText, IsFnv1a) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8u);
}

TEST(HashText, TakesBytesAsUnsigned) {
  EXPECT_EQ(hash_text("\xff"), (0xcbf29ce484222325u ^ 0xff) * 0x100000001b3u);
}

}  // namespace
}  // namespace relay
