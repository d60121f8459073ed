#include "kernel/schedule/inline_producers.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

class InlineProducers : public testing::Test {
 protected:
  static Kernel inlined(const Kernel& k) {
    return inline_producers(k, [](const Stage&, const Stage&) { return true; });
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
};

// Each product goes into the sum that reads it. Time is linear in the stages.
TEST_F(InlineProducers, GoesOverManyStagesOnce) {
  constexpr int kStages = 1000;
  Builder b(pool_);
  const Expr n = pool_.integer(8);
  const Tensor x = b.input("x", kFloat32, {n});
  Tensor last = x;
  for (int s = 0; s < kStages; ++s) {
    const Tensor product = b.compute(cat("product", s), kFloat32, {n},
                                     [&](Indices i) { return last.at(i) * b.constant(kFloat32, 2); });
    last = b.reduce(cat("sum", s), kFloat32, {n}, {n}, b.sum(kFloat32),
                    [&](Indices, Indices r) { return product.at(r); });
  }
  const Kernel out = inlined(b.finish("k", "", {last}));
  size_t products = 0, sums = 0;
  for (const Block* block : blocks(out.body)) {
    products += block->name.text().starts_with("product");
    sums += block->name.text().starts_with("sum");
  }
  EXPECT_EQ(products, 0u);
  EXPECT_GE(sums, static_cast<size_t>(kStages));
  EXPECT_EQ(out.temporaries.size(), static_cast<size_t>(kStages) - 1);
}

TEST_F(InlineProducers, TakesTheFirstFirst) {
  Builder b(pool_);
  const Expr n = pool_.integer(8);
  const Tensor x = b.input("x", kFloat32, {n});
  const Tensor twice = b.compute("twice", kFloat32, {n}, [&](Indices i) { return x.at(i) + x.at(i); });
  const Tensor power =
      b.compute("power", kFloat32, {n}, [&](Indices i) { return math(Math::kExp, twice.at(i)); });
  const Tensor y =
      b.compute("y", kFloat32, {n}, [&](Indices i) { return power.at(i) * power(n - 1 - i[0]); });
  const Kernel k = b.finish("k", "", {y});
  // An exponential that is read at two elements is not computed twice.
  EXPECT_EQ(show(inlined(k)), show(*primitives::compute_inline(k, "twice")));
}

// The two statements of a sum are one stage once nothing stands between them. Only then may what
// the sum reads go into it.
TEST_F(InlineProducers, JoinsWhatStoodApart) {
  Builder b(pool_);
  const Expr n = pool_.shape_variable("n");
  const Tensor x = b.input("x", kFloat32, {n});
  const Tensor twice = b.compute("twice", kFloat32, {n}, [&](Indices i) { return x.at(i) + x.at(i); });
  const Tensor sum =
      b.reduce("sum", kFloat32, {n}, {n}, b.sum(kFloat32), [&](Indices, Indices r) { return twice.at(r); });
  const Tensor between = b.compute("between", kFloat32, {n}, [&](Indices i) { return x.at(i) * x.at(i); });
  const Tensor y = b.compute("y", kFloat32, {n}, [&](Indices i) { return between.at(i) + x.at(i); });
  Kernel k = b.finish("k", "", {sum, y});
  const List<Stmt> body = k.body->as<Seq>()->body;  // twice, sum_init, sum, between, y
  ASSERT_EQ(body.size(), 5u);
  k.body = make_sequence(arena_, {body[0], body[1], body[3], body[2], body[4]});
  const primitives::Outcome alone = primitives::compute_inline(k, "between");
  ASSERT_TRUE(alone);
  EXPECT_EQ(show(inlined(k)), show(*primitives::compute_inline(*alone, "twice")));
}

}  // namespace
}  // namespace relay::kernel::schedule
