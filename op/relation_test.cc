#include "op/relation.h"

#include <gtest/gtest.h>

namespace relay::op {
namespace {

template <class F>
std::string reason(const F& f) {
  try {
    f();
  } catch (const RelationError& error) {
    return error.reason;
  }
  return "";
}

struct RelationTest : testing::Test {
  Context c;
  Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  Type matrix = c.tensor_type({n, Dim(3)}, kFloat32);
};

TEST_F(RelationTest, Arguments) {
  const Type pair = c.tuple_type(std::vector<Type>{matrix, matrix});
  const Type mixed = c.tuple_type(std::vector<Type>{matrix, pair});
  const Type args[] = {matrix, pair, mixed, c.scalar_type(kInt8)};
  Relation r(c, args);
  EXPECT_EQ(&r.tensor(0), matrix);
  EXPECT_EQ(r.tensors(1).size(), 2u);
  EXPECT_EQ(reason([&] { r.tensor(1); }).substr(0, 25), "expected a tensor, found ");
  EXPECT_EQ(reason([&] { r.tensors(0); }), "expected a tuple of tensors, found Tensor[(n, 3), float32]");
  EXPECT_EQ(reason([&] { r.tensors(2); }).substr(0, 39), "expected a tuple of tensors, field 1 is");
  EXPECT_EQ(reason([&] { r.require_rank(0, 4); }), "expected a tensor of rank 4, found rank 2");
  EXPECT_EQ(reason([&] { r.require_float(3); }), "expected a floating-point tensor, found int8");
  EXPECT_EQ(reason([&] { r.require_same_dtype(3, 0); }), "expected float32 as in argument 0, found int8");
}

TEST_F(RelationTest, Axes) {
  Relation r(c, {});
  EXPECT_EQ(r.axis(1, 3), 1u);
  EXPECT_EQ(r.axis(-3, 3), 0u);
  EXPECT_EQ(reason([&] { r.axis(3, 3); }), "axis 3 is out of range for rank 3");
  EXPECT_EQ(reason([&] { r.axis(INT64_MIN, 3); }), "axis -9223372036854775808 is out of range for rank 3");
  EXPECT_EQ(reason([&] { r.axis(0, 0); }), "axis 0 is out of range for rank 0");
}

TEST_F(RelationTest, EqualDims) {
  Relation r(c, {});
  EXPECT_EQ(r.same(3, 3, 0, "width"), Dim(3));
  EXPECT_EQ(r.same(n, n, 0, "width"), n);
  EXPECT_TRUE(r.checks().empty());
  // The one that says more, and a check when the program runs.
  EXPECT_EQ(r.same(n, 3, 0, "width"), Dim(3));
  EXPECT_EQ(r.same(Dim::unknown(), n, 0, "width"), n);
  EXPECT_EQ(r.same(n, m, 0, "width"), n);
  EXPECT_EQ(r.checks().size(), 3u);
  EXPECT_EQ(reason([&] { r.same(3, 4, 0, "width"); }), "width: 3 and 4 differ");
  EXPECT_EQ(reason([&] { r.same(n, n + Dim(1), 0, "width"); }), "width: n and n + 1 differ");
}

TEST_F(RelationTest, Broadcasting) {
  Relation r(c, {});
  const auto broadcast = [&](std::vector<Dim> a, std::vector<Dim> b) {
    return show(c.tensor_type(r.broadcast(a, b, 0, 1), kInt8));
  };
  EXPECT_EQ(broadcast({}, {}), "int8");
  EXPECT_EQ(broadcast({2, 1}, {3}), "Tensor[(2, 3), int8]");
  EXPECT_EQ(broadcast({0}, {1}), "Tensor[(0), int8]");
  EXPECT_EQ(broadcast({n}, {n}), "Tensor[(n), int8]");
  EXPECT_TRUE(r.checks().empty());
  EXPECT_EQ(broadcast({n}, {8}), "Tensor[(8), int8]");  // 1 or 8
  ASSERT_EQ(r.checks().size(), 1u);
  EXPECT_EQ(r.checks()[0].fit, DimCheck::Fit::kBroadcast);
  EXPECT_EQ(reason([&] { broadcast({5, 2}, {3}); }), "shapes do not broadcast: dimension 1 is 2 and 3");
}

// Whatever the two extents turn out to be, as long as they broadcast.
TEST_F(RelationTest, BroadcastOfTwoVariables) {
  Relation r(c, {});
  const Dim both = r.broadcast(std::vector<Dim>{n}, std::vector<Dim>{m}, 0, 1)[0];
  const auto at = [&](int64_t x, int64_t y) {
    return kernel::evaluate(both.symbolic(), {{n.symbolic().get(), x}, {m.symbolic().get(), y}});
  };
  EXPECT_EQ(show(both), "broadcast(m, n)");
  ASSERT_EQ(r.checks().size(), 1u);
  EXPECT_EQ(r.checks()[0].fit, DimCheck::Fit::kBroadcast);
  EXPECT_EQ(at(1, 5), 5);
  EXPECT_EQ(at(5, 1), 5);
  EXPECT_EQ(at(5, 5), 5);
  EXPECT_EQ(at(1, 0), 0);
  EXPECT_EQ(at(0, 1), 0);
  EXPECT_EQ(at(0, 0), 0);
}

TEST_F(RelationTest, DeterminesAnArgument) {
  const Type args[] = {matrix, nullptr, c.tensor_type(Shape{4, 3}, kFloat32)};
  Relation r(c, args);
  r.assign(1, matrix);
  ASSERT_EQ(r.assigned().size(), 1u);
  EXPECT_EQ(r.assigned()[0].second, matrix);
  r.assign(2, matrix);  // n may be 4
  EXPECT_EQ(r.checks().size(), 1u);
  EXPECT_EQ(reason([&] { r.assign(2, c.tensor_type(Shape{4, 5}, kFloat32)); }),
            "dimension 1: 3 and 5 differ");
  EXPECT_EQ(reason([&] { r.assign(2, c.scalar_type(kInt8)); }),
            "expected int8, found Tensor[(4, 3), float32]");
}

}  // namespace
}  // namespace relay::op
