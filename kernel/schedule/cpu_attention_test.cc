#include "kernel/schedule/cpu.h"
#include "kernel/schedule/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

struct Sizes {
  int64_t batch, heads, rows, columns, depth, width;
};

class RowsOfScores : public ScheduleTest {
 protected:
  // With whole numbers in the place of a softmax: y = (max s - s) v, where s = 2 q k + mask has other batch axes than
  // the products.
  Kernel attention(const Sizes& n, bool whole_rows = true) {
    Builder k(pool_);
    const int64_t all = n.batch * n.heads;
    const auto input = [&](const char* name, int64_t a, int64_t b, int64_t c) {
      return k.input(name, kFloat32, {index(a), index(b), index(c)});
    };
    const Tensor q = input("q", all, n.rows, n.depth), key = input("k", all, n.depth, n.columns),
                 v = input("v", all, n.columns, n.width), mask = input("mask", 1, n.rows, n.columns);
    const Tensor s = k.reduce(
        "s", kFloat32, {index(all), index(n.rows), index(n.columns)}, {index(n.depth)}, k.sum(kFloat32),
        [&](Indices i, Indices r) { return q(i[0], i[1], r[0]) * key(i[0], r[0], i[2]); });
    const std::vector<Expr> shape{index(n.batch), index(n.heads), index(n.rows), index(n.columns)},
        outer(shape.begin(), shape.end() - 1);
    const Tensor e = k.compute("e", kFloat32, shape, [&](Indices i) {
      const Expr row = whole_rows ? i[2] : index(n.rows - 1) - i[2];
      return s(i[0] * n.heads + i[1], row, i[3]) * 2 + mask(index(0), i[2], i[3]);
    });
    const Tensor m = k.reduce("m", kFloat32, outer, {index(n.columns)}, k.maximum(kFloat32),
                              [&](Indices i, Indices r) { return e(i[0], i[1], i[2], r[0]); });
    const Tensor p = k.compute("p", kFloat32, shape, [&](Indices i) {
      const Expr below = m(i[0], i[1], i[2]) - e.at(i);
      return sqrt(below * below);
    });
    const Tensor y =
        k.reduce("y", kFloat32, {index(all), index(n.rows), index(n.width)}, {index(n.columns)},
                 k.sum(kFloat32), [&](Indices i, Indices r) {
                   return p(floor_div(i[0], index(n.heads)), floor_mod(i[0], index(n.heads)), i[1], r[0]) *
                          v(i[0], r[0], i[2]);
                 });
    return k.finish("attention", "", {y});
  }
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
TEST_F(RowsOfScores, LongRowsAreLeftAlone) {
  const Kernel k = attention({1, 1, 2, 5000, 1, 4}), s = scheduled(k);
  EXPECT_EQ(show(s).find("s_rows"), std::string::npos);
}

}  // namespace
}  // namespace relay::kernel::schedule
