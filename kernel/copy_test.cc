#include "kernel/copy.h"

#include <gtest/gtest.h>

#include "kernel/builder.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

struct Pool {
  Arena arena;
  SymbolTable symbols{arena};
  ExprPool pool{arena, symbols};
};

// y[i] = sum over r of x[i, r] * w[r], whose sums of indices mention variables of several ages.
Kernel product(ExprPool& pool) {
  Builder k(pool);
  const Expr n = pool.shape_variable("n"), four = k.index(4);
  const Tensor w = k.input("w", kFloat32, {four}), x = k.input("x", kFloat32, {n * 2, four});
  return k.finish("product", "a product",
                  {k.reduce("y", kFloat32, {n * 2}, {four}, k.sum(kFloat32), [&](Indices i, Indices r) {
                    return x(i[0], r[0]) * w(floor_mod(r[0] + i[0], 4));
                  })});
}

TEST(Copy, ReadsLikeTheOriginalAndSharesNothingWithIt) {
  Pool from, to;
  // What else is in a pool does not matter.
  to.pool.shape_variable("z"), to.pool.variable("r0");
  const Kernel k = product(from.pool);
  Copier copier(to.pool);
  const Kernel& copy = *copier.kernel(k);
  EXPECT_EQ(show(copy), show(k));
  EXPECT_EQ(validate(copy), std::vector<std::string>());
  EXPECT_EQ(pool_of(copy), &to.pool);
  for (const Buffer* b : all_buffers(copy)) {
    for (Expr e : b->shape) EXPECT_EQ(e->pool, &to.pool);
  }
  visit(copy.body, [&](Stmt s) {
    for (Expr e : expressions(s)) EXPECT_EQ(e->pool, &to.pool);
    for (Expr e : binders(s)) EXPECT_EQ(e->pool, &to.pool);
    if (const auto* block = s->as<Block>()) {
      for (const Region& r : block->reads) EXPECT_EQ(r.min[0]->pool, &to.pool);
    }
  });
}

TEST(Copy, NodesKeepTheirOrderOfAge) {
  Pool from, to;
  const Expr i = from.pool.variable("i"), j = from.pool.variable("j");
  const Expr younger = floor_div(i, 7);
  const Expr sum = select(less(i, j), floor_mod(j, 5) + younger, younger);
  Copier copier(to.pool);
  const Expr copy = copier.expr(sum);
  EXPECT_EQ(show(copy), show(sum));
  EXPECT_LT(copier.expr(i)->id, copier.expr(j)->id);
  EXPECT_LT(copier.expr(younger)->id, copier.expr(sum->args[0])->id);
}

TEST(Copy, BuffersKeepTheirIdsUnlessNewOnesAreGiven) {
  Pool from, same, other;
  const Kernel k = product(from.pool);
  uint32_t next = 10;
  const Kernel& kept = *Copier(same.pool).kernel(k);
  const Kernel& renumbered = *Copier(other.pool, [&] { return next++; }).kernel(k);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(kept.inputs[i]->id, k.inputs[i]->id);
  // By age, and not by the order in which they are met.
  EXPECT_EQ(renumbered.inputs[0]->id, 10u);
  EXPECT_EQ(renumbered.inputs[1]->id, 11u);
  EXPECT_EQ(renumbered.outputs[0]->id, 12u);
}

TEST(Copy, WhatIsBoundIsReplaced) {
  Pool from, to;
  const Kernel k = product(from.pool);
  Copier copier(to.pool);
  copier.bind(from.pool.shape_variable("n"), to.pool.integer(3));
  const Kernel& copy = *copier.kernel(k);
  EXPECT_TRUE(copy.outputs[0]->shape[0].is_int(6));
  EXPECT_TRUE(shape_parameters(copy).empty());
}

TEST(Copy, DtypesAreMapped) {
  Pool from, to;
  Copier copier(to.pool);
  copier.map_dtypes([](DType d) { return d == kFloat32 ? kFloat64 : d; });
  const Kernel& copy = *copier.kernel(product(from.pool));
  EXPECT_EQ(copy.inputs[0]->dtype, kFloat64);
  EXPECT_EQ(validate(copy), std::vector<std::string>());
}

}  // namespace
}  // namespace relay::kernel
