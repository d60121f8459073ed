#include "kernel/distinct_places.h"

#include <gtest/gtest.h>

namespace relay::kernel {
namespace {

class DistinctPlaces : public ::testing::Test {
 protected:
  Expr loop(std::string_view name, Expr extent) {
    const Expr var = pool_.variable(name);
    bounds_.bind(var, extent);
    loops_.push_back(var);
    return var;
  }
  Expr loop(std::string_view name, int64_t extent) { return loop(name, pool_.integer(extent)); }
  bool are(const std::vector<Expr>& place) const { return are_distinct(place, loops_, bounds_); }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Bounds bounds_;
  std::vector<Expr> loops_;
};

TEST_F(DistinctPlaces, EachDigitHasToPassTheSmallerOnes) {
  const Expr i = loop("i", 3), j = loop("j", 4), k = loop("k", 1);
  EXPECT_TRUE(are({i, j})) << "one round needs no place of its own";
  EXPECT_TRUE(are({i * 4 + j}));
  EXPECT_TRUE(are({j * 3 + i + 7}));
  EXPECT_TRUE(are({i * 5 + j + k}));
  EXPECT_TRUE(are({pool_.integer(11) - i * 4 - j}));
  EXPECT_TRUE(are({i * 4 - j + 3}));
  EXPECT_TRUE(are({i + j, j})) << "what one dim tells, another one need not";
  EXPECT_FALSE(are({i * 3 + j}));
  EXPECT_FALSE(are({i + j}));
  EXPECT_FALSE(are({i}));
  EXPECT_FALSE(are({}));
  EXPECT_FALSE(are({i, min(j, pool_.integer(2))}));
}

TEST_F(DistinctPlaces, ExtentsMayBeOpen) {
  const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
  const Expr i = loop("i", n), j = loop("j", m);
  EXPECT_TRUE(are({i, j}));
  EXPECT_TRUE(are({i * m + j}));
  EXPECT_FALSE(are({i * n + j}));
  EXPECT_FALSE(are({i * 4 + j}));
}

TEST_F(DistinctPlaces, AQuotientAndARestTellTheWhole) {
  const Expr f = loop("f", 24);
  EXPECT_TRUE(are({floor_div(f, 4), floor_mod(f, 4)}));
  EXPECT_TRUE(are({floor_div(f, 12), floor_mod(floor_div(f, 4), 3), floor_mod(f, 4)}));
  EXPECT_TRUE(are({floor_mod(f, 4) * 6 + floor_div(f, 4)}));
  EXPECT_FALSE(are({floor_div(f, 4), floor_mod(f, 2)}));
  EXPECT_FALSE(are({floor_div(f, 2)}));
  EXPECT_FALSE(are({floor_mod(f, 4)}));
}

TEST_F(DistinctPlaces, DataTellNothing) {
  const Expr i = loop("i", 3);
  const std::vector<Expr> shape{pool_.integer(3)};
  const Buffer* data = arena_.make<Buffer>(Buffer{0, symbols_.intern("data"), kInt64, arena_.list(shape)});
  EXPECT_FALSE(are({pool_.load(data, {i})}));
  EXPECT_TRUE(are({pool_.load(data, {i}), i}));
}

}  // namespace
}  // namespace relay::kernel
