#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

struct Sizes {
  int64_t batch, heads, rows, columns, depth, width;
  Expr open_rows = {}, open_columns = {};  // stand for these numbers
};

class RowsOfScores : public CpuScheduleTest {
 protected:
  // With whole numbers in the place of a softmax: y = (max s - s) v, where s = 2 q k + mask has
  // other batch axes than the products.
  Kernel attention(const Sizes& n, bool whole_rows = true) {
    Builder k(pool_);
    const Expr all = index(n.batch * n.heads), depth = index(n.depth), width = index(n.width);
    const Expr rows = n.open_rows ? n.open_rows : index(n.rows),
               columns = n.open_columns ? n.open_columns : index(n.columns);
    const auto input = [&](const char* name, Expr a, Expr b, Expr c) {
      return k.input(name, kFloat32, {a, b, c});
    };
    const Tensor q = input("q", all, rows, depth), key = input("k", all, depth, columns),
                 v = input("v", all, columns, width), mask = input("mask", index(1), rows, columns);
    const Tensor s =
        k.reduce("s", kFloat32, {all, rows, columns}, {depth}, k.sum(kFloat32),
                 [&](Indices i, Indices r) { return q(i[0], i[1], r[0]) * key(i[0], r[0], i[2]); });
    const std::vector<Expr> shape{index(n.batch), index(n.heads), rows, columns},
        outer(shape.begin(), shape.end() - 1);
    const Tensor e = k.compute("e", kFloat32, shape, [&](Indices i) {
      const Expr row = whole_rows ? i[2] : rows - 1 - i[2];
      return s(i[0] * n.heads + i[1], row, i[3]) * 2 + mask(index(0), i[2], i[3]);
    });
    const Tensor m = k.reduce("m", kFloat32, outer, {columns}, k.maximum(kFloat32),
                              [&](Indices i, Indices r) { return e(i[0], i[1], i[2], r[0]); });
    const Tensor p = k.compute("p", kFloat32, shape, [&](Indices i) {
      const Expr below = m(i[0], i[1], i[2]) - e.at(i);
      return sqrt(below * below);
    });
    const Tensor y =
        k.reduce("y", kFloat32, {all, rows, width}, {columns}, k.sum(kFloat32), [&](Indices i, Indices r) {
          return p(floor_div(i[0], index(n.heads)), floor_mod(i[0], index(n.heads)), i[1], r[0]) *
                 v(i[0], r[0], i[2]);
        });
    return k.finish("attention", "", {y});
  }
  Kernel open_attention() { return attention({2, 3, 0, 0, 5, 9, rows_, columns_}); }
  // Of tensors that the kernel has to be given memory for.
  int64_t most_elements(const Kernel& k) {
    int64_t most = 0;
    for (const Buffer* b : k.temporaries) {
      int64_t size = 1;
      for (Expr e : b->shape) size *= e->int_value;
      most = std::max(most, size);
    }
    return most;
  }

  const Expr rows_ = pool_.shape_variable("n"), columns_ = pool_.shape_variable("m");
};

TEST_F(RowsOfScores, ThereIsNoMatrixOfScores) {
  const Kernel k = attention({2, 3, 40, 23, 5, 9}), s = scheduled(k);
  EXPECT_EQ(s.temporaries.size(), 2u) << "the panels" << show(s);
  EXPECT_LT(most_elements(s), 2 * 3 * 40 * 23);
  EXPECT_NE(show(s).find("s_rows: float32[40, 23]"), std::string::npos) << show(s);
  for (int width : {4, 8, 16}) expect_same(k, scheduled(k, width));
}
TEST_F(RowsOfScores, ManyAreTakenInParts) {
  const Kernel k = attention({1, 1, 150, 70, 3, 8}), s = scheduled(k);
  EXPECT_NE(show(s).find("s_rows: float32["), std::string::npos);
  EXPECT_EQ(show(s).find("s_rows: float32[150"), std::string::npos) << show(s);
  expect_same(k, s);
}
TEST_F(RowsOfScores, OfAllSizes) {
  for (int64_t rows : {1, 16, 17, 29}) {
    for (int64_t columns : {4, 6, 17, 64}) {
      const Kernel k = attention({1, 2, rows, columns, 4, 3});
      expect_same(k, scheduled(k));
    }
  }
}
TEST_F(RowsOfScores, NotIfOtherRowsAreRead) {
  const Kernel k = attention({1, 2, 20, 24, 4, 8}, false), s = scheduled(k);
  EXPECT_EQ(show(s).find("s_rows"), std::string::npos) << show(s);
  expect_same(k, s);
}
TEST_F(RowsOfScores, NotIfAStageAsksForSomething) {
  for (const bool first : {true, false}) {
    Builder k(pool_);
    const Expr rows = index(20), columns = index(24);
    const Tensor q = k.input("q", kFloat32, {rows, index(4)}),
                 key = k.input("k", kFloat32, {index(4), columns}),
                 v = k.input("v", kFloat32, {columns, index(8)});
    const auto asks = [&](Expr value) {
      k.require(less(value, k.constant(kFloat32, 1e6)), "too large");
      return value;
    };
    const Tensor s =
        k.reduce("s", kFloat32, {rows, columns}, {index(4)}, k.sum(kFloat32), [&](Indices i, Indices r) {
          const Expr left = first ? asks(q(i[0], r[0])) : q(i[0], r[0]);
          return left * key(r[0], i[1]);
        });
    const Tensor e = k.compute("e", kFloat32, {rows, columns},
                               [&](Indices i) { return (first ? s.at(i) : asks(s.at(i))) * 2; });
    const Tensor y = k.reduce("y", kFloat32, {rows, index(8)}, {columns}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return e(i[0], r[0]) * v(r[0], i[1]); });
    const Kernel kernel = k.finish("asks", "", {y}), after = scheduled(kernel);
    EXPECT_EQ(show(after).find("s_rows"), std::string::npos) << show(after);
    EXPECT_NE(show(after).find("too large"), std::string::npos) << show(after);
    expect_same(kernel, after);
  }
}
TEST_F(RowsOfScores, NotIfThereAreMoreScoresThanAreRead) {
  for (const int64_t more_rows : {0, 4}) {
    Builder k(pool_);
    const Expr rows = index(20), columns = index(24), all = index(20 + more_rows),
               wide = index(28 - more_rows);
    const Tensor q = k.input("q", kFloat32, {all, index(4)}), key = k.input("k", kFloat32, {index(4), wide}),
                 v = k.input("v", kFloat32, {columns, index(8)});
    const Tensor s = k.reduce("s", kFloat32, {all, wide}, {index(4)}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return q(i[0], r[0]) * key(r[0], i[1]); });
    const Tensor e = k.compute("e", kFloat32, {rows, columns}, [&](Indices i) { return s.at(i) * 2; });
    const Tensor y = k.reduce("y", kFloat32, {rows, index(8)}, {columns}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return e(i[0], r[0]) * v(r[0], i[1]); });
    const Kernel kernel = k.finish("part", "", {y}), after = scheduled(kernel);
    EXPECT_EQ(show(after).find("s_rows"), std::string::npos) << show(after);
    expect_same(kernel, after);
  }
}
TEST_F(RowsOfScores, LongRowsAreLeftAlone) {
  const Kernel k = attention({1, 1, 2, 5000, 1, 4}), s = scheduled(k);
  EXPECT_EQ(show(s).find("s_rows"), std::string::npos);
  EXPECT_NE(show(s).find("m_row"), std::string::npos) << "what lies between goes row by row" << show(s);
}
TEST_F(RowsOfScores, OfExtentsThatTheRunSays) {
  const Kernel k = open_attention();
  for (int width : {4, 16}) {
    const Kernel s = scheduled(k, width);
    EXPECT_NE(show(s).find("s_rows: float32[32, "), std::string::npos) << show(s);
    for (int64_t rows : {0, 1, 15, 16, 32, 33}) expect_same(k, s, {{rows_, rows}, {columns_, 5}});
    for (int64_t columns : {0, 1, 37}) expect_same(k, s, {{rows_, 17}, {columns_, columns}});
  }
}
TEST_F(RowsOfScores, OfOneExtentThatTheRunSays) {
  const Kernel open_rows = attention({1, 2, 0, 21, 4, 5, rows_}), s = scheduled(open_rows);
  EXPECT_NE(show(s).find("s_rows: float32[32, 21]"), std::string::npos) << show(s);
  for (int64_t rows : {2, 15, 16, 33}) expect_same(open_rows, s, {{rows_, rows}});
  const Kernel open_columns = attention({1, 2, 9, 0, 4, 5, {}, columns_});
  for (int64_t columns : {1, 21}) expect_same(open_columns, scheduled(open_columns), {{columns_, columns}});
}
TEST_F(RowsOfScores, LongRowsAreLeftAloneWhenTheRunSaysHowLongTheyAre) {
  const Kernel k = open_attention(), s = scheduled(k);
  for (int64_t columns : {1024, 1025}) expect_same(k, s, {{rows_, 16}, {columns_, columns}});
}
TEST_F(RowsOfScores, NotWithoutRoomForTheResult) {
  Builder k(pool_);
  const Expr d = pool_.shape_variable("d"), eight = index(8);
  const Tensor q = k.input("q", kFloat32, {eight, eight}), v = k.input("v", kFloat32, {eight, d});
  const Tensor s = k.reduce("s", kFloat32, {eight, eight}, {eight}, k.sum(kFloat32),
                            [&](Indices i, Indices r) { return q(i[0], r[0]) * q(r[0], i[1]); });
  const Tensor p = k.compute("p", kFloat32, {eight, eight}, [&](Indices i) { return sqrt(s(i[0], i[1])); });
  const Tensor y = k.reduce("y", kFloat32, {eight, d}, {eight}, k.sum(kFloat32),
                            [&](Indices i, Indices r) { return p(i[0], r[0]) * v(r[0], i[1]); });
  const Kernel all = k.finish("attention", "", {y});
  EXPECT_EQ(show(scheduled(all)).find("s_rows"), std::string::npos)
      << "memory of a size that is not constant";
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
