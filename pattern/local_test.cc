#include "pattern/local.h"

#include "op/ops.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

class Local : public ::testing::Test {
 protected:
  bool matches(const std::string& pattern, Expr e) {
    return LocalMatcher(t_.pattern(pattern))
        .match(e, [](Expr) { return true; }, [](const LocalMatch&) { return true; });
  }

  Texts t_;
};

// It says the same as the matcher that has the whole program.
TEST_F(Local, AgreesWithTheMatcher) {
  const char* const patterns[] = {
      "_",
      "add(%x, 2f)",
      "add(tanh(%x), %x)",
      "add(%x, %x)",
      "subtract(%x, tanh(_))",
      "tanh(%x) | exp(%x)",
      "nn.relu((tanh(_) | exp(_)) as %y)",
      "sum(_, axis=[1])",
      "(%x, %y)",
      "(...)",
      "split(%x).0",
      "split(...)._",
      "add(...)",
      "multiply(add(%x, const as %c), %c)",
      "var",
      "const",
  };
  const char* const programs[] = {
      "%x",
      "2f",
      "2f + %x",
      "%0 = tanh(%x); %0 + %0",
      "%x + tanh(%x)",
      "%x + tanh(%y)",
      "tanh(%x) - %x",
      "%x - tanh(%x)",
      "nn.relu(exp(%x))",
      "nn.relu(sqrt(%x))",
      "sum(%x, axis=1)",
      "sum(%x, axis=[0])",
      "(%x, 2f)",
      "split(%x, indices_or_sections=2).0",
      "split(%x, indices_or_sections=2).1",
      "(%x + 2f) * 2f",
      "3f * (2f + %x)",
      "2f * (2f + %x)",
      "exp(%x)",
  };
  size_t matched = 0;
  for (const char* program : programs) {
    const Expr e = t_.expr(program);
    for (const char* pattern : patterns) {
      const bool want = match(t_.pattern(pattern), e).has_value();
      EXPECT_EQ(matches(pattern, e), want) << pattern << " on " << program;
      matched += want;
    }
  }
  EXPECT_GT(matched, 30u);
}

TEST_F(Local, TakesNoWayThatIsRefused) {
  const Expr e = t_.expr("2f + 3f");
  std::vector<double> seen;
  const bool found = LocalMatcher(t_.pattern("add(%a, %b)"))
                         .match(
                             e, [](Expr) { return true; },
                             [&](const LocalMatch& m) {
                               seen.push_back(m.at("a")->as<Constant>()->value->get(0));
                               return false;
                             });
  EXPECT_FALSE(found);
  EXPECT_EQ(seen, (std::vector<double>{2, 3}));  // both orders of the operands
}

TEST_F(Local, OnceIsAsked) {
  const Expr e = t_.expr("nn.relu(tanh(%x))");
  const LocalMatcher matcher(t_.pattern("nn.relu(tanh(_) once)"));
  const auto accept = [](const LocalMatch&) { return true; };
  EXPECT_TRUE(matcher.match(e, [](Expr) { return true; }, accept));
  EXPECT_FALSE(matcher.match(e, [](Expr) { return false; }, accept));
}

TEST_F(Local, PatternsThatNeedTheProgramAreToldApart) {
  EXPECT_TRUE(is_local(t_.pattern("add(%x, %x)")));
  EXPECT_FALSE(is_local(t_.pattern("dominates(exp(_), tanh(_), add(_, _))")));
  EXPECT_FALSE(is_local(t_.pattern("%0 = tanh(_); add(%0, %0)")));
  EXPECT_FALSE(is_local(t_.pattern("if (_) { _ } else { _ }")));
}

}  // namespace
}  // namespace relay::pattern
