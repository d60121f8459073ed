#include "base/escape.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/cat.h"

namespace relay {
namespace {

std::string every_byte() {
  std::string out;
  for (int i = 0; i < 256; ++i) out += static_cast<char>(i);
  return out;
}

bool is_printable_ascii(const std::string& text) {
  return text.find_first_not_of(every_byte().substr(' ', '~' - ' ' + 1)) == std::string::npos;
}

TEST(Escape, IdentifiersAreNobodyElses) {
  EXPECT_EQ(c_identifier("conv_1"), "conv_1");
  EXPECT_EQ(c_identifier("a.b/c:0"), "a_b_c_0");
  EXPECT_EQ(c_identifier(""), "unnamed");
  EXPECT_EQ(c_identifier("\xc3\xa9"), "unnamed");
  EXPECT_EQ(c_identifier("1x"), "v_1x");
  EXPECT_EQ(c_identifier("while"), "v_while");
  EXPECT_EQ(c_identifier("__reserved"), "reserved");
  EXPECT_EQ(c_identifier("INFINITY"), "v_INFINITY");
  EXPECT_EQ(c_identifier("relay_load"), "v_relay_load");
  EXPECT_EQ(c_identifier("uint8_t"), "v_uint8_t");
}

TEST(Escape, StringsOfCAreClosedByTheirOwnQuoteOnly) {
  EXPECT_EQ(c_string("plain"), "\"plain\"");
  EXPECT_EQ(c_string("a\"b\\c\n?\xff"
                     "1"),
            R"("a\042b\134c\012\077\3771")");
  EXPECT_EQ(c_string(std::string_view("\0"
                                      "1",
                                      2)),
            R"("\0001")");
  EXPECT_TRUE(is_printable_ascii(c_string(every_byte())));
}

TEST(Escape, CommentsEndWhereTheirWriterEndsThem) {
  EXPECT_EQ(line_comment("//", "softmax"), "// softmax");
  EXPECT_EQ(line_comment(";", "line\nnext \\"), "; line\\x0anext \\x5c");
  EXPECT_EQ(line_comment("//",
                         "what?"
                         "?/"),
            "// what? ?/");
  EXPECT_EQ(line_comment("//", "\xc3\xa9"), "// \\xc3\\xa9");
  const std::vector<std::string> lines{"*/ a /* b", "", "2*n // 3 /*/ */*"};
  EXPECT_EQ(block_comment(lines), "/* * / a / * b\n *\n * 2*n // 3 / * / * / *\n */\n");
  EXPECT_EQ(block_comment(std::vector<std::string>{"/"}), "/* /\n */\n");
  EXPECT_TRUE(is_printable_ascii(line_comment("//", every_byte())));
}

TEST(Escape, TextsOfRelayReadBack) {
  EXPECT_EQ(relay_quoted("a`\\\n\x01\x7f\"", '`'), R"(`a\`\\\n\x01\x7f"`)");
  EXPECT_EQ(relay_quoted("a`\"", '"'), R"("a`\"")");
}

TEST(Escape, APageShowsATextAndObeysNoneOfIt) {
  EXPECT_EQ(html_text("Conv \"a\" (x) -> (y)"), "Conv &quot;a&quot; (x) -&gt; (y)");
  EXPECT_EQ(html_text("</li><script>alert('&amp;')</script>"),
            "&lt;/li&gt;&lt;script&gt;alert(&#39;&amp;amp;&#39;)&lt;/script&gt;");
  EXPECT_EQ(html_text("\xc3\xa9\n\t"), "\xc3\xa9\n\t");
  EXPECT_EQ(html_text(std::string_view("\0\x1b\r", 3)), "\\x00\\x1b\\x0d");
  EXPECT_EQ(html_text(every_byte()).find_first_of("<>\"'"), std::string::npos);
}

TEST(Escape, AShellTakesAWordAsOne) {
  EXPECT_EQ(shell_word("-O3"), "-O3");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'b; $(c)"), "'a'\\''b; $(c)'");
}

TEST(Escape, ATerminalIsToldNothing) {
  EXPECT_EQ(harmless("a\x1b[2J\x7f\n\tb"), "a\\x1b[2J\\x7f\n\\x09b");
  EXPECT_EQ(harmless("a\n\tb", "\n\t"), "a\n\tb");
  EXPECT_EQ(harmless("\n", ""), "\\x0a");
}

}  // namespace
}  // namespace relay
