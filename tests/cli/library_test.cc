// Programs that import libraries, from the command line.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

using Library = Cli;

constexpr const char* kFirst =
    "#[version = \"0.0.5\"]\n"
    "import \"prelude\"\n\n"
    "def @main(%x: float32) {\n  @hd(@tl(Cons(%x, Nil)))\n}\n";

TEST_F(Library, FormattingKeepsImports) {
  write("m.relay", "import \"nat\"; import \"prelude\"\ndef @main(%x: float32) { @hd(@tl(Cons(%x, Nil))) }");
  EXPECT_EQ(works({"fmt", "m.relay"}), kFirst);
  works({"fmt", "-w", "m.relay"});
  EXPECT_EQ(read("m.relay"), kFirst);
}

TEST_F(Library, PassesPrintTextsThatStandAlone) {
  write("m.relay", kFirst);
  const std::string text = works({"opt", "m.relay", "--passes=fold-constants"});
  EXPECT_EQ(text.find("import"), std::string::npos) << text;
  write("alone.relay", text);
  works({"check", "alone.relay"});
}

TEST_F(Library, ATrapInALibrarySaysWhere) {
  write("m.relay", kFirst);
  refused({"run", "m.relay"}, kMismatch, {"fits the value Nil at <library prelude>:"});
}

}  // namespace
}  // namespace relay::tests
