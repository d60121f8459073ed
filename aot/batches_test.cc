// Deferred calls of kernels (support/batches.cc), through the C interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "aot/testing.h"

namespace relay::aot {
namespace {

// The state of a full tree of a depth, whose leaves are all x: each level doubles what it is given
// and adds the sum of its 64 elements times 2^-7 to each of them; the weights are worth sharing.
constexpr std::string_view kTree = R"(
type Tree { Leaf(Tensor[(1, 64), float32]), Fork(Tree, Tree) }
def @grow(%depth: int32, %x: Tensor[(1, 64), float32]) -> Tree {
  if (%depth == 0) { Leaf(%x) } else { Fork(@grow(%depth - 1, %x), @grow(%depth - 1, %x)) }
}
def @state(%t: Tree) -> Tensor[(1, 64), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Fork(%l, %r) => {
      let %sum = @state(%l) + @state(%r);
      (%sum + nn.dense(%sum, full(0.0078125f, shape=[64, 64], dtype="float32"))) * 0.25f
    }
  }
}
def @main(%depth: int32, %x: Tensor[(1, 64), float32]) { @state(@grow(%depth, %x)) }
)";
const Compiled& tree() {
  static const Compiled c(kTree);
  return c;
}

// Of leaves of ones: a level multiplies by (1 + 64 * 2^-7) / 2 = 0.75.
float expected(int32_t depth) { return std::pow(0.75f, static_cast<float>(depth)); }

struct TreeRun : Session {
  using Session::Session;
  std::array<float, 64> y = {};

  relay_status go(int32_t depth) {
    std::array<float, 64> x;
    x.fill(1);
    y.fill(-1);
    int64_t shape[] = {1, 64};
    DLTensor d = {&depth, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0};
    DLTensor in = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}, out = in;
    out.data = y.data();
    const DLTensor* inputs[] = {&d, &in};
    DLTensor* outputs[] = {&out};
    return api->run(context, inputs, 2, outputs, 1);
  }
  bool right(int32_t depth) const {
    return std::all_of(y.begin(), y.end(),
                       [&](float v) { return std::abs(v - expected(depth)) <= 1e-5f * expected(depth); });
  }
};

TEST(Batches, CallsOfDifferentBranchesWaitForEachOther) {
  const Sources s = sources_of(kTree, {kAnyProcessor}, {});
  std::string model;
  for (const SourceFile& f : s.files) {
    if (f.name == "model.cc") model = f.text;
  }
  EXPECT_NE(model.find("defer(run, "), std::string::npos);
  // What decides on the depth is read; nothing of this is in a program that only counts.
  EXPECT_NE(model.find("if (!flush(run)) return {};\n    if (truth("), std::string::npos) << model;
  const Sources other = sources_of(
      "def @main(%n: int32) -> int32 { if (%n < 2) { %n } else { @main(%n - 1) + @main(%n - 2) } }",
      {kAnyProcessor}, {});
  for (const SourceFile& f : other.files) EXPECT_EQ(f.text.find("flush(run)"), std::string::npos);
}

TEST(Batches, ManyMoreCallsThanFit) {
  TreeRun r(tree());
  for (int32_t depth : {0, 1, 2, 5, 9, 10, 11, 13}) {
    ASSERT_EQ(r.go(depth), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(depth)) << depth << ": " << r.y[0] << " is not " << expected(depth);
  }
}

// Results of deferred calls are handed on under another shape. There are more such views than
// there is room for.
TEST(Batches, ViewsOfWhatIsDeferred) {
  constexpr std::string_view kViews = R"(
type Column { Column(Tensor[(64, 1), float32]) }
type Tree { Leaf(Tensor[(1, 64), float32]), Fork(Tree, Tree) }
def @grow(%depth: int32, %x: Tensor[(1, 64), float32]) -> Tree {
  if (%depth == 0) { Leaf(%x) } else { Fork(@grow(%depth - 1, %x), @grow(%depth - 1, %x)) }
}
def @column(%t: Tree) -> Column { Column(reshape(@state(%t), newshape=[64, 1])) }
def @state(%t: Tree) -> Tensor[(1, 64), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Fork(%l, %r) => {
      match (@column(%l)) { Column(%a) => match (@column(%r)) { Column(%b) => {
        let %sum = reshape(%a + %b, newshape=[1, 64]);
        (%sum + nn.dense(%sum, full(0.0078125f, shape=[64, 64], dtype="float32"))) * 0.25f
      } } }
    }
  }
}
def @main(%depth: int32, %x: Tensor[(1, 64), float32]) { @state(@grow(%depth, %x)) }
)";
  const Sources s = sources_of(kViews, {kAnyProcessor}, {});
  const bool has_views = std::any_of(s.files.begin(), s.files.end(), [](const SourceFile& f) {
    return f.name == "model.cc" && f.text.find("= view_of(run, ") != std::string::npos;
  });
  EXPECT_TRUE(has_views);
  const Compiled c(kViews);
  TreeRun r(c);
  for (int32_t depth : {0, 1, 4, 10, 12}) {
    ASSERT_EQ(r.go(depth), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(depth)) << depth << ": " << r.y[0] << " is not " << expected(depth);
  }
}

TEST(Batches, TheSameBytesInEveryRunAndOnEveryThread) {
  TreeRun first(tree());
  ASSERT_EQ(first.go(8), RELAY_OK);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      TreeRun r(first.api, first.model);
      for (int k = 0; k < 20; ++k) {
        if (r.go(k % 9) != RELAY_OK || !r.right(k % 9)) ++wrong;
        if (r.go(8) != RELAY_OK || r.y != first.y) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Batches, ARunThatIsCancelledLeavesNothingWaiting) {
  TreeRun r(tree());
  ASSERT_EQ(r.api->set_timeout(r.context, 2000000), RELAY_OK);
  EXPECT_EQ(r.go(24), RELAY_TIMED_OUT);
  ASSERT_EQ(r.api->set_timeout(r.context, 0), RELAY_OK);
  ASSERT_EQ(r.go(3), RELAY_OK) << r.said();
  EXPECT_TRUE(r.right(3));
}

TEST(Batches, WithoutMemoryThereIsALimitAndNoLeak) {
  const int refusals = refuse_each_request<TreeRun>(
      tree(), [](TreeRun& r) { return r.go(11); }, [](const TreeRun& r) { return r.right(11); });
  EXPECT_GE(refusals, 6);  // what runs of any program ask for, and what waits
}

TEST(Batches, ASecondRunAllocatesNothing) {
  Counting memory{-1};
  TreeRun r(tree(), &memory.api);
  ASSERT_EQ(r.go(10), RELAY_OK);
  const int requests = memory.requests;
  for (int32_t depth : {10, 3, 10}) ASSERT_EQ(r.go(depth), RELAY_OK);
  EXPECT_EQ(memory.requests, requests);
}

}  // namespace
}  // namespace relay::aot
