// One model in many threads: every run of every thread gives the bits that one thread gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>

#include "aot/testing.h"

namespace relay::aot {
namespace {

constexpr int kThreads = 64;

// The same arithmetic as a plan, and as functions over values with a loop; a tree whose calls
// are deferred.
constexpr std::string_view kPlan = R"(
def @main(%x: Tensor[(4, 16), float32]) { nn.softmax(nn.dense(exp(%x), add(%x, tensor([[0.5]], float32)))) }
)";
constexpr std::string_view kLoop = R"(
def @again(%x: Tensor[(4, 16), float32], %y: Tensor[(4, 4), float32], %i: int32) -> Tensor[(4, 4), float32] {
  if (less_equal(%i, 0)) { %y } else { @again(%x, add(%y, nn.softmax(nn.dense(exp(%x), %x))), subtract(%i, 1)) }
}
def @main(%x: Tensor[(4, 16), float32]) { @again(%x, tensor([[0, 0, 0, 0]], float32) + nn.dense(%x, %x), 3) }
)";
constexpr std::string_view kTree = R"(
type Tree { Leaf(Tensor[(1, 64), float32]), Fork(Tree, Tree) }
def @grow(%depth: int32, %x: Tensor[(1, 64), float32]) -> Tree {
  if (%depth <= 0) { Leaf(%x) } else { Fork(@grow(%depth - 1, %x), @grow(%depth - 2, %x * 0.5f)) }
}
def @state(%t: Tree) -> Tensor[(1, 64), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Fork(%l, %r) => tanh(nn.dense(@state(%l) + @state(%r), full(0.015625f, shape=[64, 64], dtype="float32")))
  }
}
def @main(%x: Tensor[(4, 16), float32]) {
  nn.dense(reshape(@state(@grow(4, reshape(%x, newshape=[1, 64]))), newshape=[4, 16]), %x)
}
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

struct Load {
  std::string_view name, program;
  int runs;  // of each thread
};
bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

class Stress : public testing::TestWithParam<Load> {};

TEST_P(Stress, ManyThreadsGiveTheBitsOfOne) {
  const int runs = GetParam().runs;
  const Compiled c(GetParam().program);
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
      for (int i = 0; i < runs; ++i) {
        const size_t v = static_cast<size_t>(t + i) % kThreads;
        const std::vector<float> y = run(*c.api, context, static_cast<int>(v));
        if (!std::equal(y.begin(), y.end(), right[v].begin(), right[v].end(), same_bits)) ++wrong;
      }
      c.api->context_free(context);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0) << "of " << kThreads * runs;
  EXPECT_EQ(c.api->model_close(model), RELAY_OK);
}

INSTANTIATE_TEST_SUITE_P(Programs, Stress,
                         testing::Values(Load{"plan", kPlan, 10000}, Load{"loop", kLoop, 10000},
                                         Load{"tree", kTree, 1000}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Tree, IsDeferred) {
  std::string model;
  for (const SourceFile& f : sources_of(kTree, {kAnyProcessor}, {}).files) {
    if (f.name == "model.cc") model = f.text;
  }
  EXPECT_NE(model.find("defer(run, "), std::string::npos);
}

}  // namespace
}  // namespace relay::aot
