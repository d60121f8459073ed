#include "kernel/schedule/contraction.h"

#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule {
namespace {

class ContractionTest : public ScheduleTest {
 protected:
  using Value = std::function<Expr(Builder&, Indices, Indices)>;

  // y[i, j] = the values f(i, j, k) over k, joined.
  Stage reduction(DType d, const std::function<Reducer(Builder&)>& reducer, const Value& f) {
    Builder k(pool_);
    const Tensor y = k.reduce("y", d, {index(3), index(4)}, {index(5)}, reducer(k),
                              [&](Indices i, Indices r) { return f(k, i, r); });
    kernel_ = k.finish("reduction", "", {y});
    return stages_of(kernel_)[0];
  }
  // y[i, j] = the sum over k of f(i, j, k).
  Stage sum(DType d, const Value& f) {
    return reduction(d, [d](Builder& k) { return k.sum(d); }, f);
  }
  // The reduction of a matrix along its last axis.
  Stage of_rows(DType d, const std::function<Reducer(Builder&)>& reducer) {
    return reduction(d, reducer, [&](Builder& k, Indices i, Indices r) {
      return k.input("a", d, {index(3), index(4), index(5)})(i[0], i[1], r[0]);
    });
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

TEST_F(ContractionTest, OperandsOfEachIntegerDType) {
  for (const DType left : {kInt8, kUInt8, kInt16, kInt32}) {
    for (const DType right : {kInt8, kUInt8}) {
      const Stage s = sum(kInt32, [&](Builder& k, Indices i, Indices r) {
        const Tensor a = k.input("a", left, {index(3), index(5)}),
                     b = k.input("b", right, {index(5), index(4)});
        return (cast(kInt32, a(i[0], r[0])) - k.constant(kInt32, 7)) * cast(kInt32, b(r[0], i[1]));
      });
      const auto view = contraction_view(s);
      ASSERT_TRUE(view && view->is_sum() && view->starts_neutral());
      const auto operands = view->operands();
      ASSERT_TRUE(operands);
      EXPECT_EQ(view->factors, std::vector(operands->begin(), operands->end()));
      EXPECT_TRUE(view->separates(s.spatial[0], s.spatial[1]));
    }
  }
}

TEST_F(ContractionTest, OperandsAreThoseOfTheOutermostProduct) {
  const Stage s = sum(kFloat32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kFloat32, {index(3), index(5)}),
                 b = k.input("b", kFloat32, {index(5), index(4)}), c = k.input("c", kFloat32, {index(5)});
    return a(i[0], r[0]) * c(r[0]) * b(r[0], i[1]);
  });
  const auto view = contraction_view(s);
  ASSERT_EQ(view->factors.size(), 3u);
  ASSERT_TRUE(view->operands());
  EXPECT_EQ((*view->operands())[1], view->factors[2]);
}

TEST_F(ContractionTest, ASumOfElementsHasNoOperands) {
  EXPECT_FALSE(contraction_view(of_rows(kInt32, [](Builder& k) { return k.sum(kInt32); }))->operands());
}

TEST_F(ContractionTest, AnElementOfBothAxesDoesNotSeparateThem) {
  const Stage s = sum(kInt32, [&](Builder& k, Indices i, Indices r) {
    const Tensor a = k.input("a", kInt32, {index(3), index(5)}),
                 b = k.input("b", kInt32, {index(5), index(4)}),
                 c = k.input("c", kInt32, {index(3), index(4)});
    return a(i[0], r[0]) * b(r[0], i[1]) * c(i[0], i[1]);
  });
  EXPECT_FALSE(contraction_view(s)->separates(s.spatial[0], s.spatial[1]));
}

TEST_F(ContractionTest, AnAxisWithoutAnElementIsNotSeparate) {
  const Stage s = sum(kInt32, [&](Builder& k, Indices i, Indices r) {
    return k.input("a", kInt32, {index(3), index(5)})(i[0], r[0]);
  });
  EXPECT_FALSE(contraction_view(s)->separates(s.spatial[0], s.spatial[1]));
}

TEST_F(ContractionTest, PartialResultsBeginWithWhatIsNeutral) {
  for (const DType d : {kFloat32, kInt32, kInt8}) {
    EXPECT_TRUE(contraction_view(of_rows(d, [d](Builder& k) { return k.sum(d); }))->starts_neutral());
    EXPECT_TRUE(contraction_view(of_rows(d, [d](Builder& k) { return k.product(d); }))->starts_neutral());
    EXPECT_TRUE(contraction_view(of_rows(d, [d](Builder& k) { return k.maximum(d); }))->starts_neutral());
    const auto sum_from = [&](const std::function<Expr(Builder&)>& start) {
      return of_rows(d, [&](Builder& k) {
        Reducer r = k.sum(d);
        r.init = start(k);
        return r;
      });
    };
    const Stage three = sum_from([&](Builder& k) { return k.constant(d, 3); });
    EXPECT_TRUE(contraction_view(three)->starts_constant());
    EXPECT_FALSE(contraction_view(three)->starts_neutral());
    const Stage read = sum_from([&](Builder& k) { return k.input("start", d, {})(); });
    EXPECT_FALSE(contraction_view(read)->starts_constant());
    EXPECT_FALSE(contraction_view(read)->starts_neutral());
  }
}

TEST_F(ContractionTest, AllOfATensorToOneElement) {
  Builder k(pool_);
  const Tensor a = k.input("a", kInt8, {index(5)}), b = k.input("b", kInt8, {index(5)});
  const Kernel dot =
      k.finish("dot", "", {k.reduce("y", kInt32, {}, {index(5)}, k.sum(kInt32), [&](Indices, Indices r) {
                 return cast(kInt32, a(r[0])) * cast(kInt32, b(r[0]));
               })});
  const auto view = contraction_view(stages_of(dot)[0]);
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->operands());
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
