// Every operator is documented, tested on every engine, and refuses what it must.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "op/document.h"
#include "op/registry.h"
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
    const bool gradient = op->differentiate || op->expand;
    EXPECT_NE(gradient, !op->not_differentiable.empty())
        << op->name << ": differentiate, or the reason why not";
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
    const auto it = golden.lower_bound(prefix);
    EXPECT_TRUE(it != golden.end() && it->starts_with(prefix))
        << "tests/golden/typecheck/" << prefix << "1.relay";
  }
}

TEST(Ops, AreInTheGeneratedPage) {
  EXPECT_FALSE(op::markdown().empty());
  for (const op::OpDef* op : op::all_ops())
    EXPECT_NE(op::markdown().find(op->name), std::string::npos) << op->name;
}

}  // namespace
}  // namespace relay::tests
