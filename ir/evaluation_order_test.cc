// In which order small programs compute their values.
#include "ir/evaluation_order.h"

#include "ir/testing.h"
#include "ir/traverse.h"

namespace relay {
namespace {

struct EvaluationOrder : WithModule {
  const Var* x = b.var("x");
  const Expr add = b.op(kAdd);
  Expr sum(Expr left, Expr right) { return b.call(add, {left, right}); }
};

TEST_F(EvaluationOrder, WithoutSharingIsPostOrder) {
  const Expr left = sum(x, x), right = b.tuple({b.scalar(kFloat32, 1)});
  const Expr root = b.tuple({left, right});
  EXPECT_EQ(evaluation_order(root), post_order(root));
  EXPECT_EQ(evaluation_order(x), std::vector<Expr>{x});
}

TEST_F(EvaluationOrder, BeginsWithWhatAScopeShares) {
  const Expr once = b.tuple({x});
  const Expr shared = sum(x, x), user = sum(shared, x);
  const Expr root = b.tuple({once, user, shared});
  EXPECT_EQ(evaluation_order(root), (std::vector<Expr>{add, x, shared, once, user, root}));
  EXPECT_EQ(post_order(root), (std::vector<Expr>{x, once, add, shared, user, root}));
}

TEST_F(EvaluationOrder, SharedNodesStandBeforeThoseThatReadThem) {
  const Expr first = b.tuple({x}), second = b.tuple({first});
  const Expr root = b.tuple({b.tuple({second, first}), second});
  const std::vector<Expr> order = evaluation_order(root);
  EXPECT_EQ(order, (std::vector<Expr>{x, first, second, root->as<Tuple>()->fields[0], root}));
}

TEST_F(EvaluationOrder, OfLetsBeginsWithTheValue) {
  const Var* y = b.var("y");
  const Expr value = b.tuple({x}), once = b.tuple({y});
  const Expr shared = b.tuple({x, y});
  const Expr body = b.tuple({once, shared, shared});
  const Expr root = b.let(y, value, body);
  EXPECT_EQ(evaluation_order(root), (std::vector<Expr>{x, value, y, shared, once, body, root}));
}

TEST_F(EvaluationOrder, EachBranchIsAScope) {
  const Expr shared = b.tuple({x, x}), once = b.tuple({x});
  const Expr then = b.tuple({once, shared, shared}), otherwise = b.tuple({x});
  const Expr root = b.if_(x, then, otherwise);
  EXPECT_EQ(evaluation_order(root), (std::vector<Expr>{x, shared, once, then, otherwise, root}));
}

TEST_F(EvaluationOrder, OfAFunctionCalledWhereItStandsBeginsWithTheArguments) {
  const Var* y = b.var("y");
  const Expr body = b.tuple({y}), arg = b.tuple({x});
  const Expr fn = b.fn(std::vector<const Var*>{y}, body);
  const Expr root = b.call(fn, {arg});
  EXPECT_EQ(evaluation_order(root), (std::vector<Expr>{x, arg, y, body, fn, root}));
}

}  // namespace
}  // namespace relay
