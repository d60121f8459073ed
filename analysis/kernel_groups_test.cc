#include "analysis/kernel_groups.h"

#include "analysis/testing.h"
#include "base/cat.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

class KernelGroupsTest : public ::testing::Test {
 protected:
  // Those of a processor, for instance.
  static constexpr kernel::schedule::Accepts kRules{1 << 14, 16, 4096};

  // Each group as the names of its operators, "@" for a user kernel.
  std::vector<std::string> groups(const std::string& text, const GroupLimits& limits = {},
                                  const kernel::schedule::Accepts& accepts = kRules) {
    const Module m = testing::checked(text);
    std::vector<std::string> out;
    for (const std::vector<const Call*>& calls : kernel_groups(m, m.function("main"), accepts, limits)) {
      std::string& names = out.emplace_back();
      for (const Call* call : calls) {
        const op::OpDef* def = op::callee(*call);
        names += (names.empty() ? "" : " ") + (def ? def->name : std::string("@"));
      }
    }
    return out;
  }
  using Names = std::vector<std::string>;
};

TEST_F(KernelGroupsTest, ElementwiseWorkFollowsAProduct) {
  EXPECT_EQ(groups("def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {"
                   " nn.relu(add(nn.dense(%x, %w), 1f)) }"),
            (Names{"nn.dense add nn.relu"}));
}

TEST_F(KernelGroupsTest, TwoProductsStayApart) {
  EXPECT_EQ(groups("def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {"
                   " nn.relu(nn.dense(nn.relu(nn.dense(%x, %w)), %w)) }"),
            (Names{"nn.dense nn.relu", "nn.dense nn.relu"}));
}

TEST_F(KernelGroupsTest, ALongSumMayKeepTheSumSoFar) {
  const std::string sum =
      "def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {"
      " add(add(nn.dense(%x, %w), nn.dense(%w, %x)), nn.dense(%x, %x)) }";
  EXPECT_EQ(groups(sum), (Names{"nn.dense", "nn.dense", "nn.dense add add"}));
  EXPECT_EQ(groups(sum, {.most_addends = 2}), (Names{"nn.dense", "nn.dense add", "nn.dense add"}));
}

TEST_F(KernelGroupsTest, ALongSumKeepsTheSumSoFarUnlessItIsAskedFor) {
  std::string sum = "nn.dense(%x, %w)";
  for (int i = 0; i < 5; ++i) sum = cat("add(", sum, ", nn.dense(%w, exp(%x)))");
  const std::string program =
      cat("def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) { ", sum, " }");
  const auto most_additions = [&](const GroupLimits& limits) {
    int64_t most = 0;
    for (const std::string& group : groups(program, limits)) {
      int64_t n = 0;
      for (size_t at = group.find("add"); at != std::string::npos; at = group.find("add", at + 1)) ++n;
      most = std::max(most, n);
    }
    return most;
  };
  EXPECT_EQ(most_additions({}), 3);
  EXPECT_EQ(most_additions({.most_addends = SIZE_MAX}), 5);
}

// Smaller kernels would read and write the sum so far, and win nothing.
TEST_F(KernelGroupsTest, ALongSumWithoutAProductIsOneKernel) {
  const std::string inputs =
      "def @main(%a: Tensor[(4, 4), float32], %b: Tensor[(4, 4), float32], %c: Tensor[(4, 4), float32],"
      " %d: Tensor[(4, 4), float32], %e: Tensor[(4, 4), float32], %f: Tensor[(4, 4), float32],"
      " %g: Tensor[(8, 4, 4), float32]) ";
  const auto sum_with = [&](const std::string& last) {
    return cat(inputs, "{ add(add(add(add(add(%a, %b), %c), %d), %e), ", last, ") }");
  };
  const Names one{"add add add add add"};
  EXPECT_EQ(groups(sum_with("%f")), one);
  EXPECT_EQ(groups(sum_with("%f"), {.most_addends = 2}), one);
  EXPECT_EQ(groups(sum_with("sum(%g, axis=[0])")), (Names{"sum", one[0]}));
  // One product is enough, in the group or in one of its own.
  EXPECT_EQ(groups(sum_with("nn.dense(%a, %f)")).size(), 2u);
  EXPECT_EQ(groups(sum_with("nn.relu(nn.dense(%a, %f))"), {.most_addends = SIZE_MAX}).size(), 1u);
}

TEST_F(KernelGroupsTest, AttentionIsOneKernelForAnyExtents) {
  const auto attention = [](const std::string& rows, const std::string& columns) {
    const std::string q = "Tensor[(6, " + rows + ", 8), float32]",
                      k = "Tensor[(6, 8, " + columns + "), float32]",
                      v = "Tensor[(6, " + columns + ", 8), float32]";
    return "def @main(%q: " + q + ", %k: " + k + ", %v: " + v +
           ") { nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k)), %v) }";
  };
  const Names one{"nn.batch_matmul nn.softmax nn.batch_matmul"};
  EXPECT_EQ(groups(attention("16", "4096")), one);
  EXPECT_EQ(groups(attention("n", "m")), one);
  EXPECT_EQ(groups(attention("n", "20")), one);
  EXPECT_EQ(groups(attention("16", "n + 1")), one);
  EXPECT_EQ(groups(attention("?", "?")), one);
  EXPECT_EQ(groups(attention("15", "m")).size(), 3u) << "few rows";
  EXPECT_EQ(groups(attention("n", "4097")).size(), 3u) << "long rows";
  EXPECT_EQ(groups(attention("n", "m"), {.longest_attention = 0}).size(), 3u);
  const kernel::schedule::Accepts without{.longest_row = 1 << 14};
  EXPECT_EQ(groups(attention("n", "m"), {}, without).size(), 3u) << "the target has no rule for it";
}

TEST_F(KernelGroupsTest, RowsAreAsLongAsTheTargetAccepts) {
  const auto normalised = [](int64_t length) {
    return cat("def @main(%x: Tensor[(8, ", length, "), float32]) { nn.softmax(nn.softmax(%x)) }");
  };
  const kernel::schedule::Accepts short_rows{.longest_row = 512};
  EXPECT_EQ(groups(normalised(512), {}, short_rows).size(), 1u);
  EXPECT_EQ(groups(normalised(513), {}, short_rows).size(), 2u);
}

TEST_F(KernelGroupsTest, AttentionMayBeOfOneMatrix) {
  const std::string q = "def @main(%q: Tensor[(16, 8), float32], ", k = "%k: Tensor[(20, 8), float32], ",
                    v = "%v: Tensor[(20, 8), float32]) ";
  EXPECT_EQ(groups(q + k + v + "{ nn.matmul(nn.softmax(nn.dense(%q, %k)), %v) }"),
            (Names{"nn.dense nn.softmax nn.matmul"}));
  const std::string layers = "%v: Tensor[(8, 20), float32]) ";
  EXPECT_EQ(groups(q + k + layers + "{ nn.dense(nn.softmax(nn.dense(%q, %k)), %v) }").size(), 3u)
      << "weights of two layers";
}

TEST_F(KernelGroupsTest, AViewAloneNeedsNoKernel) {
  EXPECT_EQ(groups("def @main(%x: Tensor[(4, 4), float32]) { reshape(%x, newshape=[16]) }"), Names{});
}

TEST_F(KernelGroupsTest, WhatIsUsedElsewhereEndsItsGroup) {
  EXPECT_EQ(groups("def @main(%x: Tensor[(4), float32]) { let %y = exp(%x); (%y, tanh(%y)) }"),
            (Names{"exp", "tanh"}));
}

TEST_F(KernelGroupsTest, GroupsHaveALimit) {
  const std::string text = "def @main(%x: Tensor[(4), float32]) { exp(exp(exp(exp(%x)))) }";
  EXPECT_EQ(groups(text), (Names{"exp exp exp exp"}));
  EXPECT_EQ(groups(text, {.most_calls = 2}).size(), 2u);
}

TEST_F(KernelGroupsTest, CodeInABranchStaysThere) {
  EXPECT_EQ(groups("def @main(%x: Tensor[(4), float32], %c: bool) { tanh(if (%c) { exp(%x) } else { %x }) }"),
            (Names{"exp", "tanh"}));
}

TEST_F(KernelGroupsTest, AUserKernelIsAGroupOfItsOwnIfNothingJoins) {
  EXPECT_EQ(
      groups("kernel @copy(x: float32[4]) -> (y: float32[4]) {\n"
             "  for i in 4 { block y { spatial v in 4 = i; reads x[v]; writes y[v]; y[v] = x[v]; } }\n}\n"
             "def @main(%x: Tensor[(4), float32]) { @copy(%x) }"),
      (Names{"@"}));
}

}  // namespace
}  // namespace relay::analysis
