#include "tools/debug/slice.h"

#include <gtest/gtest.h>

#include "tools/debug/refused.h"

namespace relay::tools::debug {
namespace {

// Element i of the tensor is i.
Tensor counting(Shape shape, DType dtype = kInt32) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i);
  return t;
}

std::string sliced(const std::string& text, const Tensor& t) { return show(apply(parse_slice(text), t)); }

std::string refusal(const std::string& text, const Tensor& t) {
  try {
    return "gives " + sliced(text, t);
  } catch (const Refused& why) {
    return why.what();
  }
}

TEST(Slice, TakesWhatItSays) {
  const Tensor t = counting({2, 3, 4});
  const std::pair<const char*, const char*> kRows[] = {
      {"[1]", "Tensor[(3, 4), int32] [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]"},
      {"[0, :, 1:3]", "Tensor[(3, 2), int32] [[1, 2], [5, 6], [9, 10]]"},
      {"[ -1 , -2 : , : : 3 ]", "Tensor[(2, 2), int32] [[16, 19], [20, 23]]"},
      {"[1, 2, 3]", "Tensor[(), int32] 23"},
      {"[:, 0, -1]", "Tensor[(2,), int32] [3, 15]"},
      {"[0, 0:3:2, :1]", "Tensor[(2, 1), int32] [[0], [8]]"},
      {"[-2:2, 2, 0]", "Tensor[(2,), int32] [8, 20]"},
      {"[0, 0, 0:4:100]", "Tensor[(1,), int32] [0]"},
  };
  for (const auto& [text, expected] : kRows) EXPECT_EQ(sliced(text, t), expected) << text;
}

TEST(Slice, OfNothingIsNothing) { EXPECT_EQ(sliced("[:, 1]", counting({0, 3})), "Tensor[(0,), int32] []"); }

TEST(Slice, KeepsWhatDoublesCannotHold) {
  Tensor t(kInt64, {2});
  t.set_int(1, INT64_MAX);
  EXPECT_EQ(apply(parse_slice("[1]"), t).get_int(0), INT64_MAX);
}

TEST(Slice, WhatIsOutOfRangeIsNamed) {
  const Tensor t = counting({2, 3});
  const std::pair<const char*, const char*> kRows[] = {
      {"[2]", "2 is out of range for dimension 0, whose extent is 2: 0 to 1, or -2 to -1 from the end"},
      {"[-3]", "-3 is out of range for dimension 0, whose extent is 2: 0 to 1, or -2 to -1 from the end"},
      {"[0, 3]", "3 is out of range for dimension 1, whose extent is 3: 0 to 2, or -3 to -1 from the end"},
      {"[:3]", "3 is out of range for dimension 0, whose extent is 2: 0 to 1, or -2 to -1 from the end"},
      {"[:, -4:]", "-4 is out of range for dimension 1, whose extent is 3: 0 to 2, or -3 to -1 from the end"},
      {"[1:1]", "the slice of dimension 0 is empty: 1 is not before 1"},
      {"[:, 2:1]", "the slice of dimension 1 is empty: 2 is not before 1"},
      {"[0, 0, 0]", "the slice has 3 dimensions, the tensor of shape (2, 3) has 2"},
  };
  for (const auto& [text, expected] : kRows) EXPECT_EQ(refusal(text, t), expected) << text;
  EXPECT_EQ(refusal("[0]", counting({})), "the slice has 1 dimension, the tensor of shape () has 0");
  EXPECT_EQ(refusal("[0]", counting({0})), "dimension 0 has no elements, so 0 is out of range");
}

TEST(Slice, WhatIsNoSliceIsNamed) {
  const Tensor t = counting({2, 3});
  const std::pair<const char*, const char*> kRows[] = {
      {"[", "does not end with `]`"},
      {"[0", "does not end with `]`"},
      {"[]", "has nothing between two commas"},
      {"[0,]", "has nothing between two commas"},
      {"[a]", "the slice's `a` is no integer"},
      {"[1.5]", "the slice's `1.5` is no integer"},
      {"[0:b]", "the slice's `b` is no integer"},
      {"[0 1]", "the slice's `0 1` is no integer"},
      {"[1:2:3:4]", "the slice's `3:4` is no integer"},
      {"[::0]", "step 0 must be at least 1"},
      {"[::-1]", "step -1 must be at least 1"},
      {"[9223372036854775808]", "too large for an index"},
  };
  for (const auto& [text, expected] : kRows)
    EXPECT_NE(refusal(text, t).find(expected), std::string::npos) << text << ": " << refusal(text, t);
}

TEST(Slice, TheSmallestIntegerIsNoOverflow) {
  EXPECT_NE(refusal("[-9223372036854775808]", counting({2})).find("out of range"), std::string::npos);
  EXPECT_EQ(sliced("[::9223372036854775807]", counting({2})), "Tensor[(1,), int32] [0]");
}

}  // namespace
}  // namespace relay::tools::debug
