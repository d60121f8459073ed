#include "pattern/rewrite.h"

#include "base/failure.h"
#include "ir/analysis.h"
#include "op/ops.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

Rule rule(std::string name, Pattern pattern, std::function<Expr(Builder&, const Match&)> replace) {
  return {std::move(name), std::move(pattern), std::move(replace)};
}

class Rewrite : public ::testing::Test {
 protected:
  // exp becomes tanh.
  Rule tanh_for_exp() {
    return rule("tanh-for-exp", t_.pattern("exp(%x)"),
                [](Builder& b, const Match& m) { return b.call(b.op(op::kTanh), {m.at("x")}); });
  }
  // Two equal unary calls in a row become one.
  Rule relu_once() {
    return rule("relu-once", t_.pattern("nn.relu(nn.relu(_) as %r)"),
                [](Builder&, const Match& m) { return m.at("r"); });
  }
  Rule drop_zero() {
    return rule("drop-zero", t_.pattern("add(%x, 0f)"), [](Builder&, const Match& m) { return m.at("x"); });
  }

  Expr run(const std::vector<Rule>& rules, Expr e, const RewriteOptions& options = {}) {
    return rewrite(t_.context(), rules, e, options);
  }
  void expect(const std::vector<Rule>& rules, const std::string& before, const std::string& after) {
    const Expr now = run(rules, t_.expr(before));
    EXPECT_TRUE(alpha_equal(now, t_.expr(after))) << before << " should become " << after << "\n"
                                                  << relay::print(now, {.header = false});
  }

  Texts t_;
};

TEST_F(Rewrite, ReplacesMatches) {
  expect({tanh_for_exp()}, "exp(%x) + 1f", "tanh(%x) + 1f");
  expect({tanh_for_exp()}, "exp(exp(exp(%x)))", "tanh(tanh(tanh(%x)))");
  expect({drop_zero()}, "0f + (%x + 0f)", "%x");
}

TEST_F(Rewrite, GoesOnUntilNothingMatches) {
  expect({relu_once()}, "nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(%x)))))", "nn.relu(%x)");
  // One rule makes work for the other.
  const Rule relu_for_tanh = rule("relu-for-tanh", t_.pattern("tanh(%x)"), [](Builder& b, const Match& m) {
    return b.call(b.op(op::kRelu), {m.at("x")});
  });
  expect({relu_once(), relu_for_tanh, tanh_for_exp()}, "exp(tanh(nn.relu(%x)))", "nn.relu(%x)");
}

TEST_F(Rewrite, OnceIsOneRound) {
  const Expr e = t_.expr("nn.relu(nn.relu(nn.relu(nn.relu(%x))))");
  const Expr now = run({relu_once()}, e, {.once = true});
  EXPECT_NE(now, e);
  EXPECT_TRUE(match(t_.pattern("nn.relu(nn.relu(var))"), now));
}

TEST_F(Rewrite, TheFirstRuleThatDoesNotDeclineIsTaken) {
  const Rule declines =
      rule("declines", t_.pattern("exp(_)"), [](Builder&, const Match& m) { return m.root(); });
  const Rule null = rule("null", t_.pattern("exp(_)"), [](Builder&, const Match&) { return nullptr; });
  const Rule sigmoid = rule("sigmoid", t_.pattern("exp(%x)"), [](Builder& b, const Match& m) {
    return b.call(b.op(op::kSigmoid), {m.at("x")});
  });
  expect({declines, null, tanh_for_exp(), sigmoid}, "exp(%x)", "tanh(%x)");
}

TEST_F(Rewrite, UnchangedIsTheSamePointer) {
  const Expr e = t_.expr("%0 = tanh(%x); (%0 + %0, fn (%a) { %a }, nn.relu(%y))");
  const Rule nothing = rule("nothing", t_.pattern("_"), [](Builder&, const Match& m) { return m.root(); });
  EXPECT_EQ(run({nothing, tanh_for_exp(), relu_once()}, e), e);
  EXPECT_EQ(run({}, e), e);
}

TEST_F(Rewrite, WhatDoesNotChangeStaysTheSamePointer) {
  const Expr e = t_.expr("(nn.relu(%x), exp(%y))");
  const auto* now = run({tanh_for_exp()}, e)->as<Tuple>();
  EXPECT_EQ(now->fields[0], e->as<Tuple>()->fields[0]);
}

TEST_F(Rewrite, SharedExpressionsStayShared) {
  expect({tanh_for_exp()}, "%0 = exp(%x); %1 = nn.relu(%0); (%1 + %0, %1)",
         "%0 = tanh(%x); %1 = nn.relu(%0); (%1 + %0, %1)");
}

TEST_F(Rewrite, AnExpressionThatIsUsedElsewhereStaysThere) {
  expect({relu_once()}, "%0 = nn.relu(%x); (nn.relu(%0), %0)", "%0 = nn.relu(%x); (%0, %0)");
  const Rule fuse = rule("fuse", t_.pattern("exp(tanh(%x))"),
                         [](Builder& b, const Match& m) { return b.call(b.op(op::kSigmoid), {m.at("x")}); });
  expect({fuse}, "%0 = tanh(%x); (exp(%0), %0)", "(sigmoid(%x), tanh(%x))");
}

TEST_F(Rewrite, TheReplacementMayContainTheMatch) {
  const Rule wrap = rule("wrap", t_.pattern("exp(_)"),
                         [](Builder& b, const Match& m) { return b.call(b.op(op::kRelu), {m.root()}); });
  const Expr now = run({wrap}, t_.expr("exp(exp(%x))"), {.once = true});
  EXPECT_TRUE(alpha_equal(now, t_.expr("nn.relu(exp(nn.relu(exp(%x))))")));
}

TEST_F(Rewrite, AnEndlessRewriteIsExhausted) {
  const Rule wrap = rule("wrap", t_.pattern("exp(_)"),
                         [](Builder& b, const Match& m) { return b.call(b.op(op::kRelu), {m.root()}); });
  try {
    run({drop_zero(), wrap}, t_.expr("exp(%x)"), {.most_rounds = 7});
    FAIL() << "it ended";
  } catch (const Exhausted& limit) {
    EXPECT_STREQ(limit.what(),
                 "rewriting did not end after 7 rounds: rule `wrap` still applies (most_rounds)");
  }
}

TEST_F(Rewrite, InputsAreAsTheRoundLeftThem) {
  const Rule twice = rule("twice", t_.pattern("nn.relu(%x)"), [](Builder& b, const Match& m) {
    return b.call(b.op(op::kAdd), {m.at("x"), m.at("x")});
  });
  expect({twice, tanh_for_exp()}, "nn.relu(exp(%x))", "%0 = tanh(%x); %0 + %0");
}

TEST_F(Rewrite, DominatorsSeeTheProgramBeforeTheRound) {
  const Rule collapse =
      rule("collapse", t_.pattern("dominates(exp(%x), nn.relu(_) | tanh(_), add(_, _))"),
           [](Builder& b, const Match& m) { return b.call(b.op(op::kSigmoid), {m.at("x")}); });
  expect({collapse}, "%0 = exp(%x); %1 = nn.relu(%0) + tanh(%0); %1 * %1", "%0 = sigmoid(%x); %0 * %0");
  expect({collapse}, "%0 = exp(%x); (nn.relu(%0) + tanh(%0), %0)",
         "%0 = exp(%x); (nn.relu(%0) + tanh(%0), %0)");
}

TEST_F(Rewrite, Modules) {
  Diagnostics diagnostics;
  const Module m = *relay::parse("m",
                                 "def @f(%x: float32) { exp(%x) }\n"
                                 "def @g(%x: float32) { tanh(%x) }\n"
                                 "def @h(%x: float32) { let %y = exp(%x); @f(%y) }\n",
                                 diagnostics, op::operators());
  const std::vector<Rule> rules{tanh_for_exp()};
  const Module now = rewrite(m, rules);
  EXPECT_EQ(now.function("g"), m.function("g"));
  const Module want = *relay::parse("m",
                                    "def @f(%x: float32) { tanh(%x) }\n"
                                    "def @g(%x: float32) { tanh(%x) }\n"
                                    "def @h(%x: float32) { let %y = tanh(%x); @f(%y) }\n",
                                    diagnostics, op::operators());
  EXPECT_TRUE(alpha_equal(now, want));
  EXPECT_TRUE(well_formed(now).empty());
  EXPECT_TRUE(rewrite(now, rules).same(now));
}

TEST_F(Rewrite, LongPrograms) {
  Builder b(t_.context());
  Expr e = b.var("x");
  const Expr zero = b.scalar(kFloat32, 0);
  for (int i = 0; i < 100'000; ++i) e = b.call(b.op(op::kAdd), {e, zero});
  EXPECT_EQ(run({drop_zero()}, e)->kind, ExprKind::kVar);
}

}  // namespace
}  // namespace relay::pattern
