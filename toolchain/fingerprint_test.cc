#include "toolchain/fingerprint.h"

#include <gtest/gtest.h>

namespace relay::toolchain {
namespace {

TEST(Fingerprint, IsSha256) {
  EXPECT_EQ(fingerprint("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2
}

}  // namespace
}  // namespace relay::toolchain
