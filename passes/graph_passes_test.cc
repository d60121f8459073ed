// Graph passes on request: how far results move by those that approximate, and what passes say of
// programs that they leave.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "analysis/module_size.h"
#include "analysis/testing.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "ir/traverse.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/testing.h"
#include "passes/pipeline.h"
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

// What one pass says of the program, all reasons after each other.
std::string reasons(std::string_view program, std::string_view pass) {
  std::string out;
  RunnerOptions options;
  options.on_reason = [&](const Pass&, std::string_view reason) { out += cat(reason, "\n"); };
  after(checked(program), pass, options);
  return out;
}

TEST(GraphPasses, APassNamesTheLetThatItDoesNotLookThrough) {
  constexpr std::string_view kLets[][2] = {
      {"fold-scale-axis", R"(
def @main(%x: Tensor[(1, 4), float32]) {
  let %y = nn.dense(%x, tensor([1, 2, 3, 4, 5, 6, 7, 8], float32, (2, 4)));
  multiply(%y, tensor([2, 3], float32))
})"},
      {"split-args{most=2}", R"(
def @main(%x: Tensor[(1, 4), float32]) {
  let %y = (%x, %x, %x);
  concatenate(%y)
})"},
      {"combine-parallel-conv2d{branches=2}", R"(
def @main(%x: Tensor[(1, 1, 4, 4), float32]) {
  let %y = nn.conv2d(%x, tensor([1], float32, (1, 1, 1, 1)));
  add(%y, nn.conv2d(%x, tensor([2], float32, (1, 1, 1, 1))))
})"},
      {"simplify", "def @main(%x: Tensor[(2, 3), int32]) { let %y = transpose(%x);\n transpose(%y) }"},
      {"pack-weights", R"(
def @main(%x: Tensor[(1, 1), float32]) {
  let %y = tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], float32, (16, 1));
  nn.dense(%x, %y)
})"},
      {"quantise-global", R"(
def @main(%x: Tensor[(1, 2), float32]) {
  let %y = tensor([1, 2], float32, (1, 2));
  nn.dense(%x, %y)
})"},
  };
  for (const auto& [pass, program] : kLets) {
    const std::string said = reasons(program, pass);
    EXPECT_NE(said.find("`%y` ("), std::string::npos) << pass << ": " << said;
    EXPECT_NE(said.find("is bound by a let: run `inline-lets` first"), std::string::npos)
        << pass << ": " << said;
    EXPECT_EQ(reasons(program, cat("inline-lets,", pass)), "") << pass;
  }
  EXPECT_NE(
      reasons("def @main(%x: Tensor[(2, 3), int32]) { let %a = transpose(%x); let %b = transpose(%a); %b }",
              "simplify")
          .find("`%a` (m.relay:1:40) and 1 more are bound by lets"),
      std::string::npos);
}

TEST(GraphPasses, LetsThatChangeNothingAreNoReason) {
  constexpr std::string_view kNothing = "def @main(%x: Tensor[(2, 3), int32]) { let %y = transpose(%x); %y }";
  EXPECT_EQ(reasons(kNothing, "simplify"), "");
  EXPECT_EQ(reasons(kNothing, "to-a-normal-form"), "");
  // The value can be noticed, so it stays behind its name.
  EXPECT_EQ(reasons("def @main(%x: int32) { let %y = 7 / %x; (%y, %y) }", "eliminate-common-subexpressions"),
            "");
}

TEST(GraphPasses, PassesSayWhatTheyLookFor) {
  constexpr std::string_view kSum = "def @main(%x: Tensor[(2, 3), float32]) { add(%x, 1f) }";
  EXPECT_NE(reasons(kSum, "lower").find("is in no primitive function: run `fuse` first"), std::string::npos);
  EXPECT_EQ(reasons(kSum, "fuse,lower"), "");
  EXPECT_NE(reasons(kSum, "quantise-global").find("has a constant weight"), std::string::npos);
  EXPECT_NE(reasons(kSum, "pack-weights").find("has a constant weight"), std::string::npos);
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

// Equal calls on one constant are one constant, also with other arguments between; other
// attributes are another.
TEST(GraphPasses, EqualFoldsAreOneConstant) {
  const Module m = checked(R"(
def @main(%x: Tensor[(1, 2), float32]) {
  %0 = tensor([1, 2, 3, 4], float32, (1, 2, 2));
  %1 = nn.matmul(%x, transpose(squeeze(%0, axis=[0])));
  %2 = nn.matmul(%1, transpose(squeeze(%0, axis=[0])));
  nn.matmul(%2, transpose(squeeze(%0, axis=[0]), axes=[0, 1]))
})");
  std::set<Expr> constants;
  for (Expr e : post_order(after(m, "fold-constants").function("main"))) {
    if (e->as<Constant>()) constants.insert(e);
  }
  EXPECT_EQ(constants.size(), 2u);
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

// How often the functions of the module call the operator.
size_t calls_of(const Module& m, const op::OpDef& def) {
  size_t found = 0;
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) found += op::callee(e) == &def;
  }
  return found;
}

Module before_fusion(const Module& m, int level) {
  return after(m, show(until(default_pipeline(level, target::default_target()), kFuse)));
}

TEST(GraphPasses, LevelsComputeOnceWhatIsWrittenTwice) {
  const Module m = checked(R"(
def @main(%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32]) {
  let %p = nn.relu(nn.dense(%x, %w));
  let %q = nn.relu(nn.dense(%x, %w));
  (sum(%p, axis=[0]), sum(tanh(%q), axis=[0]), sum(nn.relu(%x)), sum(nn.relu(%x), axis=[0]))
})");
  EXPECT_EQ(calls_of(before_fusion(m, 0), op::kDense), 2u);
  EXPECT_EQ(calls_of(before_fusion(m, 0), op::kRelu), 4u);
  for (const int level : {1, 2, 3}) {
    const Module out = before_fusion(m, level);
    EXPECT_EQ(calls_of(out, op::kDense), 1u) << level;
    // Each of the sums of %x computes nn.relu in passing.
    EXPECT_EQ(calls_of(out, op::kRelu), 3u) << level;
  }
}

// A convolution with a weight, a batch normalisation and an activation, as networks have them.
TEST(GraphPasses, FromLevelTwoNoBatchNormIsLeft) {
  const auto network = [](std::string_view weight) {
    return checked(cat("def @main(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(3, 2, 1, 1), float32]) {\n",
                       "  %0 = nn.conv2d(%x, ", weight, ");\n", R"(
  %1 = nn.batch_norm(nn.bias_add(%0, tensor([1, 2, 3], float32)), tensor([0.3, 1.7, -1], float32),
                     tensor([1, 2, 3], float32), tensor([0.1, 0.2, 0.3], float32), tensor([1, 2, 3], float32));
  nn.relu(%1.0)
})"));
  };
  const auto multiplications = [&](std::string_view weight, int level) {
    const Module out = before_fusion(network(weight), level);
    return calls_of(out, op::kMultiply) + calls_of(out, op::kBatchNorm);
  };
  constexpr std::string_view kKnown = "tensor([0.1, 0.2, 0.3, -0.1, 0.4, 0.7], float32, (3, 2, 1, 1))";
  EXPECT_EQ(multiplications(kKnown, 1), 1u);
  EXPECT_EQ(multiplications(kKnown, 2), 0u);
  EXPECT_EQ(multiplications(kKnown, 3), 0u);
  EXPECT_EQ(multiplications("%w", 2), 1u);  // nothing takes the factor
}

// The way back computes sin(%y) again, in the place of keeping it.
TEST(GraphPasses, LevelsComputeAgainWhatACheckpointEncloses) {
  const Module m = checked(R"(
def @main(%x: Tensor[(4), float32]) {
  let %y = exp(%x);
  annotation.checkpoint(multiply(sin(%y), %x))
})");
  const Module gradient = after(m, "gradient");
  for (const int level : {0, 1, 2, 3})
    EXPECT_EQ(calls_of(before_fusion(gradient, level), op::kSin), 2u) << level;
}

}  // namespace
}  // namespace relay::passes
