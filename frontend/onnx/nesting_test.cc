// Graphs within graphs within graphs: files that would fill the stack, the memory or the day.
#include <gtest/gtest.h>

#include <ctime>

#include "base/cat.h"
#include "frontend/onnx/expect_refused.h"

namespace relay::frontend {
namespace {

// A field of a protobuf message that holds another message.
std::string field(int number, const std::string& message) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (size_t n = message.size();; n >>= 7) {
    out += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
    if (n <= 0x7f) return out + message;
  }
}

// A model whose `If` has an `If` in its branch, and so on. Protobuf's own writer would need as deep
// a stack as the readers must not.
std::string nested_branches(int depth) {
  std::string graph = field(12, field(1, "y"));  // one output
  for (int i = 0; i < depth; ++i) {
    const std::string attribute = field(1, "then_branch") + field(6, graph) + "\xa0\x01\x05";  // a graph
    graph = field(1, field(1, "c") + field(2, "y") + field(4, "If") + field(5, attribute)) +
            field(12, field(1, "y"));
  }
  return "\x08\x08" + field(7, graph) + field(8, "\x10\x0d");
}

// Both branches of each `If` hold the next one.
::onnx::GraphProto doubled(int depth) {
  TestModel m;
  m.node(depth == 0 ? "Neg" : "If", {depth == 0 ? "x" : cat("c", depth)}, {cat("y", depth)});
  m.output(cat("y", depth));
  if (depth > 0) m.attr("then_branch", doubled(depth - 1)).attr("else_branch", doubled(depth - 1));
  return *m.graph;
}

TEST(Nesting, DeepBranchesAreRefused) {
  for (const int depth : {20, 200, 5000}) {
    const Imported i = import_bytes(nested_branches(depth));
    EXPECT_FALSE(i.ok);
    EXPECT_TRUE(i.failure == ImportFailure::kBadModel || i.failure == ImportFailure::kLimit) << i.messages;
    EXPECT_LT(i.messages.size(), 100'000u);
  }
}

TEST(Nesting, ManyBranchesTakeTimeForTheirNodesAlone) {
  const auto start = std::clock();
  TestModel m;
  *m.graph = doubled(10);
  for (int i = 1; i <= 10; ++i) m.input(cat("c", i), {}, ::onnx::TensorProto::BOOL);
  m.input("x", {2, 3});
  const Imported i = import_model(m);
  EXPECT_EQ(i.type, "Tensor[(2, 3), float32]") << i.messages;
  ImportOptions options;
  options.nodes = 1000;
  expect_refused(m, ImportFailure::kLimit, "more than the limit of 1000", options);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20);
}

// Each branch is wrong in its own way, at every depth.
TEST(Nesting, RefusalsOfManyWaysAreBounded) {
  const auto broken = [](const auto& self, int depth) -> ::onnx::GraphProto {
    TestModel m;
    if (depth == 0) {
      m.node("Unsqueeze", {"x"}, {"y"});
    } else {
      m.node("If", {"c"}, {"y"}).attr("then_branch", self(self, depth - 1));
      m.attr("else_branch", self(self, depth - 1));
    }
    m.output("y");
    return *m.graph;
  };
  TestModel m;
  m.input("x", {2, 3}).input("d", {}, ::onnx::TensorProto::BOOL);
  m.node("If", {"d"}, {"z"}).attr("then_branch", broken(broken, 9)).attr("else_branch", broken(broken, 9));
  m.output("z").input("c", {}, ::onnx::TensorProto::BOOL);
  const auto start = std::clock();
  expect_refused(m, ImportFailure::kBadModel, "`Unsqueeze`");
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20);
}

}  // namespace
}  // namespace relay::frontend
