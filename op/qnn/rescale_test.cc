#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

constexpr const char* kRoundings[] = {"UPWARD", "DOWNWARD", "TONEAREST", "TOEVEN"};

// round(q * multiplier / 2^shift) in 128 bits: the quotient rounded down, and by how
// much it is less.
__int128 in_wide_integers(int64_t q, int64_t multiplier, int64_t shift, std::string_view rounding) {
  const __int128 product = static_cast<__int128>(q) * multiplier, unit = static_cast<__int128>(1) << shift;
  __int128 down = product / unit;
  if (down * unit > product) --down;
  const __int128 twice_less = 2 * (product - down * unit);
  if (rounding == "DOWNWARD" || twice_less < unit) return down;
  if (twice_less > unit || rounding == "UPWARD") return down + 1;
  if (rounding == "TONEAREST") return product < 0 ? down : down + 1;
  return down % 2 == 0 ? down : down + 1;
}

Tensor hard_integers() {
  std::vector<int64_t> values{INT32_MAX, INT32_MAX - 1, INT32_MIN, INT32_MIN + 1};
  for (int64_t v = -40; v <= 40; ++v) values.push_back(v);
  for (int64_t bit = 3; bit < 31; ++bit) {
    for (const int64_t near : {-1, 0, 1}) {
      values.push_back((int64_t{1} << bit) + near);
      values.push_back(-(int64_t{1} << bit) + near);
    }
  }
  Tensor out(kInt32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set_int(static_cast<int64_t>(i), values[i]);
  return out;
}

TEST(Rescale, IsTheRoundedFraction) {
  const Tensor q = hard_integers();
  for (const std::string rounding : kRoundings) {
    for (const int64_t multiplier : {int64_t{1}, int64_t{3}, int64_t{1} << 30, int64_t{INT32_MAX}}) {
      for (int64_t shift = 0; shift <= 62; ++shift) {
        const Tensor got = evaluate(kQnnRescale, {q},
                                    {{"multiplier", multiplier},
                                     {"shift", shift},
                                     {"rounding", rounding},
                                     {"zero_point", int64_t{5}},
                                     {"out_dtype", kInt32}});
        for (int64_t i = 0; i < q.size(); ++i) {
          const __int128 want = in_wide_integers(q.get_int(i), multiplier, shift, rounding) + 5;
          const __int128 low = INT32_MIN, high = INT32_MAX;
          ASSERT_EQ(got.get_int(i), static_cast<int64_t>(std::clamp(want, low, high)))
              << q.get_int(i) << " * " << multiplier << " / 2^" << shift << ", " << rounding;
        }
      }
    }
  }
}

TEST(Rescale, LowersToTheSame) {
  const Tensor q = hard_integers();
  for (const std::string rounding : kRoundings) {
    for (const int64_t shift : {0, 1, 17, 62}) {
      check_lowering(kQnnRescale, {q},
                     {{"multiplier", int64_t{INT32_MAX}}, {"shift", shift}, {"rounding", rounding}});
    }
    check_lowering(
        kQnnRescale, {random(kUInt16, {3, 5}, 1, 0, 65535)},
        {{"shift", int64_t{8}}, {"rounding", rounding}, {"zero_point", int64_t{200}}, {"out_dtype", kUInt8}});
  }
}

TEST(Rescale, Relations) {
  Context c;
  const Type q = c.tensor_type({c.shape_variable("n"), Dim(4)}, kInt32);
  EXPECT_EQ(infer_text(c, kQnnRescale, {q}), "Tensor[(n, 4), int8]");
  EXPECT_EQ(infer_text(c, kQnnRescale, {q}, {{"out_dtype", kUInt16}}), "Tensor[(n, 4), uint16]");
  EXPECT_EQ(infer_text(c, kQnnRescale, {c.scalar_type(kUInt32)}),
            "expected int8, uint8, int16, uint16 or int32");
  EXPECT_EQ(infer_text(c, kQnnRescale, {q}, {{"multiplier", int64_t{1} << 31}}),
            "multiplier must be at least 1 and less than 2^31");
  EXPECT_EQ(infer_text(c, kQnnRescale, {q}, {{"shift", int64_t{-1}}}),
            "shift must be at least 0 and at most 62");
  EXPECT_EQ(infer_text(c, kQnnRescale, {q}, {{"zero_point", int64_t{-129}}}),
            "zero_point must be an integer of int8");
}

}  // namespace
}  // namespace relay::op::testing
