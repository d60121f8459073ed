#include "op/extent_value.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "op/apply.h"
#include "op/registry.h"

namespace relay::op {
namespace {

// Of calls of constants.
Value evaluated(Context& context, Expr e) {
  if (const auto* constant = e->as<Constant>()) return Value(*constant->value);
  const auto* call = e->as<Call>();
  std::vector<Value> args;
  for (const Expr a : call->args) args.push_back(evaluated(context, a));
  return evaluate(context, *callee(*call), args, call->attrs);
}

// The extent where each variable has this value.
int64_t number(Context& context, Dim extent, int64_t of_variables) {
  Builder b(context);
  const auto variable = [&](kernel::Expr) -> Expr {
    return b.constant(Tensor::scalar_int(kInt64, of_variables));
  };
  return evaluated(context, value_of_extent(b, extent, variable)).tensor().get_int(0);
}

TEST(ExtentValue, EachFormOfAnExtent) {
  Context c;
  const Dim n = c.shape_variable("n");
  for (const int64_t v : {1, 3, 8}) {
    EXPECT_EQ(number(c, Dim(7), v), 7);
    EXPECT_EQ(number(c, n * Dim(2) + Dim(1), v), 2 * v + 1);
    EXPECT_EQ(number(c, n - Dim(5), v), v - 5) << "below 0, which no tensor has";
    EXPECT_EQ(number(c, floor_div(n + Dim(2), Dim(3)), v), (v + 2) / 3);
    EXPECT_EQ(number(c, floor_mod(n, Dim(4)), v), v % 4);
    EXPECT_EQ(number(c, min(n, Dim(4)), v), std::min<int64_t>(v, 4));
    EXPECT_EQ(number(c, max(n, Dim(4)), v), std::max<int64_t>(v, 4));
    EXPECT_EQ(number(c, broadcast(n, c.shape_variable("m")), v), v);
  }
}

TEST(ExtentValue, NothingWithoutAValue) {
  Context c;
  Builder b(c);
  const auto none = [](kernel::Expr) -> Expr { return nullptr; };
  EXPECT_FALSE(value_of_extent(b, c.shape_variable("n") + Dim(1), none));
  EXPECT_FALSE(value_of_extent(b, Dim::unknown(), none));
}

}  // namespace
}  // namespace relay::op
