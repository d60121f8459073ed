#include "kernel/builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace relay::kernel {
namespace {

TEST(Builder, WritesOneBlockForEachTensor) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  Builder k(pool);
  const Expr n = pool.shape_variable("n");
  const Tensor x = k.input("x", kFloat32, {n, k.index(8)}),
               w = k.input("w", kFloat32, {k.index(4), k.index(8)});
  const Tensor dense = k.reduce("dense", kFloat32, {n, k.index(4)}, {k.index(8)}, k.sum(kFloat32),
                                [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  const Tensor y = k.compute("y", kFloat32, {n, k.index(4)},
                             [&](Indices i) { return max(dense.at(i), k.constant(kFloat32, 0)); });
  EXPECT_EQ(show(k.finish("layer", "nn.dense + nn.relu", {y})),
            R"(kernel layer(x: float32[n, 8], w: float32[4, 8]) -> (y: float32[n, 4])  // nn.dense + nn.relu
  temporary dense: float32[n, 4]
  for i0 in n:
    for i1 in 4:
      for r0 in 8:
        block dense:
          spatial vi0 in n = i0
          spatial vi1 in 4 = i1
          reduction vr0 in 8 = r0
          reads dense[vi0, vi1], x[vi0, vr0], w[vi1, vr0]
          writes dense[vi0, vi1]
          init:
            dense[vi0, vi1] = 0f
          dense[vi0, vi1] = dense[vi0, vi1] + x[vi0, vr0] * w[vi1, vr0]
  for i0 in n:
    for i1 in 4:
      block y:
        spatial vi0 in n = i0
        spatial vi1 in 4 = i1
        reads dense[vi0, vi1]
        writes y[vi0, vi1]
        y[vi0, vi1] = max(dense[vi0, vi1], 0f)
)");
}

TEST(Builder, RegionsOfGuardedAndOfLoadedIndicesStayInsideTheBuffer) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  Builder k(pool);
  const Expr n = pool.shape_variable("n");
  const Tensor x = k.input("x", kFloat32, {n}), at = k.input("at", kInt64, {n});
  const Tensor y = k.compute("y", kFloat32, {n}, [&](Indices i) {
    return select(less_equal(k.index(1), i[0]), x(i[0] - 1), x(at(i[0])));
  });
  const std::string text = show(k.finish("k", "", {y}));
  EXPECT_NE(text.find("reads x[max(0, vi0 - 1)], at[vi0], x[0 : n]"), std::string::npos) << text;
}

TEST(Builder, NamesAreMadeUnique) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  Builder k(pool);
  const Tensor x = k.input("x", kFloat32, {});
  const Tensor a = k.compute("relu", kFloat32, {}, [&](Indices) { return x() + 1; });
  const Tensor b = k.compute("relu", kFloat32, {}, [&](Indices) { return a() + 1; });
  EXPECT_EQ(a.buffer()->name.text(), "relu");
  EXPECT_EQ(b.buffer()->name.text(), "relu_1");
}

TEST(Builder, ShapeParametersAreSortedAndUnique) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  Builder k(pool);
  const Expr n = pool.shape_variable("n"), m = pool.shape_variable("m");
  const Tensor x = k.input("x", kFloat32, {n, m}), z = k.input("z", kFloat32, {m + n});
  const Tensor y = k.compute("y", kFloat32, {n}, [&](Indices i) { return x(i[0], k.index(0)) + z(i[0]); });
  const auto parameters = shape_parameters(k.finish("k", "", {y}));
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(show(parameters[0]), "m");
  EXPECT_EQ(show(parameters[1]), "n");
}

TEST(Builder, ExtremesOfDtypes) {
  Arena arena;
  SymbolTable symbols(arena);
  ExprPool pool(arena, symbols);
  Builder k(pool);
  EXPECT_EQ(k.lowest(kInt8)->int_value, -128);
  EXPECT_EQ(k.highest(kInt8)->int_value, 127);
  EXPECT_EQ(k.lowest(kUInt8)->int_value, 0);
  EXPECT_EQ(k.highest(kUInt8)->int_value, 255);
  EXPECT_EQ(k.lowest(kInt64)->int_value, INT64_MIN);
  EXPECT_EQ(k.highest(kFloat16)->float_value, INFINITY);
}

}  // namespace
}  // namespace relay::kernel
