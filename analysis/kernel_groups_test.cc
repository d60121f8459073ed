#include "analysis/kernel_groups.h"

#include "analysis/testing.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

class KernelGroupsTest : public ::testing::Test {
 protected:
  // Each group as the names of its operators, "@" for a user kernel.
  std::vector<std::string> groups(const std::string& text, const GroupLimits& limits = {}) {
    const Module m = testing::checked(text);
    std::vector<std::string> out;
    for (const std::vector<const Call*>& calls :
         kernel_groups(m, m.function("main"), target::default_target().cpu, limits)) {
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
