#include "kernel/schedule/cpu/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class RowByRow : public CpuScheduleTest {
 protected:
  // (x - max x) * sum of (x - max x), along the last axis: a softmax with whole numbers.
  Kernel normalise(const std::vector<Expr>& outer, Expr length, bool keep = false) {
    Builder k(pool_);
    std::vector<Expr> shape = outer, reduced = outer;
    shape.push_back(length);
    if (keep) reduced.push_back(index(1));
    const auto row = [&](Indices i) {
      std::vector<Expr> at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(outer.size()));
      if (keep) at.push_back(index(0));
      return at;
    };
    const auto element = [&](Indices i, Expr r) {
      std::vector<Expr> at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(outer.size()));
      at.push_back(r);
      return at;
    };
    const Tensor x = k.input("x", kFloat32, shape);
    const Tensor m = k.reduce("m", kFloat32, reduced, {length}, k.maximum(kFloat32),
                              [&](Indices i, Indices r) { return x.at(element(i, r[0])); });
    const Tensor e = k.compute("e", kFloat32, shape, [&](Indices i) {
      return sqrt((x.at(i) - m.at(row(i))) * (x.at(i) - m.at(row(i))));
    });
    const Tensor s = k.reduce("s", kFloat32, reduced, {length}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return e.at(element(i, r[0])); });
    const Tensor z = k.compute("z", kFloat32, shape, [&](Indices i) { return e.at(i) * s.at(row(i)); });
    return k.finish("k", "", {z});
  }
};

TEST_F(RowByRow, NothingOfARowGoesToMemory) {
  const Kernel k = normalise({index(3), index(5)}, index(23)), s = scheduled(k);
  EXPECT_TRUE(s.temporaries.empty()) << show(s);
  for (int width : {4, 8, 16}) expect_same(k, scheduled(k, width));
}
TEST_F(RowByRow, ReducedAxesMayStay) {
  const Kernel k = normalise({index(6)}, index(17), true), s = scheduled(k);
  EXPECT_TRUE(s.temporaries.empty()) << show(s);
  expect_same(k, s);
}
TEST_F(RowByRow, OneRow) {
  const Kernel k = normalise({}, index(40));
  expect_same(k, scheduled(k));
}
TEST_F(RowByRow, OfAllLengths) {
  for (int64_t length : {4, 5, 8, 11, 12, 13, 16, 37}) {
    const Kernel k = normalise({index(2)}, index(length));
    expect_same(k, scheduled(k));
  }
}
TEST_F(RowByRow, ShortRowsGoTogether) {
  const Kernel s = scheduled(normalise({index(3), index(8)}, index(23)));
  EXPECT_NE(show(s).find("e_row: float32[4, 23]"), std::string::npos) << show(s);
  for (int64_t rows : {1, 3, 4, 5, 6, 7, 9}) {
    for (int width : {4, 8}) {
      const Kernel k = normalise({index(2), index(rows)}, index(23));
      expect_same(k, scheduled(k, width));
    }
  }
  const Expr n = pool_.shape_variable("n");
  const Kernel k = normalise({index(2), n}, index(19));
  for (int64_t rows : {0, 1, 4, 6}) expect_same(k, scheduled(k), {{n, rows}});
}
TEST_F(RowByRow, LongRowsGoOneByOne) {
  const Kernel s = scheduled(normalise({index(8)}, index(2000)));
  EXPECT_NE(show(s).find("e_row: float32[1, 2000]"), std::string::npos) << show(s);
}
TEST_F(RowByRow, MaximaOfNumbersLeaveNanOut) {
  const Tensor x = k_.input("x", kFloat32, {index(5), index(21)});
  const Tensor m = k_.reduce("m", kFloat32, {index(5)}, {index(21)}, k_.maximum_of_numbers(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const Tensor d =
      k_.compute("d", kFloat32, {index(5), index(21)}, [&](Indices i) { return x.at(i) - m(i[0]); });
  const Kernel k = k_.finish("k", "", {d});
  std::vector<Values> in{random(kFloat32, {5, 21})};
  for (int64_t i = 0; i < 105; ++i) {
    if (i % 4 == 1 || i / 21 == 2) in[0].as<float>()[static_cast<size_t>(i)] = NAN;  // all of one row
  }
  const Values want = execute(k, in)[0];
  EXPECT_FALSE(std::isnan(want.as<float>()[0]));
  for (int width : {4, 8, 16}) EXPECT_TRUE(identical(want, execute(scheduled(k, width), in)[0])) << width;
}
TEST_F(RowByRow, RowsOfUnknownLengthKeepTheirTemporaries) {
  const Expr n = pool_.shape_variable("n"), l = pool_.shape_variable("l");
  const Kernel k = normalise({n}, l), s = scheduled(k);
  EXPECT_EQ(s.temporaries.size(), 1u) << show(s);
  for (int64_t size : {0, 1, 3, 21}) expect_same(k, s, {{n, 3}, {l, size}});
}
TEST_F(RowByRow, OfUnknownLengthTheyGoTogetherWhereTheyAreShort) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  const Kernel k = normalise({n}, m), s = scheduled(k);
  size_t ways = 0;
  visit(s.body, [&](Stmt below) { ways += below->as<If>() != nullptr; });
  EXPECT_EQ(ways, 1u) << show(s);
  for (int64_t rows : {1, 4, 7}) {
    for (int64_t length : {0, 1, 9, 1024, 1025}) expect_same(k, s, {{n, rows}, {m, length}});
  }
}
TEST_F(RowByRow, AnExtentMayBeANumberInThem) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  const Tensor x = k_.input("x", kFloat32, {n, m});
  const Tensor s = k_.reduce("s", kFloat32, {n}, {m}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const Tensor y = k_.compute("y", kFloat32, {n, m},
                              [&](Indices i) { return x.at(i) * pool_.cast(kFloat32, m) - s(i[0]); });
  const Kernel k = k_.finish("k", "", {y}), done = scheduled(k);
  EXPECT_NE(find_block(done.body, "s_halve"), nullptr) << "rows are not reduced in lanes:\n" << show(done);
  expect_same(k, done, {{n, 6}, {m, 21}});
}
TEST_F(RowByRow, LongRowsKeepTheirTemporaries) {
  EXPECT_EQ(scheduled(normalise({index(2)}, index(5000))).temporaries.size(), 1u);
}
// What reads another row cannot run row by row.
TEST_F(RowByRow, NotIfAnotherRowIsRead) {
  const Tensor x = k_.input("x", kFloat32, {index(4), index(9)});
  const Tensor e =
      k_.compute("e", kFloat32, {index(4), index(9)}, [&](Indices i) { return sqrt(x.at(i) * x.at(i)); });
  const Tensor s = k_.reduce("s", kFloat32, {index(4)}, {index(9)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return e(index(3) - i[0], r[0]); });
  const Tensor z =
      k_.compute("z", kFloat32, {index(4), index(9)}, [&](Indices i) { return e.at(i) + s(i[0]); });
  const Kernel k = k_.finish("k", "", {z});
  EXPECT_FALSE(scheduled(k).temporaries.empty());
  expect_same(k, scheduled(k));
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
