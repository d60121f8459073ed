#include "kernel/count.h"

#include <gtest/gtest.h>

#include "kernel/builder.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Counts : public ::testing::Test {
 protected:
  Expr index(int64_t v) { return pool_.integer(v); }
  Tensor vector(std::string_view name, int64_t n) { return k_.input(name, kFloat32, {index(n)}); }
  Count count_of(const std::vector<Tensor>& outputs) {
    const std::optional<Count> c = count(k_.finish("k", "", outputs));
    EXPECT_TRUE(c.has_value());
    return c.value_or(Count{});
  }
  // A kernel of one output with this body.
  Kernel kernel(const Buffer* in, const Buffer* out, Stmt body) {
    const std::vector<const Buffer*> inputs{in}, outputs{out};
    return {symbols_.intern("k"), arena_.list(inputs), arena_.list(outputs), {}, body, symbols_.intern("")};
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
};

TEST_F(Counts, AProductOfMatrices) {
  const Tensor a = k_.input("a", kFloat32, {index(5), index(7)}),
               b = k_.input("b", kFloat32, {index(7), index(3)});
  const Tensor c = k_.reduce("c", kFloat32, {index(5), index(3)}, {index(7)}, k_.sum(kFloat32),
                             [&](Indices i, Indices r) { return a(i[0], r[0]) * b(r[0], i[1]); });
  const Count n = count_of({c});
  EXPECT_EQ(n.flops, 2 * 5 * 7 * 3);
  EXPECT_EQ(n.bytes, (std::vector<double>{4 * 35, 4 * 21, 4 * 15}));
  EXPECT_EQ(n.total_bytes(), 4 * (35 + 21 + 15));
}

TEST_F(Counts, SharedPartsAndCallsOnceIndicesAndConditionsNever) {
  const Tensor x = vector("x", 10);
  const Tensor y = k_.compute("y", kFloat32, {index(10)}, [&](Indices i) {
    const Expr e = exp(x(index(9) - i[0])), zero = k_.constant(kFloat32, 0);
    return select(less(x(i[0]), zero), e * e, e);  // exp once, its square
  });
  EXPECT_EQ(count_of({y}).flops, 2 * 10);
}

TEST_F(Counts, IntegersCountWithTheirOwnBytes) {
  const Tensor x = k_.input("x", kInt8, {index(64)});
  const Tensor y = k_.reduce("y", kInt32, {index(1)}, {index(64)}, k_.sum(kInt32), [&](Indices, Indices r) {
    return cast(kInt32, x(r[0])) * cast(kInt32, x(r[0]));
  });
  const Count n = count_of({y});
  EXPECT_EQ(n.flops, 2 * 64);
  EXPECT_EQ(n.bytes, (std::vector<double>{64, 4}));
}

TEST_F(Counts, AStrideLeavesBytesUntouched) {
  const Tensor x = vector("x", 101);
  const Tensor y = k_.compute("y", kFloat32, {index(20)}, [&](Indices i) { return x(i[0] * 5 + 3); });
  EXPECT_EQ(count_of({y}).bytes[0], 4 * 20);
}

TEST_F(Counts, TwoStridesOfTwoTouchEveryElement) {
  const Tensor x = vector("x", 40);
  const Tensor y =
      k_.compute("y", kFloat32, {index(20)}, [&](Indices i) { return x(i[0] * 2) + x(i[0] * 2 + 1); });
  EXPECT_EQ(count_of({y}).bytes[0], 4 * 40);
}

TEST_F(Counts, AGatherTouchesAtMostWhatItReads) {
  const Tensor table = k_.input("table", kFloat32, {index(30000), index(8)});
  const Tensor ids = k_.input("ids", kInt64, {index(3)});
  const Tensor y =
      k_.compute("y", kFloat32, {index(3), index(8)}, [&](Indices i) { return table(ids(i[0]), i[1]); });
  EXPECT_EQ(count_of({y}).bytes, (std::vector<double>{4 * 3 * 8, 8 * 3, 4 * 24}));
}

TEST_F(Counts, PaddingIsNotInTheTensor) {
  const Tensor x = vector("x", 10);
  const Tensor y = k_.compute("y", kFloat32, {index(14)}, [&](Indices i) {
    const Expr at = i[0] - 2;
    return select(logical_and(less_equal(index(0), at), less(at, index(10))), x(at),
                  k_.constant(kFloat32, 0));
  });
  EXPECT_EQ(count_of({y}).bytes, (std::vector<double>{4 * 10, 4 * 14}));
}

// for i in 10: for j in i: if j is odd: y[j] = x[i] + x[j]
TEST_F(Counts, GuardsAndTrianglesIterationByIteration) {
  const Tensor x = vector("x", 10);
  const Kernel empty =
      k_.finish("empty", "", {k_.compute("y", kFloat32, {index(10)}, [&](Indices i) { return x(i[0]); })});
  const Expr i = pool_.variable("i"), j = pool_.variable("j");
  const Stmt store = make_store(arena_, empty.outputs[0], {j}, x(i) + x(j));
  const Stmt odd = make_if(arena_, equal(floor_mod(j, 2), index(1)), store);
  const Stmt body =
      make_for(arena_, i, index(10), ForKind::kSerial, make_for(arena_, j, i, ForKind::kSerial, odd));
  const std::optional<Count> n = count(kernel(x.buffer(), empty.outputs[0], body));
  ASSERT_TRUE(n.has_value());
  EXPECT_EQ(n->flops, 0 + 0 + 1 + 1 + 2 + 2 + 3 + 3 + 4 + 4);
}

TEST_F(Counts, WithoutShapesThereIsNothing) {
  const Tensor x = k_.input("x", kFloat32, {pool_.shape_variable("n")});
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return x(i[0]) * 2; });
  EXPECT_FALSE(count(k_.finish("k", "", {y})).has_value());
}

}  // namespace
}  // namespace relay::kernel
