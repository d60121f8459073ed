#include "kernel/batched.h"

#include <gtest/gtest.h>

#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

struct Pool {
  Arena arena;
  SymbolTable symbols{arena};
  ExprPool pool{arena, symbols};
};

// y = relu(w x + b), where w x is also given; with w and b the same for all calls.
Kernel layer(ExprPool& pool, int64_t width = 3) {
  Builder k(pool);
  const Expr two = k.index(2), n = k.index(width);
  const Tensor x = k.input("x", kFloat32, {n}), w = k.input("w", kFloat32, {two, n}),
               b = k.input("b", kFloat32, {two});
  const Tensor twice = k.compute("twice", kFloat32, {two}, [&](Indices i) { return b.at(i) * 2; });
  const Tensor product = k.reduce("product", kFloat32, {two}, {n}, k.sum(kFloat32),
                                  [&](Indices i, Indices r) { return w(i[0], r[0]) * x(r[0]); });
  const Tensor y = k.compute("y", kFloat32, {two}, [&](Indices i) {
    return max(product.at(i) + twice.at(i), k.constant(kFloat32, 0));
  });
  return k.finish("layer", "a layer", {y, product});
}

TEST(Batched, AddsTheCallsToWhatDependsOnThem) {
  Pool p;
  const Kernel many = batched(p.pool, layer(p.pool), {true, false, false}, "layers");
  EXPECT_EQ(validate(many), std::vector<std::string>());
  EXPECT_EQ(
      show(many),
      R"(kernel layers(x: float32[calls, 3], w: float32[2, 3], b: float32[2]) -> (y: float32[calls, 2], product: float32[calls, 2])  // a layer
  temporary twice: float32[2]
  for i0 in 2:
    block twice:
      spatial vi0 in 2 = i0
      reads b[vi0]
      writes twice[vi0]
      twice[vi0] = b[vi0] * 2f
  for call in calls:
    for i0 in 2:
      for r0 in 3:
        block product:
          spatial vcall in calls = call
          spatial vi0 in 2 = i0
          reduction vr0 in 3 = r0
          reads product[vcall, vi0], w[vi0, vr0], x[vcall, vr0]
          writes product[vcall, vi0]
          init:
            product[vcall, vi0] = 0f
          product[vcall, vi0] = product[vcall, vi0] + w[vi0, vr0] * x[vcall, vr0]
  for call in calls:
    for i0 in 2:
      block y:
        spatial vcall in calls = call
        spatial vi0 in 2 = i0
        reads product[vcall, vi0], twice[vi0]
        writes y[vcall, vi0]
        y[vcall, vi0] = max(product[vcall, vi0] + twice[vi0], 0f)
)");
}

TEST(Batched, EachRowIsACall) {
  Pool p;
  const Kernel one = layer(p.pool), many = batched(p.pool, one, {true, false, false}, "layers");
  const auto numbers = [](Shape shape, int seed) {
    ::relay::Tensor t(kFloat32, std::move(shape));
    for (size_t i = 0; i < t.as<float>().size(); ++i)
      t.as<float>()[i] = static_cast<float>((static_cast<int>(i) * seed) % 7 - 3);
    return t;
  };
  const ::relay::Tensor x = numbers({5, 3}, 5), w = numbers({2, 3}, 3), b = numbers({2}, 2);
  const std::vector<::relay::Tensor> all = execute(many, std::vector{x, w, b});
  for (int64_t call = 0; call < 5; ++call) {
    ::relay::Tensor row(kFloat32, {3});
    for (int64_t i = 0; i < 3; ++i) row.set(static_cast<size_t>(i), x.get(static_cast<size_t>(call * 3 + i)));
    const std::vector<::relay::Tensor> alone = execute(one, std::vector{row, w, b});
    for (size_t out = 0; out < 2; ++out) {
      for (size_t i = 0; i < 2; ++i)
        EXPECT_EQ(all[out].get(static_cast<size_t>(call) * 2 + i), alone[out].get(i)) << call << " " << out;
    }
  }
}

TEST(Batched, SaysWhatDoesNotFit) {
  Pool p;
  const Kernel one = layer(p.pool), many = batched(p.pool, one, {true, false, false}, "layers");
  EXPECT_EQ(cannot_batch(one, many), "");
  EXPECT_TRUE(varies(one, many, 0));
  EXPECT_FALSE(varies(one, many, 1));
  EXPECT_FALSE(share_weights(one, many));
  const Kernel large = layer(p.pool, 4096);
  EXPECT_TRUE(share_weights(large, batched(p.pool, large, {true, false, false}, "layers")));
  EXPECT_NE(cannot_batch(one, one).find("does not have the number of calls before its dims"),
            std::string::npos);
  EXPECT_NE(cannot_batch(one, layer(p.pool, 4)).find("neither that of one call"), std::string::npos);
  EXPECT_NE(cannot_batch(many, many).find("has shape variables"), std::string::npos);
  EXPECT_NE(cannot_batch(one, batched(p.pool, one, {false, false, false}, "layers")).find("tells the number"),
            std::string::npos);
  Kernel fewer = many;
  fewer.inputs = p.arena.list(std::vector<const Buffer*>{many.inputs[0]});
  EXPECT_NE(cannot_batch(one, fewer).find("another number of tensors"), std::string::npos);
}

}  // namespace
}  // namespace relay::kernel
