// Axes in parts: convolutions in groups, against the kernel as it was written.
#include "kernel/schedule/cpu/axis_parts.h"

#include "kernel/schedule/cpu/testing.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class AxisPartsTest : public CpuScheduleTest {
 protected:
  // y[b, h, w, l] = relu of the sum of x[c // lanes, h + u, w + v, c % lanes] * f[b, i, u, v, l],
  // where c = (b * lanes + l) // group * group + i.
  Kernel convolution(int64_t lanes, int64_t blocks, int64_t group, int64_t window) {
    const int64_t size = 5, to = size - window + 1;
    const Tensor x = input("x", {blocks, size, size, lanes}),
                 f = input("f", {blocks, group, window, window, lanes});
    const Tensor y =
        k_.reduce("conv", kFloat32, {index(blocks), index(to), index(to), index(lanes)},
                  {index(group), index(window), index(window)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
                    const Expr c = floor_div(i[0] * lanes + i[3], group) * group + r[0];
                    return x(floor_div(c, lanes), i[1] + r[1], i[2] + r[2], floor_mod(c, lanes)) *
                           f(i[0], r[0], r[1], r[2], i[3]);
                  });
    const Tensor z = k_.compute("relu", kFloat32, y.shape(),
                                [&](Indices i) { return max(y.at(i), k_.constant(kFloat32, 0)); });
    return k_.finish("conv", "", {z});
  }
  // Lanes of the longest vectorized loop.
  int64_t lanes_of(const Kernel& k) {
    int64_t lanes = 1;
    visit(k.body, [&](Stmt s) {
      const auto* f = s->as<For>();
      if (f && f->how == ForKind::kVectorized) lanes = std::max(lanes, f->extent->int_value);
    });
    return lanes;
  }
  bool has_tile(const Kernel& k) {
    const std::vector<const Block*> all = kernel::blocks(k.body);
    return std::any_of(all.begin(), all.end(), [](const Block* b) {
      return b->name.text().find("_result") != std::string_view::npos;
    });
  }
};

TEST_F(AxisPartsTest, VectorsAreAsLongAsTheLanesOfOneGroup) {
  struct Case {
    int64_t lanes, blocks, group, vector;
  };
  for (const Case& c :
       {Case{16, 2, 16, 16}, Case{16, 2, 8, 8}, Case{16, 2, 4, 4}, Case{16, 1, 2, 2}, Case{16, 3, 24, 8},
        Case{16, 5, 20, 4}, Case{16, 4, 32, 16}, Case{8, 2, 4, 4}, Case{8, 3, 12, 4}, Case{8, 3, 24, 8}}) {
    for (const int64_t window : {1, 3}) {
      const Kernel k = simplify(convolution(c.lanes, c.blocks, c.group, window));
      const Kernel s = scheduled(k, static_cast<int>(c.lanes));
      EXPECT_EQ(lanes_of(s), c.vector) << "groups of " << c.group << ": " << show(s);
      EXPECT_TRUE(has_tile(s)) << show(s);
      expect_same(k, s);
    }
  }
}

TEST_F(AxisPartsTest, BlocksLongerThanVectors) {
  const Kernel k = simplify(convolution(16, 2, 8, 3)), s = scheduled(k, 8);
  EXPECT_EQ(lanes_of(s), 8);
  expect_same(k, s);
}

// No two neighbours of such channels are sure to be in one group.
TEST_F(AxisPartsTest, GroupsOfOddManyChannelsHaveNone) {
  const Kernel k = simplify(convolution(8, 3, 3, 1)), s = scheduled(k, 8);
  EXPECT_EQ(lanes_of(s), 1) << show(s);
  expect_same(k, s);
}

// Columns in panels are no parts that share an operand: product.cc has them.
TEST_F(AxisPartsTest, PanelsStayWhole) {
  const Tensor x = input("x", {20}), f = input("f", {2, 20, 16});
  const Tensor y = k_.reduce(
      "dense", kFloat32, {index(32)}, {index(20)}, k_.sum(kFloat32),
      [&](Indices i, Indices r) { return x(r[0]) * f(floor_div(i[0], 16), r[0], floor_mod(i[0], 16)); });
  const Kernel k = simplify(k_.finish("dense", "", {y}));
  const std::vector<Stage> stages = stages_of(k);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_FALSE(lane_parts({stages[0]}, 8).has_value());
}

// Channels that do not come in blocks: those of a group are the rows of a tile.
TEST_F(AxisPartsTest, RowsOfOneGroup) {
  for (const auto& [group, stride] :
       std::vector<std::array<int64_t, 2>>{{2, 1}, {3, 1}, {8, 1}, {12, 1}, {8, 2}, {4, 2}}) {
    const int64_t groups = 3, size = 12, to = (size - 3) / stride + 1;
    const Tensor x = input("x", {2, groups * group, size, size}),
                 f = input("f", {groups * group, group, 3, 3});
    const Tensor y = k_.reduce(
        "conv", kFloat32, {index(2), index(groups * group), index(to), index(to)},
        {index(group), index(3), index(3)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
          return x(i[0], floor_div(i[1], group) * group + r[0], i[2] * stride + r[1], i[3] * stride + r[2]) *
                 f(i[1], r[0], r[1], r[2]);
        });
    const Tensor z = k_.compute("relu", kFloat32, y.shape(),
                                [&](Indices i) { return max(y.at(i), k_.constant(kFloat32, 0)); });
    const Kernel k = simplify(k_.finish("conv", "", {z}));
    for (const int width : {4, 8}) expect_same(k, scheduled(k, width));
  }
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
