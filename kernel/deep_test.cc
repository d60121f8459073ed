// Deep and widely shared expressions, and deep statements: what makes and simplifies them takes
// linear time, and what recurses refuses them.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "base/cat.h"
#include "kernel/affine.h"
#include "kernel/builder.h"
#include "kernel/copy.h"
#include "kernel/execute.h"
#include "kernel/limits.h"
#include "kernel/polynomial.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

constexpr int kLong = 100'000;       // operations of a chain
constexpr int kDoublings = 60;       // a tree of more nodes than can be counted
constexpr double kMostSeconds = 10;  // a hundredth of this is usual; quadratic is far more

class DeepExpressions : public ::testing::Test {
 protected:
  void SetUp() override { start_ = std::clock(); }
  void TearDown() override {
    EXPECT_LT(static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC, kMostSeconds);
  }

  using Step = std::function<Expr(Expr)>;
  static Expr chain(Expr e, const Step& step, int times = kLong) {
    for (int i = 0; i < times; ++i) e = step(e);
    return e;
  }
  const Buffer* buffer(std::string_view name, DType dtype) {
    return arena_.make<Buffer>(next_++, symbols_.intern(name), dtype,
                               arena_.list(std::vector<Expr>{pool_.integer(4)}));
  }
  // Everything that must have an answer for an index expression of any size.
  void ask_all(Expr e) {
    Bounds bounds;
    bounds.bind(i_, pool_.integer(8));
    (void)simplify(e, bounds);
    (void)bounds.of(e);
    (void)bounds.proves_less(e, e + 1);
    (void)bounds.proves_less(n_, e);
    (void)bounds.proves_equal(e, e + n_);
    bounds.assume(less(e, n_));
    bounds.bind(pool_.variable("j"), e);
    (void)polynomial::simplify_binary(pool_, ExprKind::kFloorDiv, e, pool_.integer(3));
    (void)polynomial::divide_exactly(pool_, e * n_, n_);
    (void)prove_equal(e, e + 1);
    (void)not_quasi_affine(e);
    (void)evaluate(e, {{n_.get(), 1}, {i_.get(), 2}});
    EXPECT_LT(show(e).size(), size_t{1} << 20);
    EXPECT_EQ(compare(e.get(), e.get()), 0);
    Copier copier(elsewhere_);
    const Expr copy = copier.expr(e);
    EXPECT_EQ(copy->depth, e->depth);
    EXPECT_NE(substitute(e, {{n_.get(), n_ + 1}}), e);
  }

  Arena arena_, other_arena_;
  SymbolTable symbols_{arena_}, other_symbols_{other_arena_};
  ExprPool pool_{arena_, symbols_}, elsewhere_{other_arena_, other_symbols_};
  uint32_t next_ = 0;
  Expr n_ = pool_.shape_variable("n"), i_ = pool_.variable("i");
  const Buffer *x_ = buffer("x", kFloat32), *y_ = buffer("y", kInt64);
  std::clock_t start_ = 0;
};

TEST_F(DeepExpressions, ChainsOfDivisions) {
  ask_all(chain(i_ + n_, [&](Expr e) { return floor_div(e + n_, n_ + 1); }));
}
// As extents of tensors that are halved again and again. Each quotient is compared
// with its divisor.
TEST_F(DeepExpressions, ChainsOfHalvings) {
  const auto halved = [&](int times, int64_t added = 1) {
    return chain(n_, [&](Expr half) { return floor_div(half + added, 2); }, times);
  };
  Bounds bounds;
  for (int64_t added = 1; added <= 6; ++added) {
    EXPECT_EQ(simplify(halved(500, added), bounds), halved(500, added));
    EXPECT_FALSE(bounds.proves_less(halved(500, added), pool_.integer(2)));
  }
  EXPECT_TRUE(bounds.proves_less(halved(40), n_ + 2));
  EXPECT_FALSE(bounds.proves_less(halved(40), n_));
}
TEST_F(DeepExpressions, ChainsOfMinima) {
  ask_all(chain(i_ + n_, [&](Expr e) { return min(floor_mod(e, n_ + 2), n_); }));
}
TEST_F(DeepExpressions, ChainsOfSelections) {
  ask_all(chain(i_ + n_, [&](Expr e) { return select(less(n_, i_), e, e + 1); }));
}
TEST_F(DeepExpressions, ChainsOfLoads) {
  const Expr e = chain(i_ + n_, [&](Expr at) { return pool_.load(y_, {at}); });
  ask_all(e);
  EXPECT_TRUE(e->has_load && e->may_wrap);
}
TEST_F(DeepExpressions, SumsOfManyTerms) {
  ask_all(chain(n_, [&](Expr e) { return e + pool_.variable("v"); }));
}
TEST_F(DeepExpressions, ProductsOfManyFactors) {
  ask_all(chain(n_, [&](Expr e) { return e * pool_.variable("v"); }));
}

TEST_F(DeepExpressions, DoubledIndices) {
  const auto shared = [&](const std::function<Expr(Expr, Expr)>& f) {
    ask_all(
        chain(i_ + n_, [&](Expr e) { return f(floor_div(e, n_ + 1), floor_div(e, n_ + 2)); }, kDoublings));
  };
  shared([](Expr a, Expr b) { return a + b; });
  shared([](Expr a, Expr b) { return a * b; });
  shared([](Expr a, Expr b) { return min(a, b); });
  shared([](Expr a, Expr b) { return max(a, b); });
  shared([](Expr a, Expr b) { return floor_div(a, b); });
  shared([](Expr a, Expr b) { return select(less(a, b), a, b); });
  ask_all(chain(n_, [](Expr e) { return e * e; }, kDoublings));
}

TEST_F(DeepExpressions, DoubledConditions) {
  const Expr e =
      chain(less(i_, n_), [&](Expr c) { return logical_and(logical_or(c, less(n_, i_)), c); }, kDoublings);
  Bounds bounds;
  bounds.assume(e);
  EXPECT_FALSE(conjuncts(e).empty());
  EXPECT_TRUE(simplify(e, bounds));
  EXPECT_FALSE(show(e).empty());
}

// Expressions of two pools that are alike, so that no two nodes are the same one.
TEST_F(DeepExpressions, ComparesWhatIsAlike) {
  const auto make = [](ExprPool& pool, int times, bool doubled) {
    Expr e = pool.shape_variable("n");
    for (int i = 0; i < times; ++i) e = floor_div(doubled ? floor_mod(e, 3) * 5 + e : e, e + 7);
    return e;
  };
  for (const bool doubled : {true, false}) {
    const int times = doubled ? kDoublings : kLong;
    const Expr a = make(pool_, times, doubled), b = make(elsewhere_, times, doubled);
    EXPECT_EQ(compare(a.get(), b.get()), 0);
    EXPECT_NE(compare(a.get(), (b + 1).get()), 0);
  }
}

TEST_F(DeepExpressions, WhatIsLeftOutOfATextIsMarked) {
  const Expr deep = chain(n_, [&](Expr e) { return floor_mod(e, n_ + 1); });
  EXPECT_NE(show(deep).find("..."), std::string::npos);
  const Expr wide = chain(n_, [&](Expr e) { return max(e, floor_mod(e, n_ + 1)); }, kDoublings);
  EXPECT_NE(show(wide).find("..."), std::string::npos);
  EXPECT_EQ(
      show(chain(n_, [&](Expr e) { return floor_mod(e, n_ + 1); }, 200)).find("..."), std::string::npos);
}

// y[v] = f(x[v]) in four iterations.
class DeepKernels : public DeepExpressions {
 protected:
  Kernel kernel(const Step& step, int times) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {k.index(4)});
    return k.finish(
        "k", "",
        {k.compute("y", kFloat32, {k.index(4)}, [&](Indices i) { return chain(x.at(i), step, times); })});
  }
  Kernel nested(int loops) {
    Kernel k = kernel([](Expr e) { return e; }, 0);
    for (int l = 0; l < loops; ++l)
      k.body = make_for(arena_, pool_.variable("l"), pool_.integer(1), ForKind::kSerial, k.body);
    return k;
  }
  void expect_refused(const Kernel& k, std::string_view why) {
    EXPECT_EQ(too_deep(k), why);
    EXPECT_EQ(validate(k), std::vector<std::string>{std::string(why)});
    const ::relay::Tensor x(kFloat32, {4});
    EXPECT_THROW(execute(k, std::vector{x}), BadKernel);
    EXPECT_FALSE(show(k).empty());
  }
};

TEST_F(DeepKernels, AreRefused) {
  expect_refused(kernel([](Expr e) { return math(Math::kSin, e); }, kLong),
                 cat("an expression is nested more than ", kDeepestExpr, " deep"));
  expect_refused(nested(kLong), cat("statements are nested more than ", kDeepestNest, " deep"));
}

// What a block's variable stands for counts: code has it in the variable's place.
TEST_F(DeepKernels, AreRefusedForTheDepthOfBindings) {
  const Expr binding = chain(n_, [&](Expr e) { return floor_div(e, n_ + 1); }, kDeepestExpr / 4);
  Kernel k = nested(0);
  k.body = make_store(arena_, x_, {pool_.integer(0)}, pool_.real(1, kFloat32));
  for (int around = 0; around < 5; ++around) {
    EXPECT_EQ(too_deep(k),
              around < 4 ? "" : cat("an expression is nested more than ", kDeepestExpr, " deep"));
    const std::vector<BlockIter> iters{{pool_.variable("v"), n_, IterKind::kSpatial, binding}};
    k.body = make_block(pool_, cat("b", around), iters, {}, nullptr, k.body);
  }
}

TEST_F(DeepKernels, AtTheLimitsRun) {
  for (const Kernel& k :
       {kernel([](Expr e) { return math(Math::kAbs, e); }, kDeepestExpr - 4), nested(kDeepestNest - 3)}) {
    EXPECT_EQ(validate(k), std::vector<std::string>());
    const ::relay::Tensor x = ::relay::Tensor::of<float>(kFloat32, {4}, std::vector<float>{1, 2, 3, 4});
    EXPECT_EQ(execute(k, std::vector{x})[0].get(3), 4);
    EXPECT_EQ(execute(simplify(k), std::vector{x})[0].get(3), 4);
  }
}

TEST_F(DeepKernels, ComputeWhatIsSharedOnce) {
  const Kernel k =
      kernel([&](Expr e) { return max(math(Math::kAbs, e), e * pool_.real(1, kFloat32)); }, kDoublings);
  const ::relay::Tensor x = ::relay::Tensor::of<float>(kFloat32, {4}, std::vector<float>{1, 2, 3, 4});
  const ::relay::Tensor y = execute(k, std::vector{x})[0];
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), static_cast<double>(i + 1));
}

// What is kept of an expression is forgotten when an element changes.
TEST_F(DeepKernels, ComputeAgainWhatChanges) {
  Builder k(pool_);
  const Tensor x = k.input("x", kFloat32, {k.index(4)});
  const Tensor y = k.reduce("y", kFloat32, {}, {k.index(4)}, k.sum(kFloat32), [&](Indices, Indices r) {
    return chain(x.at(r), [&](Expr e) { return math(Math::kAbs, e); }, 2 * static_cast<int>(kSmallWeight));
  });
  const ::relay::Tensor in = ::relay::Tensor::of<float>(kFloat32, {4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(execute(k.finish("k", "", {y}), std::vector{in})[0].get(0), 10);
}

}  // namespace
}  // namespace relay::kernel
