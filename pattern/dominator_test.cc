// Dominators (docs/patterns.md, D1 to D4).
#include "base/failure.h"
#include "op/ops.h"
#include "op/registry.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

class Dominators : public ::testing::Test {
 protected:
  bool matches(const std::string& program) {
    return t_.matches(
        R"(dominates(nn.conv2d(_, _) as %conv, _[fusion="elementwise"](_) as %step, add(_, _)))", program);
  }
  Texts t_;
};

TEST_F(Dominators, Diamond) {
  EXPECT_TRUE(matches("%0 = nn.conv2d(%x, %y); nn.relu(%0) + tanh(%0)"));
  EXPECT_TRUE(matches("%0 = nn.conv2d(%x, %y); nn.relu(exp(tanh(%0))) + tanh(%0)"));
}

TEST_F(Dominators, ThereMayBeNothingOnAPath) {
  EXPECT_TRUE(matches("%0 = nn.conv2d(%x, %y); %0 + %0"));
  EXPECT_TRUE(matches("%0 = nn.conv2d(%x, %y); nn.relu(%0) + %0"));
}

TEST_F(Dominators, SeveralPathsThatMeetAndPart) {
  EXPECT_TRUE(matches("%0 = nn.conv2d(%x, %y); %1 = nn.relu(%0); tanh(%1) + exp(%1)"));
}

TEST_F(Dominators, ThePathMustFit) {  // D1
  EXPECT_FALSE(matches("%0 = nn.conv2d(%x, %y); nn.softmax(%0) + tanh(%0)"));
  EXPECT_FALSE(matches("%0 = nn.conv2d(%x, %y); %1 = nn.relu(%0) - %z; %1 + tanh(%0)"));
}

TEST_F(Dominators, NothingEscapes) {  // D2
  // The parent is used elsewhere, or something on the way is.
  const Pattern p = t_.pattern(R"(dominates(nn.conv2d(_, _), _[fusion="elementwise"](_), add(_, _)))");
  for (const char* used : {"%0", "%1"}) {
    const Expr e = t_.expr(cat("%0 = nn.conv2d(%x, %y); %1 = nn.relu(%0); (%1 + tanh(%0), exp(", used, "))"));
    const Graph graph(e);
    EXPECT_FALSE(Matcher(p, graph).match(e->as<Tuple>()->fields[0])) << used;
    // The same sum by itself is a match.
    EXPECT_TRUE(match(p, e->as<Tuple>()->fields[0]));
  }
}

TEST_F(Dominators, TheChildMayBeUsedManyTimes) {
  const Pattern p = t_.pattern(R"(dominates(nn.conv2d(_, _), _[fusion="elementwise"](_), add(_, _)))");
  const Expr e = t_.expr("%0 = nn.conv2d(%x, %y); %1 = nn.relu(%0) + tanh(%0); (%1, exp(%1))");
  const Graph graph(e);
  EXPECT_TRUE(Matcher(p, graph).match(e->as<Tuple>()->fields[0]));
}

TEST_F(Dominators, AllInputsComeFromOneParent) {  // D3
  EXPECT_FALSE(matches("nn.relu(nn.conv2d(%x, %y)) + tanh(nn.conv2d(%x, %z))"));
  EXPECT_FALSE(matches("nn.relu(nn.conv2d(%x, %y)) + tanh(%x)"));
  EXPECT_FALSE(matches("nn.relu(%x) + tanh(%x)"));
}

TEST_F(Dominators, LeavesMayComeFromElsewhere) {  // D3
  EXPECT_TRUE(matches("nn.relu(nn.conv2d(%x, %y)) + %z"));
  EXPECT_TRUE(matches("1f + nn.relu(nn.conv2d(%x, %y))"));
  EXPECT_TRUE(t_.matches("dominates(nn.conv2d(_, _), nn.bias_add(_, _), nn.relu(_))",
                         "nn.relu(nn.bias_add(nn.bias_add(nn.conv2d(%x, %y), %z), %z))"));
}

TEST_F(Dominators, TheChildMustFitAndIsNotTheParent) {
  EXPECT_FALSE(matches("nn.relu(nn.conv2d(%x, %y))"));
  EXPECT_FALSE(t_.matches("dominates(tanh(_), _, tanh(_))", "tanh(%x)"));
}

TEST_F(Dominators, TheNearestParentIsTaken) {  // D4
  const Expr e = t_.expr("exp(tanh(nn.relu(tanh(%x))))");
  const Match m = *match(t_.pattern("dominates(tanh(%in), _, exp(_))"), e);
  EXPECT_EQ(m.at("in"), e->as<Call>()->args[0]->as<Call>()->args[0]);
  // What the parent says of its inputs decides which one it is.
  EXPECT_TRUE(match(t_.pattern("dominates(tanh(var), _, exp(_))"), e));
  EXPECT_FALSE(match(t_.pattern("dominates(tanh(const), _, exp(_))"), e));
}

TEST_F(Dominators, TheParentMayBeAVariable) {
  const Pattern p = t_.pattern(R"(dominates(var, _[fusion="elementwise"](_), add(_, _)))");
  EXPECT_TRUE(match(p, t_.expr("nn.relu(%x) + tanh(%x)")));
  EXPECT_TRUE(match(p, t_.expr("nn.relu(%x) + %x")));
  EXPECT_FALSE(match(p, t_.expr("nn.relu(%x) + tanh(%y)")));
  const Expr e = t_.expr("(nn.relu(%x) + tanh(%x), %x)");
  const Graph graph(e);
  EXPECT_FALSE(Matcher(p, graph).match(e->as<Tuple>()->fields[0]));
}

TEST_F(Dominators, NamesOnAPathBindAllItsExpressions) {
  const Expr e = t_.expr("%0 = nn.conv2d(%x, %y); exp(nn.relu(%0)) + tanh(%0)");
  const Match m = *match(
      t_.pattern(R"(dominates(nn.conv2d(_, _) as %conv, _[fusion="elementwise"](%in) as %step, add(_, _)))"),
      e);
  const std::vector<Expr> steps = m.all("step");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(op::callee(steps[0])->name, "nn.relu");
  EXPECT_EQ(op::callee(steps[1])->name, "exp");
  EXPECT_EQ(op::callee(steps[2])->name, "tanh");
  EXPECT_EQ(m.all("in")[0], m.at("conv"));
  // They are in the region, whatever the path says of them.
  const Match all = *match(t_.pattern("dominates(nn.conv2d(_, _), _, add(_, _))"), e);
  EXPECT_EQ(all.region().size(), 5u + 2u);  // the calls, and the two operators that are named
}

TEST_F(Dominators, NamesOnAPathAreOfOneStep) {  // D1
  const std::string p = "dominates(nn.conv2d(_, _), multiply(%a, %a), nn.relu(_))";
  EXPECT_TRUE(t_.matches(p, "%0 = nn.conv2d(%x, %y); %1 = %0 * %0; nn.relu(%1 * %1)"));
  EXPECT_FALSE(t_.matches(p, "%0 = nn.conv2d(%x, %y); %1 = %0 * %0; nn.relu(%1 * %z)"));
}

TEST_F(Dominators, PartsAreSharedWithTheRestOfThePattern) {
  const std::string p = "(dominates(tanh(%a), nn.relu(_), exp(_)), %a)";
  EXPECT_TRUE(t_.matches(p, "(exp(nn.relu(tanh(%x))), %x)"));
  EXPECT_FALSE(t_.matches(p, "(exp(nn.relu(tanh(%x))), %y)"));
  // The nearest parent that fits is not the nearest tanh.
  EXPECT_TRUE(t_.matches("(dominates(tanh(%a), _, exp(_)), %a)", "(exp(nn.relu(tanh(tanh(%x)))), %x)"));
}

TEST_F(Dominators, Nest) {
  const std::string p = "dominates(dominates(nn.conv2d(_, _), tanh(_), exp(_)), nn.relu(_), add(_, _))";
  EXPECT_TRUE(t_.matches(p, "%0 = exp(tanh(nn.conv2d(%x, %y))); nn.relu(%0) + %0"));
  EXPECT_FALSE(t_.matches(p, "%0 = exp(nn.relu(nn.conv2d(%x, %y))); nn.relu(%0) + %0"));
  // A path that is itself described by a dominator.
  const std::string q = "dominates(nn.conv2d(_, _), dominates(_, nn.relu(_), tanh(_)) | nn.relu(_), exp(_))";
  EXPECT_TRUE(t_.matches(q, "exp(tanh(nn.relu(nn.conv2d(%x, %y))))"));
  EXPECT_FALSE(t_.matches(q, "exp(exp(nn.relu(nn.conv2d(%x, %y))))"));
}

// Each path is looked at once for an expression, though there are 2^40 ways from the last dominator
// to the first path.
TEST(DominatorLimits, PathsThatAreShared) {
  Texts t;
  std::string text = "%0 = tanh(_); ";
  for (int i = 1; i <= 40; ++i) {
    const std::string path = cat("%", i - 1);
    text += cat("%", i, " = dominates(var, ", path, ", tanh(_)) | dominates(const, ", path, ", tanh(_)); ");
  }
  const Pattern p = t.pattern(text + "%40");
  EXPECT_TRUE(match(p, t.expr("tanh(%x)")));
  EXPECT_TRUE(match(p, t.expr("tanh(tanh(tanh(tanh(%x))))")));
  EXPECT_FALSE(match(p, t.expr("tanh(exp(%x))")));
}

// The ways of the paths overlap: what a path matched is told once, not once for each way to it.
TEST(DominatorLimits, WaysThatOverlap) {
  Texts t;
  std::string text = "%0 = tanh(_) as %step; ", program = "%x";
  for (int i = 1; i <= 20; ++i) text += cat("%", i, " = dominates(var, %", i - 1, ", tanh(_)); ");
  for (int i = 0; i < 40; ++i) program = cat("tanh(", program, ")");
  const std::optional<Match> m = match(t.pattern(text + "%20"), t.expr(program));
  ASSERT_TRUE(m);
  EXPECT_EQ(m->all("step").size(), 20u);
}

TEST(DominatorLimits, NestedPaths) {
  Context context;
  Builder b(context);
  const Expr e = b.call(b.op(op::kTanh), {b.var("x")});
  const auto nested = [](uint32_t n) {
    Pattern p = wildcard();
    for (uint32_t i = 0; i < n; ++i) p = dominates(wildcard(), p, wildcard());
    return p;
  };
  EXPECT_TRUE(match(nested(kMostNestedPaths), e));
  EXPECT_THROW(match(nested(kMostNestedPaths + 1), e), Exhausted);
  EXPECT_THROW(match(nested(40'000), e), Exhausted);
}

TEST(DominatorLimits, LongPaths) {
  Context context;
  Builder b(context);
  Expr e = b.call(b.op(op::kSoftmax), {b.var("x")});
  for (int i = 0; i < 100'000; ++i) e = b.call(b.op(i % 2 ? op::kTanh : op::kExp), {e});
  e = b.call(b.op(op::kAdd), {e, e});
  const Pattern step = call(op(op::kTanh) | op(op::kExp), wildcard());
  const auto with_child = [&](const Pattern& child) {
    return match(dominates(call(op(op::kSoftmax), wildcard()), step, child), e);
  };
  ASSERT_TRUE(with_child(call(op(op::kAdd), any)));
  EXPECT_EQ(with_child(call(op(op::kAdd), any))->all(step).size(), 100'000u);
  EXPECT_FALSE(with_child(call(op(op::kSubtract), any)));
}

}  // namespace
}  // namespace relay::pattern
