// Graph passes on request: how far results move by those that approximate, and what passes say of
// programs that they leave.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "analysis/module_size.h"
#include "analysis/testing.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "op/testing.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;

Module after(const Module& m, std::string_view passes, const RunnerOptions& options = {}) {
  Diagnostics diagnostics;
  const Result<Module> out = run_pipeline(m, passes, options, diagnostics);
  EXPECT_TRUE(out) << diagnostics.render(m.context().sources());
  return out ? *out : m;
}

Tensor result(const Module& m, const Tensor& x) {
  return interp::Machine(m).call("main", {Value(x)}).tensor();
}

// The largest distance of two results, as a part of the largest number of the first.
double error(const Tensor& want, const Tensor& got) {
  EXPECT_EQ(want.dtype(), got.dtype());
  EXPECT_EQ(want.shape(), got.shape());
  double most = 0, distance = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::fabs(want.get(i)));
    distance = std::max(distance, std::fabs(want.get(i) - got.get(i)));
  }
  return distance / most;
}

constexpr std::string_view kNetwork = R"(
def @main(%x: Tensor[(2, 2, 4, 4), float32]) {
  %0 = multiply(%x, tensor([0.3, 1.7], float32, (2, 1, 1)));
  %1 = nn.conv2d(nn.relu(%0), tensor([0.1, 0.2, 0.3, -0.1, 0.4, 0.7], float32, (3, 2, 1, 1)));
  %2 = nn.relu(nn.bias_add(%1, tensor([0.1, -0.2, 0.3], float32)));
  nn.max_pool2d(multiply(%2, tensor([0.3, 7.1, 1.9], float32, (3, 1, 1))), pool_size=[2, 2])
})";

TEST(GraphPasses, FactorsInWeightsRoundALittleOtherwise) {
  const Module m = checked(kNetwork), folded = after(m, "fold-scale-axis");
  EXPECT_FALSE(folded.same(m));
  const Tensor x = op::testing::random(kFloat32, {2, 2, 4, 4}, 1, -1, 1);
  EXPECT_LT(error(result(m, x), result(folded, x)), 1e-6);
}

// float16 has 11 bits of significand and bfloat16 has 8; the network rounds a number four times.
TEST(GraphPasses, NarrowProductsRoundToTheirBits) {
  const Module m = checked(kNetwork);
  const Tensor x = op::testing::random(kFloat32, {2, 2, 4, 4}, 1, -1, 1);
  const Tensor want = result(m, x);
  const double half = error(want, result(after(m, "mixed-precision"), x)),
               brain = error(want, result(after(m, "mixed-precision{bfloat16=1}"), x));
  EXPECT_GT(half, 0);
  EXPECT_LT(half, 8 * std::ldexp(1, -11));
  EXPECT_GT(brain, half);
  EXPECT_LT(brain, 8 * std::ldexp(1, -8));
}

TEST(GraphPasses, APassSaysWhyItLeavesAProgram) {
  std::vector<std::string> told;
  RunnerOptions options;
  options.on_reason = [&](const Pass& pass, std::string_view reason) {
    told.push_back(std::string(pass.name) + ": " + std::string(reason));
  };
  const Module fails = checked(R"(
    def @f(%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { add(%x, %y) }
    def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { @f(%x, %y) })");
  EXPECT_TRUE(after(fails, "partial-evaluation", options).same(fails));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("partial-evaluation: with what is known"), std::string::npos) << told[0];
  EXPECT_NE(told[0].find("do not broadcast"), std::string::npos) << told[0];
  // Nobody asks, and there is nothing to say.
  EXPECT_TRUE(after(fails, "partial-evaluation").same(fails));
  const Module works = checked(R"(
    def @f(%n: int32) { if (equal(%n, 0)) { 1f } else { 2f } }
    def @main() { @f(0) })");
  EXPECT_FALSE(after(works, "partial-evaluation", options).same(works));
  EXPECT_EQ(told.size(), 1u);
}

// Each function of the chain calls the next one twice: without a limit the first ones would be as
// large as a function may become, each of them.
TEST(GraphPasses, MarkedFunctionsDoNotGrowWithoutEnd) {
  constexpr int kFunctions = 30;
  std::string text = cat("def @f", kFunctions, "(%x: int32, Inline=1) { add(%x, 1) }\n");
  for (int i = 0; i < kFunctions; ++i)
    text +=
        cat("def @f", i, "(%x: int32, Inline=1) { add(@f", i + 1, "(%x), @f", i + 1, "(negative(%x))) }\n");
  const Module out = after(checked(text + "def @main(%x: int32) { @f0(%x) }"), "inline");
  EXPECT_GT(analysis::size_of(out).expressions, 10'000u);  // small ones are copied
  EXPECT_LT(analysis::size_of(out).expressions, 1'000'000u);
}

// Each example of the larger batch has the result that it had alone.
TEST(GraphPasses, ALargerBatchHasTheSameExamples) {
  const Module m = checked(R"(
def @main(%x: Tensor[(1, 2, 4, 4), float32]) {
  %0 = nn.conv2d(%x, tensor([0.1, 0.2, 0.3, -0.1, 0.4, 0.7], float32, (3, 2, 1, 1)));
  nn.softmax(reshape(nn.relu(%0), newshape=[1, 48]))
})");
  const Module many = after(m, "change-batch{to=3}");
  const Tensor x = op::testing::random(kFloat32, {3, 2, 4, 4}, 1, -1, 1);
  const Tensor got = interp::Machine(many).call("main", {Value(x)}).tensor();
  ASSERT_EQ(got.shape(), (Shape{3, 48}));
  for (int64_t i = 0; i < 3; ++i) {
    Tensor one(kFloat32, {1, 2, 4, 4});
    for (int64_t j = 0; j < one.size(); ++j) one.set(j, x.get(i * one.size() + j));
    const Tensor want = interp::Machine(m).call("main", {Value(one)}).tensor();
    for (int64_t j = 0; j < 48; ++j) EXPECT_EQ(got.get(i * 48 + j), want.get(j));
  }
}

}  // namespace
}  // namespace relay::passes
