#include "kernel/schedule/gpu/schedule.h"

#include "base/failure.h"
#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule::gpu {
namespace {

class Gpu : public ScheduleTest {
 protected:
  Kernel scheduled(const Kernel& k, int opt_level = 2) {
    return schedule_for_gpu(k, *target::target_of("cuda").gpu, {.opt_level = opt_level});
  }
  void check(const Kernel& k, const std::vector<std::pair<Expr, int64_t>>& dims = {}) {
    for (int level : {0, 2}) expect_same(k, scheduled(k, level), dims);
  }
  static int64_t extent(const Kernel& k, ForKind how) {
    int64_t most = 0;
    visit(k.body, [&](Stmt s) {
      const auto* f = s->as<For>();
      if (f && f->how == how && f->extent->kind == ExprKind::kInt)
        most = std::max(most, f->extent->int_value);
    });
    return most;
  }
  static bool has_shared(const Kernel& k) {
    bool found = false;
    visit(k.body, [&](Stmt s) {
      const auto* a = s->as<Allocate>();
      found |= a && a->buffer->scope == Scope::kShared;
    });
    return found;
  }
  Kernel product(int64_t m, int64_t n, int64_t k, bool transposed = false) {
    const Tensor a = input("a", {m, k}), b = transposed ? input("b", {n, k}) : input("b", {k, n}),
                 c = input("c", {n});
    const Tensor p = k_.reduce(
        "p", kFloat32, {index(m), index(n)}, {index(k)}, k_.sum(kFloat32),
        [&](Indices i, Indices r) { return a(i[0], r[0]) * (transposed ? b(i[1], r[0]) : b(r[0], i[1])); });
    const Tensor y = k_.compute("y", kFloat32, p.shape(), [&](Indices i) { return p.at(i) + c(i[1]); });
    return k_.finish("product", "nn.dense + add", {y});
  }
};

TEST_F(Gpu, ElementsHaveAThreadEach) {
  const Tensor x = input("x", {3, 100}), b = input("b", {100});
  const Tensor a = k_.compute("a", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return a.at(i) + b(i[1]); });
  const Kernel k = k_.finish("k", "", {y});
  EXPECT_EQ(extent(scheduled(k), ForKind::kBlockX), 2);
  EXPECT_EQ(extent(scheduled(k), ForKind::kThreadX), 256);
  EXPECT_TRUE(scheduled(k).temporaries.empty());
  EXPECT_EQ(scheduled(k, 0).temporaries.size(), 1u);
  check(k);
}

TEST_F(Gpu, ElementsOfATensorOfUnknownSize) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n, index(7)});
  const Tensor y = k_.compute("y", kFloat32, {index(7), n}, [&](Indices i) { return x(i[1], i[0]); });
  const Kernel k = k_.finish("k", "", {y});
  for (int64_t size : {0, 1, 50}) check(k, {{n, size}});
}

TEST_F(Gpu, LongTensorsGoSixteenBytesAtOnce) {
  const Tensor x = input("x", {64, 2048}), z = input("z", {64, 2048});
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return x.at(i) + z.at(i); });
  const Kernel k = k_.finish("k", "", {y});
  EXPECT_EQ(extent(scheduled(k), ForKind::kVectorized), 4);
  EXPECT_EQ(extent(scheduled(k), ForKind::kBlockX), 128);
  check(k);
}

TEST_F(Gpu, AScalarAndNothing) {
  const Tensor x = input("x", {});
  check(k_.finish("k", "", {k_.compute("y", kFloat32, {}, [&](Indices) { return x() + x(); })}));
  const Tensor none = input("none", {0, 3});
  check(k_.finish("k", "", {k_.compute("z", kFloat32, none.shape(), [&](Indices i) { return none.at(i); })}));
}

TEST_F(Gpu, ShortReductionsHaveAThreadForEachElement) {
  const Tensor x = input("x", {40, 9});
  const Kernel k = k_.finish("k", "",
                             {k_.reduce("y", kFloat32, {index(40)}, {index(9)}, k_.sum(kFloat32),
                                        [&](Indices i, Indices r) { return x(i[0], r[0]); })});
  EXPECT_FALSE(has_shared(scheduled(k)));
  check(k);
}

TEST_F(Gpu, RowsAreReducedByAWarp) {
  const Tensor x = input("x", {40, 100});
  const Tensor m = k_.reduce("m", kFloat32, {index(40)}, {index(100)}, k_.maximum(kFloat32),
                             [&](Indices i, Indices r) { return x(i[0], r[0]); });
  const Kernel k = k_.finish(
      "k", "", {k_.compute("y", kFloat32, {index(40)}, [&](Indices i) { return m.at(i) * m.at(i); })});
  EXPECT_EQ(extent(scheduled(k), ForKind::kThreadX), 32);
  EXPECT_EQ(extent(scheduled(k), ForKind::kThreadY), 8);
  EXPECT_EQ(extent(scheduled(k), ForKind::kBlockX), 5);
  check(k);
}

TEST_F(Gpu, LongRowsAreReducedByABlock) {
  const Tensor x = input("x", {3, 2, 700});
  const Kernel k = k_.finish("k", "",
                             {k_.reduce("y", kFloat32, {index(3)}, {index(2), index(700)}, k_.sum(kFloat32),
                                        [&](Indices i, Indices r) { return x(i[0], r[0], r[1]); })});
  EXPECT_EQ(extent(scheduled(k), ForKind::kThreadX), 256);
  check(k);
}

TEST_F(Gpu, OtherReductionsAreShared) {
  const Tensor x = input("x", {2, 130}), q = k_.input("q", kInt32, {index(2), index(130)}),
               b = k_.input("b", kBool, {index(2), index(130)});
  const auto over = [&](const Tensor& t, const char* name, const Reducer& by) {
    return k_.reduce(name, t.dtype(), {index(2)}, {index(130)}, by,
                     [&](Indices i, Indices r) { return t(i[0], r[0]); });
  };
  const Kernel k =
      k_.finish("k", "",
                {over(x, "least", k_.minimum(kFloat32)), over(x, "number", k_.maximum_of_numbers(kFloat32)),
                 over(q, "product", k_.product(kInt32)), over(q, "most", k_.maximum(kInt32)),
                 over(b, "all", k_.all()), over(b, "any", k_.any())});
  EXPECT_TRUE(has_shared(scheduled(k)));
  check(k);
}

TEST_F(Gpu, ProductsGoInTiles) {
  EXPECT_TRUE(has_shared(scheduled(product(64, 64, 32))));
  check(product(64, 64, 32));
  check(product(64, 64, 32, true));
}
TEST_F(Gpu, ProductsThatTilesDoNotDivide) {
  check(product(37, 45, 19));
  check(product(37, 45, 19, true));
  check(product(8, 9, 70));
}
TEST_F(Gpu, ProductsOfIntegersGoInTiles) {
  for (const DType left : {kInt8, kUInt8}) {
    Builder k(pool_);
    const Tensor a = k.input("a", left, {index(37), index(19)}),
                 b = k.input("b", kInt8, {index(19), index(45)});
    const Kernel quantised = k.finish(
        "k", "",
        {k.reduce("p", kInt32, {index(37), index(45)}, {index(19)}, k.sum(kInt32), [&](Indices i, Indices r) {
          return (cast(kInt32, a(i[0], r[0])) - k.constant(kInt32, 3)) * cast(kInt32, b(r[0], i[1]));
        })});
    EXPECT_TRUE(has_shared(scheduled(quantised)));
    check(quantised);
  }
}
TEST_F(Gpu, ASumThatBeginsWithAnElementIsAProduct) {
  const Tensor a = input("a", {37, 19}), b = input("b", {19, 45}), c = input("c", {45});
  Reducer sum = k_.sum(kFloat32);
  sum.init = c(index(7));
  const Tensor p = k_.reduce("p", kFloat32, {index(37), index(45)}, {index(19)}, sum,
                             [&](Indices i, Indices r) { return a(i[0], r[0]) * b(r[0], i[1]); });
  const Kernel k = k_.finish("k", "", {p});
  EXPECT_TRUE(has_shared(scheduled(k)));
  check(k);
}
TEST_F(Gpu, BlocksShareLongSumsOfFewResults) {
  const Kernel k = scheduled(product(9, 10, 700));
  EXPECT_EQ(k.temporaries.size(), 1u) << show(k);
  EXPECT_EQ(extent(k, ForKind::kBlockX), 2);
  check(product(9, 10, 700));
  check(product(9, 10, 512, true));
}
TEST_F(Gpu, ProductsWithFewRowsAreRowReductions) {
  const Kernel k = scheduled(product(1, 30, 100, true));
  EXPECT_EQ(extent(k, ForKind::kThreadX), 32);
  check(product(1, 30, 100, true));
}

TEST_F(Gpu, ABatchOfProducts) {
  const Tensor a = input("a", {3, 20, 16}), b = input("b", {3, 16, 24});
  check(k_.finish(
      "k", "",
      {k_.reduce("p", kFloat32, {index(3), index(20), index(24)}, {index(16)}, k_.sum(kFloat32),
                 [&](Indices i, Indices r) { return a(i[0], i[1], r[0]) * b(i[0], r[0], i[2]); })}));
}

TEST_F(Gpu, AConvolutionIsAProductAndPadsItself) {
  const Tensor x = input("x", {2, 3, 9, 9}), f = input("f", {10, 3, 3, 3});
  const Tensor pad = k_.compute("pad", kFloat32, {index(2), index(3), index(11), index(11)}, [&](Indices i) {
    const Expr h = i[2] - 1, v = i[3] - 1, zero = index(0), end = index(9);
    return select(logical_and(logical_and(less_equal(zero, h), less(h, end)),
                              logical_and(less_equal(zero, v), less(v, end))),
                  x(i[0], i[1], h, v), k_.constant(kFloat32, 0));
  });
  const Tensor c = k_.reduce("conv", kFloat32, {index(2), index(10), index(9), index(9)},
                             {index(3), index(3), index(3)}, k_.sum(kFloat32), [&](Indices i, Indices r) {
                               return pad(i[0], r[0], i[2] + r[1], i[3] + r[2]) * f(i[1], r[0], r[1], r[2]);
                             });
  const Kernel k = k_.finish("k", "nn.conv2d", {c});
  EXPECT_TRUE(scheduled(k).temporaries.empty()) << show(scheduled(k));
  EXPECT_TRUE(has_shared(scheduled(k)));
  check(k);
}

// Softmax and what becomes of it: maximum, exponential, sum, quotient.
TEST_F(Gpu, WhatGoesAlongRowsIsOneLaunch) {
  const auto longest = static_cast<int>(accepts(*target::target_of("cuda").gpu).longest_row);
  for (const auto& [rows, length] :
       {std::pair(6, 70), std::pair(40, 300), std::pair(3, 700), std::pair(1, longest)}) {
    const Tensor x = input("x", {rows, length});
    const Tensor m = k_.reduce("m", kFloat32, {index(rows), index(1)}, {index(length)}, k_.maximum(kFloat32),
                               [&](Indices i, Indices r) { return x(i[0], r[0]); });
    const Tensor e = k_.compute("e", kFloat32, x.shape(), [&](Indices i) {
      const Expr d = x.at(i) - m(i[0], index(0));
      return select(less(d, k_.constant(kFloat32, -1)), d * d, d);
    });
    const Tensor s = k_.reduce("s", kFloat32, {index(rows), index(1)}, {index(length)}, k_.sum(kFloat32),
                               [&](Indices i, Indices r) { return e(i[0], r[0]); });
    const Tensor y =
        k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return e.at(i) - s(i[0], index(0)); });
    const Kernel k = k_.finish("k", "", {y});
    const Kernel done = scheduled(k);
    EXPECT_TRUE(done.temporaries.empty()) << show(done);
    EXPECT_EQ(done.body->as<Seq>(), nullptr) << show(done);
    check(k);
  }
}

// So nothing of it would be gained by one kernel.
TEST_F(Gpu, AttentionIsNotAccepted) {
  EXPECT_EQ(accepts(*target::target_of("cuda").gpu).longest_score_row, 0);
}

TEST_F(Gpu, AttentionIsTwoProductsAndRows) {
  const Tensor q = input("q", {2, 16, 8}), key = input("key", {2, 40, 8}), v = input("v", {2, 40, 8});
  const Tensor s =
      k_.reduce("s", kFloat32, {index(2), index(16), index(40)}, {index(8)}, k_.sum(kFloat32),
                [&](Indices i, Indices r) { return q(i[0], i[1], r[0]) * key(i[0], i[2], r[0]); });
  const Tensor m = k_.reduce("m", kFloat32, {index(2), index(16)}, {index(40)}, k_.maximum(kFloat32),
                             [&](Indices i, Indices r) { return s(i[0], i[1], r[0]); });
  const Tensor e = k_.compute("e", kFloat32, s.shape(), [&](Indices i) { return s.at(i) - m(i[0], i[1]); });
  const Tensor y = k_.reduce("y", kFloat32, {index(2), index(16), index(8)}, {index(40)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return e(i[0], i[1], r[0]) * v(i[0], r[0], i[2]); });
  check(k_.finish("k", "", {y}));
}

TEST_F(Gpu, SharedMemoryIsNoMoreThanThereIs) {
  for (DType d : {kFloat32, kFloat64, kInt64}) {
    const Tensor a = k_.input("a", d, {index(2048), index(64)}),
                 b = k_.input("b", d, {index(64), index(2048)});
    const Kernel k = scheduled(
        k_.finish("k", "",
                  {k_.reduce("p", d, {index(2048), index(2048)}, {index(64)}, k_.sum(d),
                             [&](Indices i, Indices r) { return a(i[0], r[0]) * b(r[0], i[1]); })}));
    EXPECT_TRUE(has_shared(k)) << d.name();
    int64_t bytes = 0;
    visit(k.body, [&](Stmt s) {
      const auto* n = s->as<Allocate>();
      if (n && n->buffer->scope == Scope::kShared)
        bytes += memory_extent(*n->buffer).value() * static_cast<int64_t>(n->buffer->dtype.bytes());
    });
    EXPECT_LE(bytes, 48 * 1024) << d.name();
  }
}

TEST_F(Gpu, WhatMayFailAsksForEachElement) {
  const Tensor x = input("x", {70}), at = k_.input("at", kInt64, {index(5)});
  const Tensor y = k_.compute("y", kFloat32, {index(5)}, [&](Indices i) {
    k_.require(logical_and(less_equal(index(0), at(i[0])), less(at(i[0]), index(70))), "outside");
    return x(at(i[0]));
  });
  const Kernel k = k_.finish("k", "take", {y});
  const Values all = random(kFloat32, {70});
  Values where(kInt64, {5});
  for (int64_t i = 0; i < 5; ++i) where.set_int(i, 17 * i);
  expect_results(execute(k, std::vector<Values>{all, where}), scheduled(k), {all, where});
  where.set_int(3, 70);
  EXPECT_THROW(execute(scheduled(k), std::vector<Values>{all, where}), ::relay::Trap);
}

TEST_F(Gpu, WhatGoesInOrderIsOneThreadsWorkAfterABeginning) {
  const Tensor x = input("x", {500});
  const Tensor t = k_.update(
      "t", kFloat32, {index(500)}, [&](Indices) { return k_.constant(kFloat32, 0); }, {index(500)},
      [&](Indices r) { return std::vector<Expr>{r[0]}; },
      [&](Tensor self, Indices r) {
        return select(less(index(0), r[0]), self(max(r[0] - 1, index(0))), k_.constant(kFloat32, 0)) +
               x(r[0]);
      });
  const Kernel k = k_.finish("k", "cumsum", {t});
  EXPECT_EQ(extent(scheduled(k), ForKind::kThreadX), 256) << show(scheduled(k));
  check(k);
}

}  // namespace
}  // namespace relay::kernel::schedule::gpu
