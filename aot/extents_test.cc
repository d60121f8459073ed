#include "aot/extents.h"

#include <gtest/gtest.h>

#include "ir/context.h"

namespace relay::aot {
namespace {

class ExtentTexts : public ::testing::Test {
 protected:
  std::string text(kernel::Expr e) {
    EXPECT_TRUE(is_printable(e, [](kernel::Expr) { return true; }));
    return print_extent(e, [](kernel::Expr v) { return v->name.str(); });
  }

  Context context_;
  kernel::ExprPool& pool_ = context_.pool();
  kernel::Expr n_ = pool_.shape_variable("n"), m_ = pool_.shape_variable("m");
};

TEST_F(ExtentTexts, AreExpressions) {
  EXPECT_EQ(text(n_), "n");
  EXPECT_EQ(text(pool_.integer(3)), "3");
  EXPECT_EQ(text(floor_div(n_ * 2 + 1, m_)), "floor_div(sum_of(product_of(n, 2), 1), m)");
  // What is shared stands there twice.
  EXPECT_EQ(text(floor_mod(kernel::min(n_, m_), kernel::min(n_, m_) + 1)),
            "floor_mod(least(m, n), sum_of(least(m, n), 1))");
  EXPECT_EQ(text(kernel::broadcast(n_, m_ * 2)), "broadcast_of(n, product_of(m, 2))");
}

TEST_F(ExtentTexts, OfManySharedPartsNameThem) {
  kernel::Expr e = n_;
  for (int i = 0; i < 60; ++i) e = floor_div(e + m_, kernel::max(e, m_));
  const std::string all = text(e);
  EXPECT_LT(all.size(), 20'000u);
  EXPECT_TRUE(all.starts_with("[&] { const int64_t extent_part0 = "));
  EXPECT_TRUE(all.ends_with("; }()"));
}

TEST_F(ExtentTexts, OfGreatDepthAreNoNest) {
  kernel::Expr e = n_;
  for (int i = 0; i < 100'000; ++i) e = floor_div(e, m_);
  const std::string all = text(e);
  EXPECT_EQ(all.find("floor_div(floor_div("), std::string::npos);
}

TEST_F(ExtentTexts, SomeHaveNone) {
  EXPECT_FALSE(is_printable(n_, [](kernel::Expr) { return false; }));
  EXPECT_FALSE(is_printable(select(less(n_, m_), n_, m_), [](kernel::Expr) { return true; }));
}

}  // namespace
}  // namespace relay::aot
