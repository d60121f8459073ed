// Imports: what a module has of a library, in which contexts, and how it is printed.
#include <gtest/gtest.h>

#include "ir/analysis.h"
#include "ir/text/library.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

Result<Module> parsed(std::string_view input, Diagnostics& diagnostics, const Module& into = {}) {
  ParseOptions options;
  options.into = into;
  return parse("input", std::string(input), diagnostics, test_operators(), options);
}

Module must_parse(std::string_view input, const Module& into = {}) {
  Diagnostics diagnostics;
  Result<Module> m = parsed(input, diagnostics, into);
  EXPECT_TRUE(m) << diagnostics.render(into.context().sources());
  return m ? *m : Module();
}

std::vector<std::string> functions_of(const Module& m) {
  std::vector<std::string> names;
  for (const auto& [name, fn] : m.functions()) names.push_back(name.str());
  return names;
}

std::vector<std::string> types_of(const Module& m) {
  std::vector<std::string> names;
  for (const auto& [name, def] : m.data_types()) names.push_back(name.str());
  return names;
}

using Names = std::vector<std::string>;

TEST(Import, KeepsWhatIsMentioned) {
  const Module m = must_parse("import \"prelude\" def @main(%l: List[int8]) { @rev(%l) }");
  EXPECT_EQ(functions_of(m), (Names{"flip", "foldl", "main", "rev"}));
  EXPECT_EQ(types_of(m), (Names{"List"}));
  EXPECT_EQ(m.constructor("Some"), nullptr);
  EXPECT_TRUE(well_formed(m).empty());
}

TEST(Import, KeepsWhatOnlyARelationMentions) {
  const Module m = must_parse("import \"prelude\" def @main[A where Identity(A, Option[A])](%x: A) { %x }");
  EXPECT_EQ(types_of(m), (Names{"Option"}));
  EXPECT_TRUE(well_formed(m).empty());
}

TEST(Import, OfNothingUsedIsNothing) {
  const Module m = must_parse("import \"prelude\" import \"nat\"");
  EXPECT_EQ(functions_of(m), Names{});
  EXPECT_EQ(types_of(m), Names{});
}

TEST(Import, TwiceIntoOneModule) {
  const Module first = must_parse("import \"prelude\" def @f(%l: List[int8]) { @hd(%l) }");
  const Module both = must_parse("import \"prelude\" def @g(%l: List[int8]) { (@hd(%l), @tl(%l)) }", first);
  EXPECT_EQ(functions_of(both), (Names{"f", "g", "hd", "tl"}));
  // The types are the same ones, so that both functions speak of the same lists.
  EXPECT_EQ(both.data_type("List"), first.data_type("List"));
  EXPECT_TRUE(well_formed(both).empty());
}

TEST(Import, IntoAModuleWithATypeOfThatName) {
  const Module own = must_parse("type List { Empty }");
  Diagnostics diagnostics;
  EXPECT_FALSE(parsed("import \"prelude\"", diagnostics, own));
  ASSERT_EQ(diagnostics.errors(), 1u);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "redefined-type");
}

TEST(Import, UnknownLibraryIsReportedOnce) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parsed("import \"no\" import \"no\" def @f() { 1 }", diagnostics));
  ASSERT_EQ(diagnostics.errors(), 1u);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "unknown-library");
}

TEST(Import, MayBePrintedAsImport) {
  const Operators operators = test_operators();
  const Module m = must_parse("def @main(%l: List[int8], %n: nat) { (@length(%l), %n) } import \"nat\"");
  const std::string text = print(m, {.operators = &operators, .imports = true});
  EXPECT_EQ(text,
            "#[version = \"0.0.5\"]\nimport \"nat\"\nimport \"prelude\"\n\n"
            "def @main(%l: List[int8], %n: nat) {\n  (@length(%l), %n)\n}\n");
  const Module again = must_parse(text);
  EXPECT_TRUE(alpha_equal(m, again));
  EXPECT_EQ(print(again, {.operators = &operators, .imports = true}), text);
  // Without imports the text needs no library.
  EXPECT_TRUE(alpha_equal(m, must_parse(print(m, {.operators = &operators}))));
}

TEST(Library, NamesOfDtypes) {
  EXPECT_TRUE(library_text("tensor_array/bfloat16"));
  EXPECT_FALSE(library_text("tensor_array/"));
  EXPECT_FALSE(library_text("tensor_array/float"));  // float32 has one name
  EXPECT_FALSE(library_text("Prelude"));
  EXPECT_EQ(library_text("tensor_array/uint8")->find("DTYPE"), std::string::npos);
}

// Whoever uses the parser with a module of their own finds the whole of a library by its text.
TEST(Library, IsATextLikeAnyOther) {
  EXPECT_EQ(functions_of(must_parse(*library_text("prelude"))).size(), 24u);
  EXPECT_EQ(types_of(must_parse(*library_text("prelude"))), (Names{"List", "Option", "Tree"}));
}

}  // namespace
}  // namespace relay::text
