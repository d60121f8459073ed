#include "kernel/codegen/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/builder.h"

namespace relay::kernel::codegen {
namespace {

class SharingTest : public ::testing::Test {
 protected:
  Expr load(Expr at) { return pool_.load(x_, {at}); }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Expr i_ = pool_.variable("i"), j_ = pool_.variable("j");
  const Buffer* x_ = arena_.make<Buffer>(0u, symbols_.intern("x"), kFloat32,
                                         arena_.list(std::vector<Expr>{pool_.integer(100)}));
  Bounds bounds_;
  std::optional<Lanes> lanes_;
};

TEST_F(SharingTest, CountsUsesOfLoadsByWhereTheElementLies) {
  const Expr a = load(i_ * j_), twice = a * a + load(i_ * j_ + 1);
  Sharing sharing(bounds_, lanes_, {twice});
  EXPECT_TRUE(sharing.is_shared(a.get()));
  EXPECT_TRUE(sharing.is_shared((i_ * j_).get()));  // of both offsets
  EXPECT_FALSE(sharing.is_shared(twice.get()));
  EXPECT_EQ(sharing.operands(a.get()), std::vector{(i_ * j_).get()});
}

TEST_F(SharingTest, ARootIsUsedOnceForEachTimeItIsGiven) {
  const Expr a = load(i_);
  EXPECT_FALSE(Sharing(bounds_, lanes_, {a}).is_shared(a.get()));
  EXPECT_TRUE(Sharing(bounds_, lanes_, {a, a}).is_shared(a.get()));
}

TEST_F(SharingTest, OnlyWhatBothSidesOfAChoiceComputeIsCertain) {
  const Expr both = exp(load(i_)), one = exp(load(j_));
  const Expr choice = select(less(i_, j_), both + one * one, both * both);
  Sharing sharing(bounds_, lanes_, {choice});
  EXPECT_EQ(sharing.on_both_sides(choice.get()), std::vector{both.get()});
  // What one side computes twice is its own affair.
  EXPECT_TRUE(sharing.is_shared(one.get()));
}

TEST_F(SharingTest, AChoiceBetweenLanesComputesBothSides) {
  lanes_ = Lanes{i_, 0, 8};
  const Expr one = exp(load(j_));
  const Expr inner = select(less(i_, j_), one + one, load(i_));
  const Expr outer = select(less(j_, pool_.integer(3)), inner + load(j_), one);
  Sharing sharing(bounds_, lanes_, {outer});
  EXPECT_TRUE(sharing.is_vector(inner.get()));
  EXPECT_FALSE(sharing.is_vector(one.get()));
  // The left side has it in a choice between lanes, so both sides are sure to compute it.
  const auto common = sharing.on_both_sides(outer.get());
  EXPECT_NE(std::find(common.begin(), common.end(), one.get()), common.end());
}

TEST_F(SharingTest, IndicesAreMadeOfVariables) {
  Sharing sharing(bounds_, lanes_, {});
  EXPECT_TRUE(sharing.is_index((i_ * 4 + j_).get()));
  EXPECT_TRUE(sharing.is_index(select(less(load(i_), load(j_)), i_, j_).get()));
  EXPECT_FALSE(sharing.is_index((i_ + cast(kInt64, load(i_))).get()));
  EXPECT_FALSE(sharing.is_index((i_ + (int64_t{1} << 40)).get()));
  EXPECT_FALSE(sharing.is_index(load(i_).get()));
}

TEST_F(SharingTest, TheFirstLaneOfAnOffset) {
  EXPECT_EQ(at_first_lane(i_ + j_, std::nullopt), i_ + j_);
  EXPECT_EQ(at_first_lane(i_ + j_, Lanes{i_, 16, 8}), j_ + 16);
}

}  // namespace
}  // namespace relay::kernel::codegen
