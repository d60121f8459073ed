// How numbers become patterns: the steps between them.
#include "frontend/onnx/stored.h"

#include <gtest/gtest.h>

#include <cmath>

namespace relay::frontend {
namespace {

using data::SmallFloat;

SmallFloat format_of(int32_t code) {
  if (code == 17) return data::kFormatE4M3;
  if (code == 19) return data::kFormatE5M2;
  return *data::storage_of_onnx(code)->real;
}
constexpr int32_t kSigned[] = {17, 18, 19, 20, 23, 27, 28};
constexpr int32_t kScale = 24;

// As searchsorted and take do it. NaN comes behind all numbers.
int encode(const SmallFloat& format, double x, const Encoding& encoding, DType wide = kFloat64) {
  const Steps steps = steps_of(format, encoding, wide);
  uint8_t out = steps.below;
  for (const auto& [from, pattern] : steps.from) {
    if (std::isnan(x) || x >= from) out = pattern;
  }
  return out;
}
constexpr Encoding kSaturating{true, RoundMode::kUp}, kPlain{false, RoundMode::kUp};

TEST(Stored, EveryPatternIsItsOwnNumbers) {
  for (int32_t code : kSigned) {
    const SmallFloat format = format_of(code);
    for (int p = 0; p < 1 << format.bits; ++p) {
      const double value = format.value(static_cast<uint8_t>(p));
      // Of -0 and of the payload of NaN, the steps know nothing.
      const bool other = std::isnan(value) || (value == 0 && p != 0);
      for (DType wide : {kFloat32, kFloat64}) {
        EXPECT_EQ(encode(format, value, kPlain, wide), other ? std::isnan(value) ? format.nan() : 0 : p)
            << code << " " << p;
      }
    }
  }
  for (RoundMode round : {RoundMode::kUp, RoundMode::kDown, RoundMode::kNearest}) {
    for (bool saturate : {false, true}) {
      for (int p = 0; p < 256; ++p) {
        const double value = format_of(kScale).value(static_cast<uint8_t>(p));
        EXPECT_EQ(encode(format_of(kScale), value, {saturate, round}), p);
      }
    }
  }
}

TEST(Stored, StepsAscend) {
  for (int32_t code : {17, 18, 19, 20, 23, 24, 27, 28}) {
    for (DType wide : {kFloat32, kFloat64}) {
      const Steps steps = steps_of(format_of(code), kPlain, wide);
      for (size_t i = 0; i + 2 < steps.from.size(); ++i)
        EXPECT_LT(steps.from[i].first, steps.from[i + 1].first) << code << " " << i;
      EXPECT_TRUE(std::isnan(steps.from.back().first));
    }
  }
}

// The middle between neighbours goes to the even one; the numbers beside it to the nearer one.
TEST(Stored, TiesGoToEven) {
  for (int32_t code : kSigned) {
    const SmallFloat format = format_of(code);
    const int sign = 1 << (format.bits - 1);
    for (int p = 0; p < format.largest(); ++p) {
      const double middle =
          (format.value(static_cast<uint8_t>(p)) + format.value(static_cast<uint8_t>(p + 1))) / 2;
      const double beside[] = {std::nextafter(middle, 0), middle, std::nextafter(middle, INFINITY)};
      const int want[] = {p, p % 2 == 0 ? p : p + 1, p + 1};
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(encode(format, beside[i], kSaturating), want[i]) << code << " " << beside[i];
        const bool zero = want[i] == 0 && !format.has_negative_zero();
        EXPECT_EQ(encode(format, -beside[i], kSaturating), zero ? 0 : sign | want[i])
            << code << " " << -beside[i];
      }
    }
  }
}

// The tables in the definition of ONNX's Cast.
TEST(Stored, NumbersOutOfRange) {
  struct Row {
    int32_t code;
    int most, infinity, negative_infinity, nan;
  };
  for (const Row& r : {Row{17, 0x7e, 0x7f, 0xff, 0x7f}, Row{18, 0x7f, 0x80, 0x80, 0x80},
                       Row{19, 0x7b, 0x7c, 0xfc, 0x7e}, Row{20, 0x7f, 0x80, 0x80, 0x80}}) {
    const SmallFloat format = format_of(r.code);
    for (double large : {1e6, 1e30, double{INFINITY}}) {
      EXPECT_EQ(encode(format, large, kSaturating), r.most) << r.code;
      EXPECT_EQ(encode(format, -large, kSaturating), r.most | 0x80) << r.code;
      EXPECT_EQ(encode(format, large, kPlain), r.infinity) << r.code;
      EXPECT_EQ(encode(format, -large, kPlain), r.negative_infinity) << r.code;
    }
    EXPECT_EQ(encode(format, NAN, kSaturating), r.nan) << r.code;
    EXPECT_EQ(encode(format, NAN, kPlain), r.nan) << r.code;
  }
  // What still rounds to the largest number is no overflow: 464 is the middle of 448 and 480.
  EXPECT_EQ(encode(format_of(17), 464, kPlain), 0x7e);
  EXPECT_EQ(encode(format_of(17), 464.5, kPlain), 0x7f);
  EXPECT_EQ(encode(format_of(18), 247.5, kPlain), 0x7f);
  EXPECT_EQ(encode(format_of(18), 248, kPlain), 0x80);
  // These have neither infinity nor NaN.
  for (int32_t code : {23, 27, 28}) {
    for (bool saturate : {false, true}) {
      EXPECT_EQ(encode(format_of(code), INFINITY, {saturate, RoundMode::kUp}), format_of(code).largest());
      EXPECT_EQ(encode(format_of(code), -1e9, {saturate, RoundMode::kUp}),
                format_of(code).largest() | 1 << (format_of(code).bits - 1));
    }
  }
}

TEST(Stored, ScalesRoundAsAsked) {
  const auto scale = [](double x, bool saturate, RoundMode round) {
    return encode(format_of(kScale), x, {saturate, round});
  };
  EXPECT_EQ(scale(1.0001, true, RoundMode::kUp), 128);
  EXPECT_EQ(scale(1.9999, true, RoundMode::kDown), 127);
  EXPECT_EQ(scale(1.4999, true, RoundMode::kNearest), 127);
  EXPECT_EQ(scale(1.5, true, RoundMode::kNearest), 128);  // ties go up
  EXPECT_EQ(scale(3, true, RoundMode::kNearest), 129);
  for (RoundMode round : {RoundMode::kUp, RoundMode::kDown, RoundMode::kNearest}) {
    EXPECT_EQ(scale(0, true, round), 0);
    EXPECT_EQ(scale(0x1p-140, true, round), 0);
    EXPECT_EQ(scale(0x1.8p127, true, round), 254);
    EXPECT_EQ(scale(INFINITY, true, round), 254);
    for (double outside : {0.0, 0x1p-140, 0x1.8p127, double{INFINITY}})
      EXPECT_EQ(scale(outside, false, round), 255) << outside;
    for (bool saturate : {false, true}) {
      EXPECT_EQ(scale(NAN, saturate, round), 255);
      EXPECT_EQ(scale(-1, saturate, round), 255);
    }
  }
}

}  // namespace
}  // namespace relay::frontend
