// relay explain: every diagnostic has a cause, a remedy, and an example that shows it.
#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Explain : public Cli {
 protected:
  nlohmann::json explained(const std::string& slug) const {
    return nlohmann::json::parse(works({"explain", slug, "--json"}));
  }
};

TEST_F(Explain, SaysCauseRemedyAndTheSmallestExample) {
  const std::string text = works({"explain", "missing-else"});
  for (const std::string part : {"missing-else\n\ncause:  An `if` has no `else`",
                                 "\nremedy: Add the branch: `if (%c) { %x } else { %y }`",
                                 "\nexample:\n  def @f(%c: bool) {\n    if (%c) { 1 }\n  }\n",
                                 "\nmessage:\n  fail_missing_else.relay:3:1: error: expected `else`"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST_F(Explain, TakesASlugAsAMessageShowsIt) {
  write("wrong.relay", "def @main(%data: int8) {\n  %dta\n}\n");
  const std::string message = relay({"check", "wrong.relay"}).err;
  const size_t open = message.find('[');
  ASSERT_NE(open, std::string::npos) << message;
  const std::string pasted = message.substr(open, message.find(']', open) + 1 - open);
  EXPECT_EQ(pasted, "[unknown-variable]");
  EXPECT_EQ(works({"explain", pasted}), works({"explain", "unknown-variable"}));
  EXPECT_EQ(works({"explain", "Unknown-Variable"}), works({"explain", "unknown-variable"}));
}

TEST_F(Explain, WithoutASlugListsThemAllAndEachHasItsExample) {
  const std::string listed = works({"explain"});
  const auto all = nlohmann::json::parse(works({"explain", "--json"}));
  EXPECT_GT(all.size(), 200u);
  size_t without = 0;
  for (const auto& entry : all) {
    const std::string slug = entry["slug"], cause = entry["cause"];
    EXPECT_NE(("\n" + listed).find("\n" + slug + " "), std::string::npos) << slug;
    EXPECT_NE(listed.find(" " + cause + "\n"), std::string::npos) << slug;
    const nlohmann::json one = explained(slug);
    EXPECT_EQ(one["cause"], cause);
    EXPECT_EQ(one["remedy"], entry["remedy"]);
    const std::string message = one["message"];
    without += message.empty();
    EXPECT_EQ(message.empty(), message.find("[" + slug + "]") == std::string::npos) << message;
  }
  EXPECT_LE(without, 8u) << "slugs that only tests with machines or files of their own show";
}

TEST_F(Explain, AnUnknownSlugIsNamedWithTheNearest) {
  refused({"explain", "unknown-varaible"}, kUsage,
          {"no slug `unknown-varaible`", "did you mean `unknown-variable`?", "`relay explain` lists"});
  refused({"explain", "[axis-out-of-rnge]"}, kUsage, {"`axis-out-of-range`"});
  refused({"explain", "no such thing"}, kUsage, {"no slug `no such thing`"});
  refused({"explain", ""}, kUsage, {"no slug ``"});
  refused({"explain", "missing-else", "missing-comma"}, kUsage, {"missing-comma", "relay explain --help"});
}

}  // namespace
}  // namespace relay::tests
