// The links of a page come from the compiler, and a model's texts stay texts.
#include "tools/page/page.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"

namespace relay::tools {
namespace {

using analysis::testing::checked;

driver::Model model_of(std::string_view text) { return {.module = checked(text), .function = "main"}; }

// The lines of the model that each kernel comes from, from 1: "k0_nn_dense_nn_relu: 2 3; ".
std::string links(const Lineage& l) {
  std::string out;
  for (const LinkedKernel& k : l.kernels)
    out += cat(k.name, ": ", join(k.nodes, " ", [](size_t n) { return n + 1; }), "; ");
  return out;
}

Tensor ones(Shape shape) {
  Tensor t(kFloat32, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, 1);
  return t;
}

TEST(Page, AKernelComesFromTheLinesOfItsOperators) {
  Session session{.quiet = true};
  const Result<Lineage> l = lineage_of(model_of("def @main(%x: Tensor[(2, 4), float32],\n"
                                                "          %w: Tensor[(3, 4), float32]) {\n"
                                                "  %0 = nn.dense(%x, %w);\n"
                                                "  %1 = nn.relu(%0);\n"
                                                "  %2 = sum(%1, axis=[1]);\n"
                                                "  nn.softmax(%2)\n"
                                                "}\n"),
                                       session);
  ASSERT_TRUE(l.ok());
  EXPECT_EQ(links(*l), "k0_nn_dense_nn_relu: 3 4; k1_sum: 5; k2_nn_softmax: 6; ");
  ASSERT_EQ(l->model.size(), 7u);
  EXPECT_EQ(l->model[2].kernels, std::vector<size_t>{0});
  EXPECT_TRUE(l->model[0].kernels.empty());
  for (const LinkedLine& line : l->program) {
    const bool has_operator =
        line.text.find("nn.") != std::string::npos || line.text.find("sum") != std::string::npos;
    EXPECT_EQ(line.kernels.size(), has_operator ? 1u : 0u) << line.text;
  }
}

// Equal functions are one kernel, which stands for both.
TEST(Page, AKernelThatIsUsedTwiceComesFromBothPlaces) {
  Session session{.quiet = true};
  const driver::Model model = model_of(
      "def @main(%x: Tensor[(2, 2), float32]) {\n"
      "  %0 = nn.softmax(%x);\n"
      "  %1 = nn.matmul(%0, %x);\n"
      "  nn.softmax(%1)\n"
      "}\n");
  const Result<Lineage> l = lineage_of(model, session);
  ASSERT_TRUE(l.ok());
  EXPECT_EQ(links(*l), "k0_nn_softmax: 2 4; k1_nn_matmul: 3; ");
  const std::vector<Tensor> inputs{ones({2, 2})};
  const std::optional<Figures> figures = figures_of(model, *l, inputs, session);
  ASSERT_TRUE(figures);
  EXPECT_TRUE(figures->ok);
  EXPECT_EQ(figures->kernels[0].calls, 2u);
  EXPECT_GT(figures->kernels[0].worst.bound, 0);
}

TEST(Page, WhatIsNoStaticDataflowIsRefused) {
  Session session{.quiet = true};
  EXPECT_FALSE(lineage_of(model_of("def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) {\n"
                                   "  if (%c) { nn.relu(%x) } else { tanh(%x) }\n}\n"),
                          session)
                   .ok());
  EXPECT_NE(session.exit_code, kOk);
}

TEST(Page, TextsOfAModelAreShownAndNotObeyed) {
  const std::string evil = "</li><script>alert('&')</script>\"";
  Lineage l;
  l.compiler = l.no_assembly = evil;
  l.model = {{evil, {0}, {0}}};
  l.program = {{evil, {0}, {0}}};
  l.kernels.push_back({evil, evil, {0}, nullptr, evil, evil, {{evil, 1}}});
  Figures figures{.kernels = {KernelFigures{.uncompared = evil}}};
  const PageContents contents{evil, {1, {255}, evil}};
  const std::string with_reason = page_of(contents, l, figures);
  l.no_assembly.clear();
  for (const std::string& html : {with_reason, page_of(contents, l, figures)}) {
    EXPECT_EQ(html.find(evil), std::string::npos);
    EXPECT_EQ(html.find("alert('"), std::string::npos);
    EXPECT_NE(html.find("&lt;/li&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;&quot;"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace relay::tools
