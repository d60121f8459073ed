// Outputs that live in the context: what a caller may do with them in the next run.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "aot/testing.h"
#include "base/cat.h"

namespace relay::aot {
namespace {

// A state goes in and comes out, as in a recurrence: once as a plan, once as functions whose
// results before the last take memory that is free.
constexpr std::string_view kPlan = R"(
def @main(%x: Tensor[(n), float32], %h: Tensor[(n), float32]) { (%x + 2f * %h, %x - %h) }
)";
constexpr std::string_view kFunctions = R"(
def @count(%x: Tensor[(n), float32], %i: Tensor[(), int32]) -> Tensor[(n), float32] {
  if (%i < 1) { %x } else { let %y = @count(%x + 1f, %i - 1); %y - 1f }
}
def @main(%x: Tensor[(n), float32], %h: Tensor[(n), float32]) {
  let %a = @count(%x, 3);
  let %b = @count(%x + 1f, 4);
  (@count(%a + 2f * %h, 2), %b - %h - 1f)
}
)";

struct Recurrence : Session {
  using Session::Session;
  int64_t shape[1] = {0};
  std::vector<float> x, h;  // the state of the first run
  DLTensor state = {}, out[2] = {};

  void start(int64_t n) {
    shape[0] = n;
    x.assign(static_cast<size_t>(n), 3);
    h.assign(static_cast<size_t>(n), 1);
    state = tensor(h);
  }
  DLTensor tensor(std::vector<float>& data) {
    return {data.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  }
  relay_status go() {
    const DLTensor given = tensor(x);
    const DLTensor* inputs[] = {&given, &state};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api->run(context, inputs, 2, outputs, 2);
  }
  // Every element, and as many as there are to be.
  static bool holds(const DLTensor& t, int64_t n, float value) {
    const float* data = static_cast<const float*>(t.data);
    bool same = t.ndim == 1 && t.shape[0] == n;
    for (int64_t k = 0; same && k < n; ++k) same = data[k] == value;
    return same;
  }
};

class HeldOutputs : public testing::TestWithParam<std::string_view> {};

TEST_P(HeldOutputs, AreInputsOfTheNextRun) {
  const Compiled c(GetParam());
  Counting memory{-1};
  {
    Recurrence r(c, &memory.api);
    r.start(64);
    float state = 1;
    int requests = 0;
    for (int k = 0; k < 12; ++k) {
      ASSERT_EQ(r.go(), RELAY_OK) << k << ": " << r.said();
      ASSERT_TRUE(Recurrence::holds(r.out[1], 64, 3 - state)) << k;
      state = 3 + 2 * state;
      ASSERT_TRUE(Recurrence::holds(r.out[0], 64, state)) << k;
      r.state = r.out[0];  // its memory is the context's, and so are its extents
      if (k % 2 == 0) r.out[0] = r.out[1] = {};
      if (k == 6) requests = memory.requests;
    }
    EXPECT_EQ(memory.requests, requests) << "two pieces of memory in turn are enough";
  }
  EXPECT_EQ(memory.live, 0);
}

TEST_P(HeldOutputs, TheSameTensorIsPlacedAnew) {
  const Compiled c(GetParam());
  Recurrence r(c);
  for (const int64_t n : {4, 64, 3, 0, 1000, 64}) {
    r.start(n);
    ASSERT_EQ(r.go(), RELAY_OK) << n << ": " << r.said();  // with what the run before gave
    EXPECT_TRUE(Recurrence::holds(r.out[0], n, 5)) << n;
    EXPECT_TRUE(Recurrence::holds(r.out[1], n, 2)) << n;
  }
}

// A run that fails leaves the context as good as it was.
TEST_P(HeldOutputs, ARefusedRunTakesNothingAway) {
  const Compiled c(GetParam());
  Recurrence r(c);
  r.start(8);
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  r.state = r.out[0];
  r.state.dtype.bits = 64;
  EXPECT_EQ(r.go(), RELAY_USAGE);
  r.state.dtype.bits = 32;
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_TRUE(Recurrence::holds(r.out[0], 8, 13));
}

// The memory of the state is nobody else's until a run has succeeded.
TEST_P(HeldOutputs, ACancelledRunCanBeTriedAgain) {
  const Compiled c(GetParam());
  Recurrence r(c);
  r.start(64);
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  r.state = r.out[0];
  for (int k = 0; k < 3; ++k) {
    r.api->cancel(r.context);
    ASSERT_EQ(r.go(), RELAY_CANCELLED) << k;
  }
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_TRUE(Recurrence::holds(r.out[0], 64, 13));
  EXPECT_TRUE(Recurrence::holds(r.out[1], 64, -2));
}

INSTANTIATE_TEST_SUITE_P(Programs, HeldOutputs, testing::Values(kPlan, kFunctions),
                         [](const auto& program) { return program.index == 0 ? "Plan" : "Functions"; });

// A state whose extent changes from run to run: a plan and functions each for one that grows by
// `x`, and for one that keeps every other element. They trap if `d` is 0.
constexpr std::string_view kGrowing[] = {R"(
def @main(%h: Tensor[(n), float32], %x: Tensor[(m), float32], %d: int32) {
  (concatenate((%h, %x), axis=0), floor_divide(7, %d))
}
)",
                                         R"(
def @count(%x: Tensor[(n), float32], %i: int32) -> Tensor[(n), float32] {
  if (%i < 1) { %x } else { let %y = @count(%x + 1f, %i - 1); %y - 1f }
}
def @main(%h: Tensor[(n), float32], %x: Tensor[(m), float32], %d: int32) {
  (concatenate((@count(%h, 3), %x), axis=0), floor_divide(7, %d))
}
)"};
constexpr std::string_view kShrinking[] = {R"(
def @main(%h: Tensor[(n), float32], %x: Tensor[(m), float32], %d: int32) {
  (strided_slice(%h, begin=[0], end=[2147483647], strides=[2]), floor_divide(7, %d))
}
)",
                                           R"(
def @count(%x: Tensor[(n), float32], %i: int32) -> Tensor[(n), float32] {
  if (%i < 1) { %x } else { let %y = @count(%x + 1f, %i - 1); %y - 1f }
}
def @main(%h: Tensor[(n), float32], %x: Tensor[(m), float32], %d: int32) {
  (strided_slice(@count(%h, 3), begin=[0], end=[2147483647], strides=[2]), floor_divide(7, %d))
}
)"};

struct Resized : Session {
  using Session::Session;
  int64_t h_shape[1] = {0}, x_shape[1] = {0};
  std::vector<float> h, x;
  int32_t d = 1;
  DLTensor state = {}, out[2] = {};

  void start(std::vector<float> from) {
    h = std::move(from);
    h_shape[0] = static_cast<int64_t>(h.size());
    state = {h.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, h_shape, nullptr, 0};
  }
  relay_status go(std::vector<float> more = {}) {
    x = std::move(more);
    x_shape[0] = static_cast<int64_t>(x.size());
    const DLTensor in_x = {x.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, x_shape, nullptr, 0};
    const DLTensor in_d = {&d, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0};
    const DLTensor* inputs[] = {&state, &in_x, &in_d};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api->run(context, inputs, 3, outputs, 2);
  }
  static std::vector<float> elements(const DLTensor& t) {
    const float* data = static_cast<const float*>(t.data);
    return {data, data + t.shape[0]};
  }
};

class ResizedOutputs : public testing::TestWithParam<size_t> {};

TEST_P(ResizedOutputs, AStateThatGrows) {
  const Compiled c(kGrowing[GetParam()]);
  Resized r(c);
  r.start({});
  std::vector<float> wanted;
  for (const size_t more : {0, 1, 2, 0, 40, 3, 500}) {
    const std::vector<float> before = wanted, x(more, static_cast<float>(more));
    wanted.insert(wanted.end(), x.begin(), x.end());
    ASSERT_EQ(r.go(x), RELAY_OK) << more << ": " << r.said();
    ASSERT_EQ(Resized::elements(r.out[0]), wanted) << more;
    ASSERT_EQ(r.state.shape[0], static_cast<int64_t>(before.size())) << "the input's extents are its own";
    r.state = r.out[0];
  }
}

TEST_P(ResizedOutputs, AStateThatShrinks) {
  const Compiled c(kShrinking[GetParam()]);
  Resized r(c);
  r.start({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const std::vector<float> wanted[] = {{0, 2, 4, 6, 8}, {0, 4, 8}, {0, 8}, {0}, {0}};
  int64_t before = 10;
  for (const std::vector<float>& w : wanted) {
    ASSERT_EQ(r.go(), RELAY_OK) << w.size() << ": " << r.said();
    ASSERT_EQ(Resized::elements(r.out[0]), w);
    ASSERT_EQ(r.state.shape[0], before);
    before = static_cast<int64_t>(w.size());
    r.state = r.out[0];
  }
}

TEST_P(ResizedOutputs, ARunThatTrapsOrIsCancelledCanBeTriedAgain) {
  for (const std::string_view program : {kGrowing[GetParam()], kShrinking[GetParam()]}) {
    const Compiled c(program);
    Counting memory{-1};
    {
      Resized r(c, &memory.api);
      r.start(std::vector<float>(64, 5));
      ASSERT_EQ(r.go(), RELAY_OK) << r.said();
      r.state = r.out[0];
      const int64_t n = r.state.shape[0];
      const std::vector<float> more(1000, 6);
      for (int k = 0; k < 4; ++k) {
        r.d = k % 2;
        if (r.d == 1) r.api->cancel(r.context);
        ASSERT_EQ(r.go(more), r.d == 0 ? RELAY_TRAP : RELAY_CANCELLED) << r.said();
        ASSERT_EQ(r.state.shape[0], n);
        ASSERT_EQ(Resized::elements(r.state), std::vector<float>(static_cast<size_t>(n), 5));
      }
      r.d = 1;
      ASSERT_EQ(r.go(more), RELAY_OK) << r.said();
      std::vector<float> wanted(static_cast<size_t>(n), 5);
      if (n == 64) wanted.insert(wanted.end(), more.begin(), more.end());
      if (n < 64) wanted.resize(static_cast<size_t>(n) / 2);
      EXPECT_EQ(Resized::elements(r.out[0]), wanted);
    }
    EXPECT_EQ(memory.live, 0);
  }
}

// The caller's memory for another output lies on the end of the state, which no element of the
// smaller output reaches.
TEST_P(ResizedOutputs, AnOverlapWithTheEndOfTheStateIsSeen) {
  const Compiled c(kShrinking[GetParam()]);
  Resized r(c);
  r.start(std::vector<float>(64, 5));
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  r.state = r.out[0];
  r.out[1] = {static_cast<float*>(r.state.data) + 31, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0};
  EXPECT_EQ(r.go(), RELAY_USAGE);
  EXPECT_NE(r.said().find("lies on input `h`"), std::string::npos) << r.said();
  r.out[1] = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(Resized::elements(r.out[0]), std::vector<float>(16, 5));
}

INSTANTIATE_TEST_SUITE_P(Programs, ResizedOutputs, testing::Values(0, 1),
                         [](const auto& program) { return program.index == 0 ? "Plan" : "Functions"; });

// Outputs that replace inputs stay where they are, in memory of the context as well. A run does not
// look at all pairs of them for each input: with 900 states that took 300 times as long as the run.
TEST(ManyHeldOutputs, StayWhereTheyAreAndAreFoundAtOnce) {
  constexpr size_t kStates = 900;
  std::string states, types;
  for (size_t i = 0; i < kStates; ++i) {
    const std::string_view comma = i == 0 ? "" : ", ";
    states += cat(comma, "%s", i);
    types += cat(comma, "%s", i, ": Tensor[(2), float32]");
  }
  const Compiled c(cat("def @main(", types, ") { (", states, ") }"));
  Session s(c);
  int64_t shape[1] = {2};
  std::vector<float> start(2 * kStates), end(2 * kStates);
  std::vector<DLTensor> in(kStates), own(kStates), held(kStates);
  std::vector<const DLTensor*> inputs;
  for (size_t i = 0; i < kStates; ++i) {
    start[2 * i] = static_cast<float>(i);
    in[i] = own[i] = {&start[2 * i], {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    own[i].data = &end[2 * i];
    inputs.push_back(&in[i]);
  }
  const auto fastest = [&](std::vector<DLTensor>& out) {
    std::vector<DLTensor*> outputs;
    for (DLTensor& t : out) outputs.push_back(&t);
    auto least = std::chrono::steady_clock::duration::max();
    for (int k = 0; k < 5; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(s.api->run(s.context, inputs.data(), kStates, outputs.data(), kStates), RELAY_OK) << s.said();
      least = std::min(least, std::chrono::steady_clock::now() - begin);
    }
    return least;
  };
  const auto with_memory = fastest(own);
  (void)fastest(held);
  in = held;
  const auto in_place = fastest(held);
  for (size_t i = 0; i < kStates; ++i) {
    ASSERT_EQ(held[i].data, in[i].data) << i;
    ASSERT_EQ(static_cast<const float*>(held[i].data)[0], static_cast<float>(i));
  }
  EXPECT_LT(in_place, 20 * with_memory);
}

}  // namespace
}  // namespace relay::aot
