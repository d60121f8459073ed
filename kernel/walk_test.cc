#include "kernel/walk.h"

#include <gtest/gtest.h>

#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// A new statement with a buffer, a body or a variable does not compile in a switch that has a
// default for all that only look.
static_assert(only_looks<Require> && only_looks<Nop> && !only_looks<Prefetch> && !only_looks<Seq>);
static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
static_assert(!others_only_look<For, Block, Store, Seq, If, Allocate>);

class Walk : public ::testing::Test {
 protected:
  const Buffer* buffer(std::string_view name, DType dtype = kFloat32) {
    return arena_.make<Buffer>(next_++, symbols_.intern(name), dtype, arena_.list(std::vector<Expr>{n_}));
  }
  Stmt store(Expr at) { return make_store(arena_, x_, {at}, pool_.real(1, kFloat32)); }
  Stmt loop(Stmt body) { return make_for(arena_, pool_.variable("i"), n_, ForKind::kSerial, body); }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  uint32_t next_ = 0;
  Expr n_ = pool_.shape_variable("n"), i_ = pool_.variable("i"), v_ = pool_.variable("v");
  const Buffer *x_ = buffer("x"), *y_ = buffer("y", kInt64);
};

TEST_F(Walk, VisitsOuterStatementsFirstAndInOrder) {
  const Stmt a = store(i_), b = store(i_ + 1), c = make_if(arena_, less(i_, n_), a, b);
  const Stmt all = make_sequence(arena_, {c, loop(make_nop(arena_)), a});
  std::vector<StmtKind> kinds;
  visit(all, [&](Stmt s) { kinds.push_back(s->kind); });
  EXPECT_EQ(kinds, (std::vector{StmtKind::kSeq, StmtKind::kIf, StmtKind::kStore, StmtKind::kStore,
                                StmtKind::kFor, StmtKind::kNop, StmtKind::kStore}));
  EXPECT_EQ(children(c), (std::vector{a, b}));
  EXPECT_EQ(children(make_if(arena_, less(i_, n_), a)), std::vector{a});
  EXPECT_EQ(expressions(a), (std::vector<Expr>{i_, pool_.real(1, kFloat32)}));
}

TEST_F(Walk, WhatABlockBindsIsNoExpressionOfIt) {
  const Expr v = pool_.variable("v");
  const Stmt block =
      make_block(pool_, "b", {{v, n_, IterKind::kSpatial, i_}}, less(i_, n_), nullptr, store(v));
  EXPECT_EQ(expressions(block), (std::vector<Expr>{n_, i_, less(i_, n_)}));
  EXPECT_EQ(binders(block), std::vector<Expr>{v});
  // Regions say again what is below.
  const Stmt moved =
      rewrite_expressions(arena_, block, [&](Expr e) { return substitute(e, {{n_.get(), n_ + 1}}); });
  EXPECT_EQ(moved->as<Block>()->iters[0].extent, n_ + 1);
  EXPECT_EQ(moved->as<Block>()->iters[0].var, v);
  EXPECT_EQ(moved->as<Block>()->predicate, less(i_, n_ + 1));
}

TEST_F(Walk, ARewriteKeepsWhatStays) {
  const Stmt a = store(i_), b = loop(store(i_ + 2)), all = make_sequence(arena_, {loop(a), b});
  EXPECT_EQ(rewrite(arena_, all, [](Stmt s) { return s; }), all);
  EXPECT_EQ(rewrite_expressions(arena_, all, [](Expr e) { return e; }), all);
  const Stmt now = rewrite(arena_, all, [&](Stmt s) { return s == a ? store(i_ + 1) : s; });
  ASSERT_TRUE(now->as<Seq>());
  EXPECT_NE(now->as<Seq>()->body[0], all->as<Seq>()->body[0]);
  EXPECT_EQ(now->as<Seq>()->body[1], b);
  // What does nothing any more leaves its sequence, and a sequence of one is that one.
  const Stmt without = rewrite(arena_, all, [&](Stmt s) { return s == b ? make_nop(arena_) : s; });
  EXPECT_EQ(without, all->as<Seq>()->body[0]);
}

TEST_F(Walk, LoadsInsideOfLoadsComeFirst) {
  const Expr inner = pool_.load(y_, {i_}), outer = pool_.load(x_, {inner});
  std::vector<const ExprNode*> found;
  for_each_load(outer + outer * pool_.real(2, kFloat32), [&](const ExprNode* n) { found.push_back(n); });
  EXPECT_EQ(found, (std::vector{inner.get(), outer.get()}));
  EXPECT_TRUE(outer->has_load);
  EXPECT_FALSE(i_->has_load);
  const Expr moved = rewrite_loads(outer, [&](const ExprNode* n) {
    return n->buffer == y_ ? pool_.load(y_, {Expr(n->args[0]) + 1}) : Expr();
  });
  EXPECT_EQ(moved, pool_.load(x_, {pool_.load(y_, {i_ + 1})}));
}

TEST_F(Walk, FreshVariablesForEveryLoopAndBlock) {
  const Expr v = pool_.variable("v");
  const Stmt nest =
      make_for(arena_, i_, n_, ForKind::kSerial,
               make_block(pool_, "b", {{v, n_, IterKind::kSpatial, i_}}, {}, nullptr, store(v)));
  const Stmt copy = refresh(pool_, nest);
  const auto* outer = copy->as<For>();
  const auto* block = outer->body->as<Block>();
  EXPECT_NE(outer->var, i_);
  EXPECT_NE(block->iters[0].var, v);
  EXPECT_EQ(block->iters[0].binding, outer->var);
  EXPECT_EQ(block->writes[0].min[0], block->iters[0].var);
  EXPECT_EQ(block->body->as<Store>()->indices[0], block->iters[0].var);
}

// Statements and expressions may be nested as deeply as memory allows.
TEST_F(Walk, DeepNests) {
  constexpr int kDeep = 100'000;
  Stmt s = store(i_);
  for (int i = 0; i < kDeep; ++i) s = loop(s);
  int found = 0;
  visit(s, [&](Stmt) { ++found; });
  EXPECT_EQ(found, kDeep + 1);
  const Stmt now = substitute(arena_, s, {{i_.get(), i_ + 1}});
  EXPECT_NE(now, s);
  EXPECT_EQ(substitute(arena_, now, {{v_.get(), i_}}), now);
  EXPECT_NE(refresh(pool_, s), s);

  Expr e = pool_.load(x_, {i_});
  for (int i = 0; i < kDeep; ++i) e = math(Math::kSin, e);
  EXPECT_EQ(e->depth, kDeep + 2u);
  EXPECT_NE(substitute(e, {{i_.get(), i_ + 1}}), e);
  EXPECT_EQ(variables(e), std::vector<Expr>{i_});
  found = 0;
  for_each_load(e, [&](const ExprNode*) { ++found; });
  EXPECT_EQ(found, 1);
}

// A tree of a million million nodes that share their parts is looked at part by part.
TEST_F(Walk, SharedPartsCountOnce) {
  Expr e = pool_.load(x_, {i_});
  for (int i = 0; i < 40; ++i) e = e * e;
  EXPECT_EQ(e->weight, kMostWeight);
  int found = 0;
  for_each_node(e, [&](const ExprNode*) { return ++found > 0; });
  EXPECT_EQ(found, 42);
  EXPECT_NE(substitute(e, {{i_.get(), i_ + 1}}), e);
}

}  // namespace
}  // namespace relay::kernel
