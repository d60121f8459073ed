// Outputs that lie on inputs: a training step that updates its weights where they are.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "aot/testing.h"

namespace relay::aot {
namespace {

std::vector<uint32_t> bits_of(const std::vector<float>& numbers) {
  std::vector<uint32_t> out;
  for (float x : numbers) out.push_back(std::bit_cast<uint32_t>(x));
  return out;
}

constexpr int64_t kRows = 37,
                  kColumns = 1031;  // of the weights: threads share them, and vectors leave some over
constexpr size_t kSize = kRows * kColumns;

// Weights with their velocity, and a bias that is updated without one; the sum is of
// the old weights.
constexpr std::string_view kStep = R"(
def @main(%w: Tensor[(37, 1031), float32], %v: Tensor[(37, 1031), float32], %b: Tensor[(5), float32],
          %t: int32, %g: Tensor[(37, 1031), float32]) {
  let %loss = sum(%w * %w);
  let %next = 0.9f * %v + %g * tanh(%w);
  (%loss, %w - 0.01f * %next, %next, %b - 0.5f * exp(%b), %t + 1)
}
)";
const Compiled& step() {
  static const Compiled c(kStep);
  return c;
}

struct StepRun : Session {
  explicit StepRun(unsigned threads = 1) : Session(step(), nullptr, threads) {
    for (size_t i = 0; i < kSize; ++i) {
      w[i] = static_cast<float>(i % 97) / 64 - 0.7f;
      g[i] = static_cast<float>(i % 61) / 32 - 0.9f;
    }
  }

  static DLTensor matrix(float* data) {
    static int64_t shape[] = {kRows, kColumns};
    return {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  }
  static DLTensor vector(float* data) {
    static int64_t shape[] = {5};
    return {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  }
  static DLTensor scalar(void* data, uint8_t code) {
    return {data, {kDLCPU, 0}, 0, {code, 32, 1}, nullptr, nullptr, 0};
  }

  struct Places {
    float *w, *v, *b;
    int32_t* t;
  };
  relay_status go(const Places& out) {
    const DLTensor in[] = {matrix(w.data()), matrix(v.data()), vector(b.data()), scalar(&t, kDLInt),
                           matrix(g.data())};
    DLTensor results[] = {scalar(&loss, kDLFloat), matrix(out.w), matrix(out.v), vector(out.b),
                          scalar(out.t, kDLInt)};
    const DLTensor* inputs[5];
    DLTensor* outputs[5];
    for (size_t i = 0; i < 5; ++i) inputs[i] = &in[i], outputs[i] = &results[i];
    return api->run(context, inputs, 5, outputs, 5);
  }
  Places own() { return {w.data(), v.data(), b.data(), &t}; }

  std::vector<float> w = std::vector<float>(2 * kSize), v = std::vector<float>(kSize),
                     b{0, -1, 0.5f, 0.25f, 2}, g = std::vector<float>(kSize);
  int32_t t = 0;
  float loss = 0;
};

TEST(SharedMemory, AStepGivesTheSameBitsInOneBufferAsInTwo) {
  for (const unsigned threads : {1u, 3u}) {
    StepRun one(threads), two(threads);
    std::vector<float> next_w(kSize), next_v(kSize), next_b(5);
    int32_t next_t = 0;
    for (int32_t i = 1; i <= 10; ++i) {
      ASSERT_EQ(one.go(one.own()), RELAY_OK) << one.said();
      const std::vector<float> before = two.w;
      ASSERT_EQ(two.go({next_w.data(), next_v.data(), next_b.data(), &next_t}), RELAY_OK) << two.said();
      ASSERT_EQ(two.w, before) << "an input is never written but as an output";
      std::copy(next_w.begin(), next_w.end(), two.w.begin());
      two.v = next_v, two.b = next_b, two.t = next_t;
      ASSERT_EQ(bits_of(one.w), bits_of(two.w)) << i;
      ASSERT_EQ(bits_of(one.v), bits_of(two.v)) << i;
      ASSERT_EQ(one.b, two.b) << i;
      ASSERT_EQ(one.t, i);
      ASSERT_EQ(one.loss, two.loss) << i;
    }
  }
}

TEST(SharedMemory, TheDescriptionAndTheHeaderListThePairs) {
  const Sources sources = sources_of(kStep, {kAnyProcessor}, {});
  const auto d = nlohmann::json::parse(sources.description);
  std::set<std::pair<int, int>> pairs;
  for (const auto& p : d["aliased"]) pairs.emplace(p["output"], p["input"]);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pairs.contains({i + 1, i})) << i << d["aliased"];
  for (const auto& [output, input] : pairs) EXPECT_NE(output, 0) << "the sum reads all of the weights";
  EXPECT_NE(sources.header.find("output 1 of input 0"), std::string::npos);
}

// C: memory is shared by listed pairs, and then from the first byte to the last.
TEST(SharedMemory, OtherSharedMemoryIsRefused) {
  StepRun r;
  std::vector<float> w(kSize), v(kSize), b(5);
  int32_t t = 0;
  const StepRun::Places apart{w.data(), v.data(), b.data(), &t};
  const auto refused = [&](const StepRun::Places& places, std::string_view why) {
    const std::vector<float> before = r.w;
    EXPECT_EQ(r.go(places), RELAY_USAGE) << why;
    EXPECT_NE(r.said().find(why), std::string::npos) << r.said();
    EXPECT_EQ(r.w, before);
  };
  auto places = apart;
  places.w = r.w.data() + 1;
  refused(places, "output `output_1` lies on input `w`: give it all of that memory or none");
  places = apart, places.v = r.w.data();
  refused(places, "output `output_2` lies on input `w`: give it other memory");
  places = apart, places.v = w.data();
  refused(places, "output `output_2` lies on output `output_1`: give it other memory");
  places = apart, places.t = reinterpret_cast<int32_t*>(r.b.data()) + 4;
  refused(places, "output `output_4` lies on input `b`");
  EXPECT_EQ(r.go(apart), RELAY_OK) << r.said();
  EXPECT_EQ(r.go(r.own()), RELAY_OK) << r.said();
}

// What is given back as it came may stay where it is.
TEST(SharedMemory, AnInputThatIsGivenBack) {
  const Compiled c("def @main(%x: Tensor[(5), float32], %y: Tensor[(5), float32]) { (%x, %y * 2f) }");
  Session s(c);
  std::vector<float> x{1, 2, 3, 4, 5}, y = x;
  DLTensor in[] = {StepRun::vector(x.data()), StepRun::vector(y.data())};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  DLTensor* outputs[] = {&in[0], &in[1]};
  ASSERT_EQ(s.api->run(s.context, inputs, 2, outputs, 2), RELAY_OK) << s.said();
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8, 10}));
}

// C: a program with control flow updates nothing in place.
TEST(SharedMemory, FunctionsOverValuesShareNoMemory) {
  const Compiled c(
      "def @main(%x: Tensor[(5), float32], %n: int32) { if (%n > 0) { %x * 2f } else { exp(%x) } }");
  Session s(c);
  EXPECT_FALSE(nlohmann::json::parse(s.api->model_describe(s.model)).contains("aliased"));
  std::vector<float> x{1, 2, 3, 4, 5}, y(5);
  int32_t n = 1;
  const DLTensor in[] = {StepRun::vector(x.data()), StepRun::scalar(&n, kDLInt)};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  DLTensor out = StepRun::vector(x.data());
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(s.api->run(s.context, inputs, 2, outputs, 1), RELAY_USAGE);
  EXPECT_NE(s.said().find("lies on input `x`"), std::string::npos) << s.said();
  out.data = y.data();
  EXPECT_EQ(s.api->run(s.context, inputs, 2, outputs, 1), RELAY_OK) << s.said();
  EXPECT_EQ(y[4], 10);
}

// One library for several extents, among them none.
TEST(SharedMemory, ShapeVariables) {
  const Compiled c("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { (sum(%x), %x - %y) }");
  Session s(c);
  for (int64_t n : {0, 1, 16, 1000}) {
    std::vector<float> x(static_cast<size_t>(n) + 1, 3), y(static_cast<size_t>(n) + 1, 1);
    float sum = 0;
    int64_t shape[] = {n};
    DLTensor in[] = {{x.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0},
                     {y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}};
    DLTensor total = StepRun::scalar(&sum, kDLFloat);
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&total, &in[0]};
    ASSERT_EQ(s.api->run(s.context, inputs, 2, outputs, 2), RELAY_OK) << n << s.said();
    EXPECT_EQ(sum, 3 * static_cast<float>(n));
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(x[static_cast<size_t>(i)], 2) << i << " of " << n;
    EXPECT_EQ(x.back(), 3);
  }
}

}  // namespace
}  // namespace relay::aot
