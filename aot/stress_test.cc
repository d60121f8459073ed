// One model in many threads: every run of every thread gives the bits that one thread gives.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "aot/testing.h"

namespace relay::aot {
namespace {

constexpr int kThreads = 64, kRuns = 10000;

// The same arithmetic as a plan, and as functions over values with a loop.
constexpr std::string_view kPlan = R"(
def @main(%x: Tensor[(4, 16), float32]) { nn.softmax(nn.dense(exp(%x), add(%x, tensor([[0.5]], float32)))) }
)";
constexpr std::string_view kLoop = R"(
def @again(%x: Tensor[(4, 16), float32], %y: Tensor[(4, 4), float32], %i: int32) -> Tensor[(4, 4), float32] {
  if (less_equal(%i, 0)) { %y } else { @again(%x, add(%y, nn.softmax(nn.dense(exp(%x), %x))), subtract(%i, 1)) }
}
def @main(%x: Tensor[(4, 16), float32]) { @again(%x, tensor([[0, 0, 0, 0]], float32) + nn.dense(%x, %x), 3) }
)";

std::vector<float> run(const relay_api& api, relay_context* context, int variant) {
  std::vector<float> x(4 * 16), y(4 * 4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.01f * static_cast<float>(i + 1) + 0.37f * static_cast<float>(variant);
  int64_t in_shape[] = {4, 16}, out_shape[] = {4, 4};
  const DLTensor in = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, in_shape, nullptr, 0};
  DLTensor out = {y.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, out_shape, nullptr, 0};
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  if (api.run(context, inputs, 1, outputs, 1) != RELAY_OK) y.clear();
  return y;
}

class Stress : public testing::TestWithParam<std::string_view> {};

TEST_P(Stress, ManyThreadsGiveTheBitsOfOne) {
  const Compiled c(GetParam());
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  relay_model* model = nullptr;
  ASSERT_EQ(c.api->model_open(&options, &model), RELAY_OK);
  std::vector<std::vector<float>> right;
  relay_context* one = nullptr;
  ASSERT_EQ(c.api->context_create(model, &one), RELAY_OK);
  for (int v = 0; v < kThreads; ++v) right.push_back(run(*c.api, one, v));
  c.api->context_free(one);
  ASSERT_NE(right[0], right[1]);
  ASSERT_EQ(right[0].size(), 16u);

  std::atomic<int> wrong = 0, ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      relay_context* context = nullptr;
      if (c.api->context_create(model, &context) != RELAY_OK) ++wrong;
      for (++ready; ready < kThreads;) std::this_thread::yield();
      for (int i = 0; i < kRuns; ++i) {
        const size_t v = static_cast<size_t>(t + i) % kThreads;
        const std::vector<float> y = run(*c.api, context, static_cast<int>(v));
        if (y.size() != 16 || std::memcmp(y.data(), right[v].data(), 16 * sizeof(float)) != 0) ++wrong;
      }
      c.api->context_free(context);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0) << "of " << kThreads * kRuns;
  EXPECT_EQ(c.api->model_close(model), RELAY_OK);
}

INSTANTIATE_TEST_SUITE_P(Programs, Stress, testing::Values(kPlan, kLoop),
                         [](const auto& test) { return test.param == kPlan ? "plan" : "loop"; });

}  // namespace
}  // namespace relay::aot
