#include "pattern/replacement.h"

#include <optional>

#include "ir/analysis.h"
#include "pattern/rewrite.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

class ReplacementTest : public ::testing::Test {
 protected:
  // What the pattern and the replacement make of a program; nothing if one of them is wrong.
  std::optional<Expr> run(const std::string& pattern, const std::string& by, const std::string& program) {
    const Pattern p = t_.pattern(pattern);
    const Result<Replacement> replacement = Replacement::parse("by", by, p, t_.module(), diagnostics_);
    if (!replacement) return std::nullopt;
    const std::vector<Rule> rules{
        {"rule", p, [&](Builder&, const Match& m) { return replacement->make(m); }}};
    return rewrite(t_.context(), rules, t_.expr(program), {.once = true});
  }
  void expect(const std::string& pattern, const std::string& by, const std::string& before,
              const std::string& after) {
    const std::optional<Expr> now = run(pattern, by, before);
    ASSERT_TRUE(now.has_value()) << diagnostics_.render(t_.context().sources());
    EXPECT_TRUE(alpha_equal(*now, t_.expr(after))) << print(*now, {.header = false});
  }
  std::string error(const std::string& pattern, const std::string& by) {
    EXPECT_FALSE(run(pattern, by, "%x").has_value());
    return diagnostics_.render(t_.context().sources());
  }

  Texts t_;
  Diagnostics diagnostics_;
};

TEST_F(ReplacementTest, PartsStandForWhatTheyMatched) {
  expect("nn.relu(nn.relu(%a))", "nn.relu(%a)", "tanh(nn.relu(nn.relu(add(%x, %y))))",
         "tanh(nn.relu(add(%x, %y)))");
  expect("add(%a, %b)", "subtract(%b, %a)", "add(%x, add(%y, %z))", "subtract(subtract(%z, %y), %x)");
  expect("tanh(_) as %t", "(%t, %t).1", "tanh(%x)", "%0 = tanh(%x); (%0, %0).1");
}

// Each match has an evaluation of its own, also of what mentions no part, and binders of its own.
TEST_F(ReplacementTest, MatchesShareNothing) {
  const std::optional<Expr> now = run("tanh(%a)", "let %v = exp(1f); add(%v, %a)", "(tanh(%x), tanh(%y))");
  ASSERT_TRUE(now.has_value());
  const auto* tuple = (*now)->as<Tuple>();
  ASSERT_NE(tuple, nullptr);
  const auto *a = tuple->fields[0]->as<Let>(), *b = tuple->fields[1]->as<Let>();
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->x, b->x);
  EXPECT_NE(a->value, b->value);
}

TEST_F(ReplacementTest, APartOfAnAlternativeThatWasNotTakenDeclines) {
  expect("tanh(%a) | exp(%b)", "nn.relu(%b)", "(tanh(%x), exp(%y))", "(tanh(%x), nn.relu(%y))");
}

TEST_F(ReplacementTest, TextsThatAreWrong) {
  EXPECT_NE(error("tanh(%a)", "nn.relu(%b)").find("unknown-variable"), std::string::npos);
  EXPECT_NE(error("tanh(%a)", "free_var %q; add(%a, %q)").find("no part `%q`"), std::string::npos);
  EXPECT_NE(error("tanh(%a)", "nn.relu(%a").find("error"), std::string::npos);
  EXPECT_NE(error("tanh(%a)", "no.such(%a)").find("error"), std::string::npos);
}

// Places are those of the text that the user wrote.
TEST_F(ReplacementTest, PlacesInATextThatIsWrong) {
  const std::string said = error("tanh(%a)", "nn.relu(%b)");
  EXPECT_NE(said.find("by:1:9: error"), std::string::npos) << said;
  EXPECT_NE(said.find("\n  nn.relu(%b)\n"), std::string::npos) << said;
}

TEST_F(ReplacementTest, NamesOfAPattern) {
  EXPECT_EQ(names_of(t_.pattern("add(%b, tanh(%a) as %c)")), (std::vector<std::string>{"a", "b", "c"}));
  const Pattern d = t_.pattern("dominates(tanh(%a), exp(%p), add(_, _))");
  EXPECT_EQ(names_of(d), (std::vector<std::string>{"a", "p"}));
  EXPECT_EQ(names_of(d, /*with_paths=*/false), (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace relay::pattern
