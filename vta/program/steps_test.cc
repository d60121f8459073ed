// Steps on numbers of 32 bits give what operators give.
#include "vta/program/steps.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::vta {
namespace {

const Origin kHere = {"here"};

int32_t word(int64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v)); }

// What the ALU makes of a number; `tensor` is what a step reads.
int32_t run(const Steps::Made& made, int32_t v, size_t channel = 0, int32_t tensor = 0) {
  for (size_t k = 0; k < made.steps.size(); k++) {
    const LayerStep& s = made.steps[k];
    const int64_t operand = s.operand == OperandKind::kImmediate ? s.immediate
                            : s.operand == OperandKind::kTensor  ? tensor
                                                                 : made.channels[k].at(channel);
    switch (s.op) {
      case AluOp::kMin: v = std::min(v, word(operand)); break;
      case AluOp::kMax: v = std::max(v, word(operand)); break;
      case AluOp::kAdd: v = word(int64_t{v} + operand); break;
      case AluOp::kMul: v = word(int64_t{v} * operand); break;
      case AluOp::kShr: v = operand < 0 ? word(int64_t{v} << -operand) : v >> operand; break;
    }
  }
  return v;
}

std::vector<int64_t> hard(const Range& range) {
  std::vector<int64_t> out;
  const auto take = [&](int64_t v) {
    if (range.low <= v && v <= range.high) out.push_back(v);
  };
  for (int64_t v = -300; v <= 300; v++) take(v);
  for (int64_t v = 0; v < 40; v++) {
    take(range.low + v);
    take(range.high - v);
  }
  for (int bit = 8; bit < 31; bit++) {
    for (const int64_t near : {-1, 0, 1}) {
      for (const int64_t odd : {1, 3, 5})
        take(odd * (int64_t{1} << bit) + near), take(-odd * (int64_t{1} << bit) + near);
    }
  }
  return out;
}

TEST(Steps, RescaleIsExactOrRefused) {
  size_t made = 0, refused = 0;
  for (const Range range : {Range{-100, 90}, Range{-40'000, 3'000'000}, Range{INT32_MIN, INT32_MAX}}) {
    const std::vector<int64_t> values = hard(range);
    const Tensor q = op::testing::tensor<int64_t>(kInt32, {std::ssize(values)}, values);
    for (const DType result : {kInt8, kInt16, kInt32}) {
      for (const std::string rounding : {"UPWARD", "DOWNWARD", "TONEAREST", "TOEVEN"}) {
        for (const int64_t multiplier : {1, 3, 8, 200, 100'001, INT32_MAX}) {
          for (const int64_t shift : {0, 1, 2, 7, 15, 16, 17, 30, 31, 32, 33, 62}) {
            for (const int64_t zero : {0, -5}) {
              Steps steps(1, kInt32, range);
              const std::string why = steps.rescale({multiplier, shift, zero, rounding, result}, kHere);
              if (!why.empty()) {
                refused++;
                continue;
              }
              made++;
              const Tensor want = op::testing::evaluate(op::kQnnRescale, {q},
                                                        {{"multiplier", multiplier},
                                                         {"shift", shift},
                                                         {"zero_point", zero},
                                                         {"rounding", rounding},
                                                         {"out_dtype", result}});
              const Steps::Made steps_made = steps.made();
              for (size_t i = 0; i < values.size(); i++) {
                const int64_t got = run(steps_made, word(values[i]));
                ASSERT_EQ(got, want.get_int(static_cast<int64_t>(i)))
                    << values[i] << " * " << multiplier << " / 2^" << shift << ", " << rounding << " of "
                    << range.low << " to " << range.high << " as " << result.name();
                ASSERT_TRUE(steps.range().low <= got && got <= steps.range().high);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(made, 1000u);
  EXPECT_GT(refused, 1000u);
}

// A shift that rounds and saturates is what quantised networks have behind each product.
TEST(Steps, ShiftsOfSumsAreNeverRefused) {
  for (const std::string rounding : {"UPWARD", "DOWNWARD"}) {
    for (int64_t shift = 0; shift <= 62; shift++) {
      Steps steps(1, kInt32, {INT32_MIN, INT32_MAX});
      EXPECT_EQ(steps.rescale({1, shift, 0, rounding, kInt8}, kHere), "") << shift;
    }
  }
}

TEST(Steps, WrapOnlyWhereSomebodyLooks) {
  Steps sums(1, kInt8, {-128, 127});
  sums.add({100}, kHere);
  EXPECT_EQ(sums.made().steps.size(), 1u);  // the result is the low 8 bits
  sums.maximum({0}, kHere);
  EXPECT_EQ(sums.made().steps.size(), 4u);  // two shifts bring the sign back
  EXPECT_EQ(run(sums.made(), 100), 0);      // 200 is -56
  EXPECT_EQ(run(sums.made(), -50), 50);
}

TEST(Steps, WhatChangesNothingIsNoStep) {
  Steps s(1, kInt32, {0, 100});
  s.add({0}, kHere);
  s.multiply({1}, kHere);
  s.shift_left({0}, kHere);
  s.maximum({0}, kHere);
  s.minimum({100}, kHere);
  s.cast(kInt8, kHere);
  EXPECT_TRUE(s.made().steps.empty());
}

TEST(Steps, NeighbouringSumsOfConstantsAreOne) {
  Steps s(2, kInt32, {0, 100});
  s.add({1, 2}, kHere);
  s.add({5}, kHere);
  s.add({INT32_MAX, 0}, kHere);
  const Steps::Made made = s.made();
  ASSERT_EQ(made.steps.size(), 1u);
  EXPECT_EQ(made.channels[0], (std::vector<int32_t>{INT32_MIN + 5, 7}));
  EXPECT_EQ(s.range(), (Range{INT32_MIN, INT32_MAX}));
}

// One clip and one sum are left of relu, the rounding of a rescale and its saturation.
TEST(Steps, ClipsGoBehindShifts) {
  const Range range{-100'000, 100'000};
  Steps s(2, kInt32, range);
  s.add({1000, -7}, kHere);
  s.maximum({0}, kHere);
  ASSERT_EQ(s.rescale({.shift = 7}, kHere), "");
  const Steps::Made made = s.made();
  std::vector<AluOp> ops;
  for (const LayerStep& step : made.steps) ops.push_back(step.op);
  EXPECT_EQ(ops, (std::vector<AluOp>{AluOp::kAdd, AluOp::kShr, AluOp::kMax, AluOp::kMin}));
  EXPECT_EQ(s.range(), (Range{0, 127}));
  for (const int64_t v : hard(range)) {
    for (const size_t channel : {0u, 1u}) {
      const int64_t sum = std::max<int64_t>(v + (channel == 0 ? 1000 : -7), 0);
      ASSERT_EQ(run(made, word(v), channel), std::min<int64_t>((sum + 64) >> 7, 127)) << v;
    }
  }
}

TEST(Steps, AClipStaysBeforeAShiftThatNeedsIt) {
  // The largest number wraps if the sum comes first.
  Steps wraps(1, kInt32, {INT32_MIN, INT32_MAX});
  wraps.minimum({1000}, kHere);
  wraps.add({8}, kHere);
  wraps.shift_right({4}, kHere);
  EXPECT_EQ(wraps.made().steps[0].op, AluOp::kMin);
  EXPECT_EQ(run(wraps.made(), INT32_MAX), 1008 >> 4);
  // It would be a constant for each channel, and the ALU takes longer for those.
  Steps channels(2, kInt32, {-1000, 1000});
  channels.maximum({0}, kHere);
  channels.add({100, 200}, kHere);
  channels.shift_right({2}, kHere);
  const Steps::Made made = channels.made();
  EXPECT_EQ(made.steps[0].op, AluOp::kMax);
  EXPECT_EQ(run(made, -500, 1), 50);
  // Each channel has another amount.
  Steps amounts(2, kInt32, {-1000, 1000});
  amounts.maximum({0}, kHere);
  amounts.shift_right({1, 2}, kHere);
  EXPECT_EQ(amounts.made().steps[0].op, AluOp::kMax);
}

TEST(Steps, NumbersOf16BitsAreImmediate) {
  Steps s(3, kInt32, {INT32_MIN, INT32_MAX});
  s.maximum({-32768, -32768, -32768}, kHere);
  s.minimum({32768}, kHere);
  const Steps::Made made = s.made();
  ASSERT_EQ(made.steps.size(), 2u);
  EXPECT_EQ(made.steps[0].operand, OperandKind::kImmediate);
  EXPECT_EQ(made.steps[0].immediate, -32768);
  EXPECT_EQ(made.steps[1].operand, OperandKind::kChannel);
  EXPECT_EQ(made.channels[1], (std::vector<int32_t>{32768, 32768, 32768}));
}

}  // namespace
}  // namespace relay::vta
