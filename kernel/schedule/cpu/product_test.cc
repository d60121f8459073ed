#include <set>

#include "base/integers.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class ProductOfPanels : public CpuScheduleTest {
 protected:
  // x[.., k] * w[n / c, k, n % c] + b[n], for the first n of the panels' columns.
  Kernel product(std::vector<Expr> shape, int64_t length, int64_t n, int64_t c, bool heavy = false) {
    Builder k(pool_);
    shape.push_back(index(length));
    const Tensor x = k.input("x", kFloat32, shape);
    const Tensor w = k.input("w", kFloat32, {index(ceil_div(n, c)), index(length), index(c)});
    const Tensor b = k.input("b", kFloat32, {index(n)});
    shape.back() = index(n);
    const Tensor y =
        k.reduce("y", kFloat32, shape, {index(length)}, k.sum(kFloat32), [&](Indices i, Indices r) {
          std::vector<Expr> at(i.begin(), i.end() - 1);
          at.push_back(r[0]);
          return x.at(at) * w(floor_div(i.back(), c), r[0], floor_mod(i.back(), c));
        });
    const Tensor z = k.compute("z", kFloat32, shape, [&](Indices i) {
      const Expr sum = y.at(i) + b(i.back());
      return heavy ? sqrt(sum * sum) + math(Math::kAbs, sum) : sum;
    });
    return k.finish("k", "", {z});
  }
  Kernel matrices(std::vector<Expr> a, std::vector<Expr> b, bool transposed) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, a), w = k.input("w", kFloat32, b);
    std::vector<Expr> shape = a;
    shape.back() = transposed ? b[b.size() - 2] : b.back();
    const Tensor y = k.reduce("y", kFloat32, shape, {a.back()}, k.sum(kFloat32), [&](Indices i, Indices r) {
      std::vector<Expr> at(i.begin(), i.end() - 1), from(i.begin(), i.end() - 2);
      at.push_back(r[0]);
      from.push_back(transposed ? i.back() : r[0]);
      from.push_back(transposed ? r[0] : i.back());
      if (b.size() < a.size()) from.erase(from.begin());
      return x.at(at) * w.at(from);
    });
    return k.finish("k", "", {y});
  }
  // The numbers of rows of its tiles.
  std::set<int64_t> tile_rows(const Kernel& k) {
    std::set<int64_t> rows;
    visit(k.body, [&](Stmt below) {
      const auto* a = below->as<Allocate>();
      if (a && a->buffer->name.text().starts_with("y_tile")) rows.insert(a->buffer->shape[0]->int_value);
    });
    return rows;
  }
  bool asks(const Kernel& k, Expr condition) {
    bool found = false;
    visit(k.body, [&](Stmt below) { found |= below->as<If>() && below->as<If>()->condition == condition; });
    return found;
  }
};

TEST_F(ProductOfPanels, OfAllNumbersOfRows) {
  for (int64_t rows : {1, 2, 3, 5, 7, 12, 13, 25}) {
    const Kernel k = product({index(rows)}, 9, 24, 8);
    EXPECT_EQ(find_block(scheduled(k).body, "y_pack"), nullptr) << "it lies in panels already";
    expect_same(k, scheduled(k));
  }
}
TEST_F(ProductOfPanels, OfPanelsThatAreNotFull) {
  for (bool heavy : {false, true}) {
    const Kernel k = product({index(7)}, 5, 21, 8, heavy);
    expect_same(k, scheduled(k));
  }
}
TEST_F(ProductOfPanels, OfOneRowAndSeveralPanelsAtOnce) {
  const Kernel k = product({index(1)}, 6, 85, 8);
  expect_same(k, scheduled(k));
}
TEST_F(ProductOfPanels, OfSeveralAxesOfRows) {
  const Kernel k = product({index(2), index(1), index(9)}, 6, 16, 8);
  expect_same(k, scheduled(k));
}
TEST_F(ProductOfPanels, OfUnknownManyRows) {
  const Expr n = pool_.shape_variable("n");
  const Kernel k = product({n}, 6, 16, 8);
  for (int64_t rows : {0, 1, 6, 20}) expect_same(k, scheduled(k), {{n, rows}});
}
TEST_F(ProductOfPanels, ALongReductionIsCutIntoPieces) {
  const Kernel k = product({index(9)}, 1100, 13, 8), s = scheduled(k);
  EXPECT_NE(find_block(s.body, "y_wait"), nullptr) << show(s);
  EXPECT_NE(find_block(s.body, "y_resume"), nullptr) << show(s);
  expect_same(k, s);
}
TEST_F(ProductOfPanels, TheNextPanelIsFetchedWhileManyRowsAreComputed) {
  EXPECT_TRUE(has_prefetch(scheduled(product({index(40)}, 16, 16, 8))));
  EXPECT_FALSE(has_prefetch(scheduled(product({index(1)}, 16, 16, 8)))) << "several panels at once";
}
TEST_F(ProductOfPanels, WhatDoesNotLieInPanelsIsPutThereIfEnoughRowsShareIt) {
  for (bool transposed : {false, true}) {
    const std::vector<Expr> many{index(17), index(19)}, few{index(3), index(19)};
    const std::vector<Expr> w =
        transposed ? std::vector<Expr>{index(21), index(19)} : std::vector<Expr>{index(19), index(21)};
    const Kernel k = matrices(many, w, transposed), s = scheduled(k);
    EXPECT_EQ(find_block(s.body, "y_pack") != nullptr, transposed) << "a small matrix is read where it is";
    expect_same(k, s);
    const Kernel small = matrices(few, w, transposed);
    EXPECT_EQ(find_block(scheduled(small).body, "y_pack"), nullptr);
    expect_same(small, scheduled(small));
  }
}
TEST_F(ProductOfPanels, KnownAndUnknownRowsAreEnoughAtTheSameNumber) {
  const Expr n = pool_.shape_variable("n");
  const std::vector<Expr> scattered{index(21), index(40)}, lines{index(600), index(120)};
  for (const auto& [w, few] : {std::pair(scattered, 6), std::pair(lines, 17)}) {
    const bool transposed = w == scattered;
    const Expr length = transposed ? w[1] : w[0];
    EXPECT_EQ(find_block(scheduled(matrices({index(few), length}, w, transposed)).body, "y_pack"), nullptr);
    EXPECT_NE(find_block(scheduled(matrices({index(few + 1), length}, w, transposed)).body, "y_pack"),
              nullptr);
    EXPECT_TRUE(asks(scheduled(matrices({n, length}, w, transposed)), less_equal(n, index(few))));
  }
}
TEST_F(ProductOfPanels, OfBatches) {
  const Kernel k = matrices({index(3), index(18), index(33)}, {index(3), index(10), index(33)}, true);
  const Kernel s = scheduled(k);
  EXPECT_NE(find_block(s.body, "y_pack"), nullptr) << show(s);
  expect_same(k, s);
}
TEST_F(ProductOfPanels, OfUnknownExtents) {
  const Expr m = pool_.shape_variable("m"), n = pool_.shape_variable("n"), l = pool_.shape_variable("l");
  const Kernel k = matrices({m, l}, {n, l}, true);
  for (int64_t size : {1, 9}) expect_same(k, scheduled(k), {{m, size + 1}, {n, 2 * size}, {l, size}});
}
TEST_F(ProductOfPanels, WhatIsLeftOfUnknownManyRowsIsOneTile) {
  const Expr n = pool_.shape_variable("n");
  const Kernel k = product({n}, 5, 16, 8);
  for (int width : {4, 16}) {
    const Kernel s = scheduled(k, width);
    const int64_t most = width == 16 ? 12 : 6;
    if (width == 4) {
      for (int64_t size = 1; size <= most; ++size) EXPECT_TRUE(tile_rows(s).contains(size)) << size;
      EXPECT_EQ(*tile_rows(s).rbegin(), most);
    }
    for (int64_t size = 0; size < 3 * most; ++size) expect_same(k, s, {{n, size}});
  }
}
TEST_F(ProductOfPanels, FewOfUnknownManyRowsNeedNone) {
  const Expr n = pool_.shape_variable("n");
  const Kernel k = matrices({n, index(40)}, {index(24), index(40)}, true), s = scheduled(k);
  EXPECT_NE(find_block(s.body, "y_pack"), nullptr);
  EXPECT_TRUE(asks(s, less_equal(n, index(6)))) << show(s);
  EXPECT_TRUE(asks(s, equal(n, index(1)))) << show(s);
  for (int64_t size : {0, 1, 2, 3, 4, 6, 7, 17}) expect_same(k, s, {{n, size}});
}
TEST_F(ProductOfPanels, FewRowsOfSeveralUnknownAxesNeedNone) {
  const Expr b = pool_.shape_variable("b"), n = pool_.shape_variable("n");
  const Kernel k = matrices({b, n, index(40)}, {index(24), index(40)}, true), s = scheduled(k);
  EXPECT_TRUE(asks(s, less_equal(b * n, index(6)))) << show(s);
  for (int64_t size : {0, 1, 6, 7}) expect_same(k, s, {{b, 1}, {n, size}});
}
TEST_F(ProductOfPanels, OneOfUnknownManyRowsIsComputedForSeveralPanelsAtOnce) {
  const Expr n = pool_.shape_variable("n");
  const Kernel k = product({n}, 6, 85, 8), s = scheduled(k);
  EXPECT_TRUE(asks(s, equal(n, index(1)))) << show(s);
  for (int64_t size : {1, 2, 3}) expect_same(k, s, {{n, size}});
}
TEST_F(ProductOfPanels, OfIntegersStayAsTheyWere) {
  const Tensor x = k_.input("x", kInt32, {index(20), index(4)});
  const Tensor w = k_.input("w", kInt32, {index(2), index(4), index(8)});
  const Tensor y = k_.reduce(
      "y", kInt32, {index(20), index(16)}, {index(4)}, k_.sum(kInt32),
      [&](Indices i, Indices r) { return x(i[0], r[0]) * w(floor_div(i[1], 8), r[0], floor_mod(i[1], 8)); });
  const Kernel k = k_.finish("k", "", {y});
  expect_same(k, scheduled(k));
}

TEST(Cost, RowsAreSharedOutEvenly) {
  const target::Cpu m = cpu_with(16);
  EXPECT_EQ(product_tile(m, 128, 96).rows, 12);
  EXPECT_EQ(product_tile(m, 13, 96).rows, 7);
  EXPECT_EQ(product_tile(m, 1, 96).panels, 4);
  EXPECT_EQ(product_tile(m, 1, 3).panels, 2);
  EXPECT_EQ(product_tile(m, 128, 96).panels, 1);
  EXPECT_EQ(product_tile(m, 0, 1).rows, 1);
}
TEST(Cost, SumsFitTheRegisters) {
  for (int width : {4, 8, 16}) {
    const target::Cpu m = cpu_with(width);
    for (int64_t rows = 1; rows < 200; ++rows) {
      const ProductTile t = product_tile(m, rows, 1000);
      EXPECT_LT(t.rows * t.panels * kPanelVectors, m.vector_registers);
    }
  }
}
TEST(Cost, TheTilesOfAPanelFetchAllOfTheNext) {
  const target::Cpu m = cpu_with(16);
  for (int64_t tiles : {1, 2, 3, 11, 40}) {
    const FetchAhead f = fetch_ahead(m, tiles, 32);
    EXPECT_GE(tiles * f.lines, 2 * f.steps) << tiles;  // two lines for each row of the panel
  }
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
