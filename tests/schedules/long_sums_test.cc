// Long sums of each form that the rules for CPUs and GPUs know: well formed, complete and precise.
#include "kernel/schedule/long_sums.h"

#include "kernel/schedule/cpu/testing.h"
#include "kernel/schedule/gpu/schedule.h"

namespace relay::kernel::schedule {
namespace {

class LongSums : public cpu::CpuScheduleTest {
 protected:
  // Sums along `reduced`, in between rows if `middle`; as part of a row kernel if `normalise`.
  Kernel sum_of(Expr outer, const std::vector<Expr>& reduced, bool normalise = false) {
    Builder k(pool_);
    std::vector<Expr> shape{outer};
    shape.insert(shape.end(), reduced.begin(), reduced.end());
    const Tensor x = k.input("x", kFloat32, shape);
    const Tensor s = k.reduce("s", kFloat32, {outer}, reduced, k.sum(kFloat32), [&](Indices i, Indices r) {
      std::vector<Expr> at{i[0]};
      at.insert(at.end(), r.begin(), r.end());
      return x.at(at);
    });
    if (!normalise) return k.finish("k", "", {s});
    const Tensor y = k.compute("y", kFloat32, shape, [&](Indices i) { return x.at(i) - s(i[0]); });
    return k.finish("k", "", {y});
  }
  Kernel sum_down(Expr rows, Expr columns) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {rows, columns});
    const Tensor s = k.reduce("s", kFloat32, {columns}, {rows}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return x(r[0], i[0]); });
    return k.finish("k", "", {s});
  }
  // x[rows, length] w[length, columns], or w[columns, length]
  Kernel product_of(Expr rows, Expr columns, Expr length, bool transposed) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {rows, length});
    const Tensor w = k.input(
        "w", kFloat32, transposed ? std::vector<Expr>{columns, length} : std::vector<Expr>{length, columns});
    const Tensor y = k.reduce(
        "y", kFloat32, {rows, columns}, {length}, k.sum(kFloat32),
        [&](Indices i, Indices r) { return x(i[0], r[0]) * (transposed ? w(i[1], r[0]) : w(r[0], i[1])); });
    return k.finish("k", "", {y});
  }
  Kernel for_gpu(const Kernel& k) { return gpu::schedule_for_gpu(k, *target::target_of("cuda").gpu); }

  // All results are the exact sum of n terms `value`, but for a few ULP.
  void expect_precise(const Kernel& k, float value, int64_t n,
                      const std::vector<std::pair<Expr, int64_t>>& dims = {}) {
    std::vector<Values> in = inputs_of(k, dims);
    for (Values& t : in) {
      for (int64_t i = 0; i < t.size(); ++i) t.set(i, &t == &in[0] ? value : 1);
    }
    const Values out = execute(k, in)[0];
    const double exact = static_cast<double>(value) * static_cast<double>(n);
    for (int64_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out.get(i), exact, exact * 1e-6) << show(k);
  }
};

TEST_F(LongSums, AlongRows) {
  for (int64_t n : {33, 512, 513, 3000, 7560}) {
    for (bool normalise : {false, true}) {
      const Kernel k = sum_of(index(3), {index(n)}, normalise);
      for (int width : {4, 16}) expect_same(k, scheduled(k, width));
      expect_same(k, for_gpu(k));
    }
  }
}
TEST_F(LongSums, OfUnknownLength) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  for (bool normalise : {false, true}) {
    const Kernel k = sum_of(m, {n}, normalise);
    for (int64_t length : {0, 1, 40, 700, 5000}) {
      expect_same(k, scheduled(k), {{n, length}, {m, 5}});
      expect_same(k, for_gpu(k), {{n, length}, {m, 5}});
    }
  }
}
TEST_F(LongSums, OverSeveralAxes) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  for (const std::vector<Expr>& reduced : std::vector<std::vector<Expr>>{{index(40), index(50)},
                                                                         {index(300), index(5)},
                                                                         {index(3), index(7), index(40)},
                                                                         {index(90), n},
                                                                         {n, index(19)},
                                                                         {n, m}}) {
    const Kernel k = sum_of(index(2), reduced);
    expect_same(k, scheduled(k), {{n, 45}, {m, 37}});
    expect_same(k, for_gpu(k), {{n, 45}, {m, 37}});
  }
}
TEST_F(LongSums, DownColumns) {
  const Expr n = pool_.shape_variable("n");
  for (Expr rows : {index(2000), n}) {
    for (int64_t columns : {3, 21}) {
      const Kernel k = sum_down(rows, index(columns));
      expect_same(k, scheduled(k), {{n, 1500}});
      expect_same(k, for_gpu(k), {{n, 1500}});
    }
  }
}
TEST_F(LongSums, OfProducts) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  for (bool transposed : {false, true}) {
    for (int64_t length : {600, 1500}) {
      for (int64_t rows : {1, 5, 20}) {
        const Kernel k = product_of(index(rows), index(37), index(length), transposed);
        expect_same(k, scheduled(k));
        expect_same(k, for_gpu(k));
      }
    }
    const Kernel k = product_of(m, index(18), n, transposed);
    expect_same(k, scheduled(k), {{n, 700}, {m, 9}});
    expect_same(k, for_gpu(k), {{n, 700}, {m, 9}});
  }
}
TEST_F(LongSums, EqualTermsDoNotDrift) {
  const Expr n = pool_.shape_variable("n");
  for (float value : {0.1f, 1000.3f}) {
    for (Expr length : {index(7560), index(100000), n}) {
      const int64_t terms = length->kind == ExprKind::kInt ? length->int_value : 100000;
      const Kernel along = sum_of(index(1), {length}), down = sum_down(length, index(3)),
                   product = product_of(index(1), index(8), length, false);
      for (const Kernel& k : {along, down, product}) {
        for (const Kernel& s : {scheduled(k), for_gpu(k)}) expect_precise(s, value, terms, {{n, terms}});
      }
    }
  }
}
// An operator's sum may be ordered in any way, a kernel of the program keeps its order.
TEST_F(LongSums, InOrder) {
  const Kernel k = sum_down(index(2000), index(21));
  const Kernel s = cpu::schedule_for_cpu(k, cpu_with(4), {.in_order = true});
  EXPECT_EQ(show(s).find("_blocks"), std::string::npos);
  EXPECT_NE(show(scheduled(k)).find("_blocks"), std::string::npos);
}
TEST_F(LongSums, ShortOnesKeepTheirForm) {
  const Kernel k = sum_of(index(3), {index(64)});
  EXPECT_EQ(show(scheduled(k)).find("_blocks"), std::string::npos);
}
// The same length, known or not, gives the same bits; so do all places of a batch.
TEST_F(LongSums, OneOrderForAllPlaces) {
  const Expr n = pool_.shape_variable("n");
  std::uniform_real_distribution<float> real(-1, 1);
  // Equal rows have equal results; one of them.
  const auto rows_alike = [&](const Kernel& k, const std::vector<std::pair<Expr, int64_t>>& dims = {}) {
    std::vector<Values> in = inputs_of(k, dims);
    random_.seed(7);  // inputs_of drew numbers, as many as there are rows
    for (size_t t = 0; t < in.size(); ++t) {
      const int64_t row = t == 0 ? in[t].size() / in[t].shape()[0] : in[t].size();
      for (int64_t i = 0; i < in[t].size(); ++i) in[t].set(i, i < row ? real(random_) : in[t].get(i % row));
    }
    const Values out = execute(k, in)[0];
    const int64_t row = out.size() / out.shape()[0];
    for (int64_t i = row; i < out.size(); ++i) EXPECT_EQ(out.get(i), out.get(i % row)) << i;
    std::vector<double> one;
    for (int64_t i = 0; i < row; ++i) one.push_back(out.get(i));
    return one;
  };
  for (int64_t rows : {5, 7, 13}) {
    for (bool transposed : {false, true}) {
      rows_alike(scheduled(product_of(index(rows), index(21), index(700), transposed)));
    }
  }
  for (bool normalise : {false, true}) {
    const std::vector<double> known = rows_alike(scheduled(sum_of(index(5), {index(7560)}, normalise)));
    EXPECT_EQ(known, rows_alike(scheduled(sum_of(n, {index(7560)}, normalise)), {{n, 13}}));
    EXPECT_EQ(known, rows_alike(scheduled(sum_of(index(5), {n}, normalise)), {{n, 7560}}));
  }
}

}  // namespace
}  // namespace relay::kernel::schedule
