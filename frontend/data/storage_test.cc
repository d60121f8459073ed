#include "frontend/data/storage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace relay::frontend::data {
namespace {

// What the patterns stand for, as multiples of the smallest number: from ml_dtypes 0.6.0. Formats
// with as many bits of mantissa begin alike.
constexpr int64_t kOfThreeBits[] = {
    0,      1,      2,      3,      4,      5,      6,      7,      8,      9,      10,    11,    12,
    13,     14,     15,     16,     18,     20,     22,     24,     26,     28,     30,    32,    36,
    40,     44,     48,     52,     56,     60,     64,     72,     80,     88,     96,    104,   112,
    120,    128,    144,    160,    176,    192,    208,    224,    240,    256,    288,   320,   352,
    384,    416,    448,    480,    512,    576,    640,    704,    768,    832,    896,   960,   1024,
    1152,   1280,   1408,   1536,   1664,   1792,   1920,   2048,   2304,   2560,   2816,  3072,  3328,
    3584,   3840,   4096,   4608,   5120,   5632,   6144,   6656,   7168,   7680,   8192,  9216,  10240,
    11264,  12288,  13312,  14336,  15360,  16384,  18432,  20480,  22528,  24576,  26624, 28672, 30720,
    32768,  36864,  40960,  45056,  49152,  53248,  57344,  61440,  65536,  73728,  81920, 90112, 98304,
    106496, 114688, 122880, 131072, 147456, 163840, 180224, 196608, 212992, 229376, 245760};

constexpr int64_t kOfTwoBits[] = {
    0,          1,          2,          3,          4,          5,          6,          7,
    8,          10,         12,         14,         16,         20,         24,         28,
    32,         40,         48,         56,         64,         80,         96,         112,
    128,        160,        192,        224,        256,        320,        384,        448,
    512,        640,        768,        896,        1024,       1280,       1536,       1792,
    2048,       2560,       3072,       3584,       4096,       5120,       6144,       7168,
    8192,       10240,      12288,      14336,      16384,      20480,      24576,      28672,
    32768,      40960,      49152,      57344,      65536,      81920,      98304,      114688,
    131072,     163840,     196608,     229376,     262144,     327680,     393216,     458752,
    524288,     655360,     786432,     917504,     1048576,    1310720,    1572864,    1835008,
    2097152,    2621440,    3145728,    3670016,    4194304,    5242880,    6291456,    7340032,
    8388608,    10485760,   12582912,   14680064,   16777216,   20971520,   25165824,   29360128,
    33554432,   41943040,   50331648,   58720256,   67108864,   83886080,   100663296,  117440512,
    134217728,  167772160,  201326592,  234881024,  268435456,  335544320,  402653184,  469762048,
    536870912,  671088640,  805306368,  939524096,  1073741824, 1342177280, 1610612736, 1879048192,
    2147483648, 2684354560, 3221225472, 3758096384, 4294967296, 5368709120, 6442450944, 7516192768};

constexpr int64_t kOfOneBit[] = {0, 1, 2, 3, 4, 6, 8, 12};

struct Known {
  std::string_view name;
  SmallFloat format;
  std::span<const int64_t> multiples;
  double unit;
  size_t numbers;  // of magnitudes
};

std::vector<Known> known() {
  const auto format = [](int32_t code) { return *storage_of_onnx(code)->real; };
  return {{"FLOAT8E4M3FN", kFormatE4M3, kOfThreeBits, 0x1p-9, 127},
          {"FLOAT8E4M3FNUZ", format(18), kOfThreeBits, 0x1p-10, 128},
          {"FLOAT8E5M2", kFormatE5M2, kOfTwoBits, 0x1p-16, 124},
          {"FLOAT8E5M2FNUZ", format(20), kOfTwoBits, 0x1p-17, 128},
          {"FLOAT4E2M1", format(23), kOfOneBit, 0.5, 8},
          {"FLOAT6E2M3", format(27), kOfThreeBits, 0.125, 32},
          {"FLOAT6E3M2", format(28), kOfTwoBits, 0x1p-4, 32}};
}

TEST(Storage, EveryPatternOfASignedFloatHasItsNumber) {
  for (const Known& k : known()) {
    SCOPED_TRACE(k.name);
    ASSERT_EQ(k.format.largest(), k.numbers - 1);
    const int sign = 1 << (k.format.bits - 1);
    for (size_t p = 0; p < k.numbers; ++p) {
      const double want = static_cast<double>(k.multiples[p]) * k.unit;
      EXPECT_EQ(k.format.value(static_cast<uint8_t>(p)), want) << p;
      if (p == 0 && !k.format.has_negative_zero()) continue;
      const double negative = k.format.value(static_cast<uint8_t>(sign | static_cast<int>(p)));
      EXPECT_EQ(negative, -want) << p;
      EXPECT_TRUE(std::signbit(negative)) << p;
    }
  }
}

TEST(Storage, PatternsThatAreNoNumbers) {
  const auto infinity = [](uint8_t p) { return kFormatE5M2.value(p); };
  EXPECT_EQ(infinity(0x7c), INFINITY);
  EXPECT_EQ(infinity(0xfc), -INFINITY);
  for (int p : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff})
    EXPECT_TRUE(std::isnan(infinity(static_cast<uint8_t>(p)))) << p;
  EXPECT_TRUE(std::isnan(kFormatE4M3.value(0x7f)));
  EXPECT_TRUE(std::isnan(kFormatE4M3.value(0xff)));
  EXPECT_TRUE(std::isnan(storage_of_onnx(18)->real->value(0x80)));
  EXPECT_TRUE(std::isnan(storage_of_onnx(20)->real->value(0x80)));
}

TEST(Storage, ScalesArePowersOfTwo) {
  const SmallFloat format = *storage_of_onnx(24)->real;
  EXPECT_EQ(format.value(0), 0x1p-127);
  EXPECT_EQ(format.value(127), 1);
  EXPECT_EQ(format.value(254), 0x1p127);
  for (int p = 1; p < 255; ++p)
    EXPECT_EQ(format.value(static_cast<uint8_t>(p)), 2 * format.value(static_cast<uint8_t>(p - 1))) << p;
  EXPECT_TRUE(std::isnan(format.value(255)));
}

TEST(Storage, BitsAboveTheFormatDoNotCount) {
  const SmallFloat format = *storage_of_onnx(23)->real;
  for (int p = 0; p < 256; ++p)
    EXPECT_EQ(format.value(static_cast<uint8_t>(p)), format.value(static_cast<uint8_t>(p & 15))) << p;
}

TEST(Storage, DTypesOfRelayNeedNone) {
  for (int32_t code : {0, 1, 8, 16, 17, 19, 21, 22, 29, -1})
    EXPECT_EQ(storage_of_onnx(code), nullptr) << code;
  EXPECT_EQ(storage_of_onnx(26)->carrier, kInt8);
}

}  // namespace
}  // namespace relay::frontend::data
