// Every operator is documented, tested on every engine, and refuses what it must.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "op/document.h"
#include "op/registry.h"
#include "passes/gradient/kernels.h"
#include "tools/operator_examples.h"
#include "tools/test_files/test_file.h"

namespace relay::tests {
namespace {

std::set<std::string> stems(const std::string& folder) {
  std::set<std::string> out;
  for (const std::string& path : tools::test_files_beneath(folder))
    out.insert(std::filesystem::path(path).stem().string());
  return out;
}

TEST(Ops, HaveADocLine) {
  for (const op::OpDef* op : op::all_ops()) {
    EXPECT_GE(op->doc.size(), 3u) << op->name;
    for (const op::Param& p : op->params) EXPECT_FALSE(p.doc.empty()) << op->name << ": " << p.name;
  }
}

TEST(Ops, HaveRules) {
  for (const op::OpDef* op : op::all_ops()) {
    EXPECT_TRUE(op->relate) << op->name;
    EXPECT_NE(static_cast<bool>(op->evaluate), static_cast<bool>(op->expand))
        << op->name << ": evaluate or expand, one of them";
    EXPECT_TRUE(op->lower || op->expand) << op->name << ": lower or expand";
    EXPECT_TRUE(!op->extents || (op->lower && op->fusion == op::Fusion::kOpaque))
        << op->name << ": what has extents of its own is lowered by itself";
    const bool gradient = op->differentiate || op->expand || passes::gradient::has_gradient_by_kernel(*op);
    EXPECT_NE(gradient, !op->not_differentiable.empty())
        << op->name << ": differentiate, a kernel that can be differentiated, or the reason why not";
  }
}

TEST(Ops, HaveAnExecTest) {
  const std::set<std::string> tested = stems("tests/exec/op");
  for (const op::OpDef* op : op::all_ops())
    EXPECT_TRUE(tested.contains(op->name)) << "tests/exec/op/" << op->name << ".relay";
}

TEST(Ops, HaveAGoldenForAViolatedConstraint) {
  const std::set<std::string> golden = stems("tests/golden/typecheck");
  for (const op::OpDef* op : op::all_ops()) {
    if (op->params.empty() && op->attrs.empty()) continue;
    const std::string prefix = "fail_" + op->name + "_c";
    // The label's number follows: `fail_max_clip` is no test of `max`.
    const bool has = std::any_of(golden.begin(), golden.end(), [&](const std::string& stem) {
      return stem.starts_with(prefix) && stem.size() > prefix.size() &&
             std::isdigit(static_cast<unsigned char>(stem[prefix.size()]));
    });
    EXPECT_TRUE(has) << "tests/golden/typecheck/" << prefix << "1.relay";
  }
}

// The build fails if a formula is missing, or the text of a label (bazel/op_rules.py).
TEST(Ops, HaveAFormulaASignatureAndConstraints) {
  for (const op::OpDef* op : op::all_ops()) {
    const op::OpRule& rule = op::rule_of(*op);
    EXPECT_TRUE(rule.formula.starts_with(op->name + "(")) << op->name << ": " << rule.formula;
    EXPECT_TRUE(rule.signature.starts_with("(")) << op->name << ": " << rule.signature;
    EXPECT_TRUE(rule.constraints.starts_with("C1: ")) << op->name << ": " << rule.constraints;
  }
}

TEST(Ops, HaveACheckedExample) {
  for (const op::OpDef* op : op::all_ops()) {
    const std::string_view example = tools::example_of(op->name);
    EXPECT_NE(example.find(op->name + "("), std::string_view::npos)
        << "tests/exec/op/" << op->name << ".relay: no call has arguments and a result that are written out";
  }
}

TEST(Ops, AreInTheGeneratedPage) {
  // By its heading: `add` stands in `nn.bias_add` too.
  const std::string page = op::markdown(tools::example_of);
  for (const op::OpDef* op : op::all_ops())
    EXPECT_NE(page.find("\n### `" + std::string(op->name) + "`\n"), std::string::npos) << op->name;
  std::string kept;
  ASSERT_EQ(read_file("docs/operators.md", uint64_t{1} << 24, kept), "");
  EXPECT_EQ(page, kept) << "./relay ops --markdown > docs/operators.md";
}

}  // namespace
}  // namespace relay::tests
