#include "kernel/schedule/contraction.h"

#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule {
namespace {

class ContractionTest : public ScheduleTest {
 protected:
  // y[i, j] = the sum over k of f(i, j, k).
  Stage sum(DType d, const std::function<Expr(Builder&, Indices, Indices)>& f) {
    Builder k(pool_);
    const Tensor y = k.reduce("y", d, {index(3), index(4)}, {index(5)}, k.sum(d),
                              [&](Indices i, Indices r) { return f(k, i, r); });
    kernel_ = k.finish("sum", "", {y});
    return stages_of(kernel_)[0];
  }

  Kernel kernel_;
};

TEST_F(ContractionTest, AProductIsTakenApart) {
  const Stage s = sum(kFloat32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kFloat32, {index(3), index(5)}),
                 b = k.input("b", kFloat32, {index(5), index(4)});
    return a(i[0], r[0]) * (b(r[0], i[1]) * k.constant(kFloat32, 2));
  });
  const auto view = contraction_view(s);
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->is_sum() && view->is_of(kFloat32) && !view->is_of(kFloat64));
  EXPECT_EQ(view->factors.size(), 3u);
  EXPECT_EQ(view->along(s.spatial[0]), std::vector{view->factors[0]});
  EXPECT_EQ(view->along(s.spatial[1]), std::vector{view->factors[1]});
  EXPECT_EQ(view->along(s.reduction[0]).size(), 2u);
}

TEST_F(ContractionTest, OfAnyDtype) {
  const Stage s = sum(kInt32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kInt8, {index(3), index(5)}), b = k.input("b", kInt8, {index(5), index(4)});
    return cast(kInt32, a(i[0], r[0])) * cast(kInt32, b(r[0], i[1]));
  });
  const auto view = contraction_view(s);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->factors.size(), 2u);
  EXPECT_FALSE(view->is_of(kInt32));  // what is loaded is int8
}

TEST_F(ContractionTest, WhatIsNoProductIsItsOwnFactor) {
  const Stage s = sum(kFloat32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kFloat32, {index(3), index(4), index(5)});
    return exp(a(i[0], i[1], r[0]));
  });
  EXPECT_EQ(contraction_view(s)->factors, std::vector{s.next});
}

TEST_F(ContractionTest, WhatAsksForSomethingIsNone) {
  EXPECT_FALSE(contraction_view(sum(kFloat32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kFloat32, {index(3), index(5)});
    k.require(less(a(i[0], r[0]), k.constant(kFloat32, 9)), "too large");
    return a(i[0], r[0]);
  })));
}

TEST_F(ContractionTest, NorIsWhatReducesNothing) {
  Builder k(pool_);
  const Tensor a = k.input("a", kFloat32, {index(3)});
  const Kernel plain =
      k.finish("plain", "", {k.compute("y", kFloat32, {index(3)}, [&](Indices i) { return a.at(i); })});
  EXPECT_FALSE(contraction_view(stages_of(plain)[0]));
}

}  // namespace
}  // namespace relay::kernel::schedule
