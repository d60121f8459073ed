// Each mistake that the parser reports: where, as what, and how it reads.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

// "line:column slug", one for each diagnostic, in order of place.
std::string slugs(std::string_view input) {
  Diagnostics diagnostics;
  ParseOptions options;
  const bool ok =
      static_cast<bool>(parse("input", std::string(input), diagnostics, test_operators(), options));
  EXPECT_EQ(ok, !diagnostics.has_errors());
  std::vector<std::pair<uint32_t, std::string>> found;
  for (const Diagnostic& d : diagnostics.all()) {
    const auto at = options.into.context().sources().position(d.span().file, d.span().begin);
    found.emplace_back(d.span().begin, cat(at.line, ":", at.column, " ", d.slug().name(),
                                           d.severity() == Severity::kWarning ? " (warning)" : ""));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return join(found, ", ", [](const auto& f) { return f.second; });
}

std::string rendered(std::string_view input) {
  Diagnostics diagnostics;
  ParseOptions options;
  EXPECT_FALSE(parse("net.relay", std::string(input), diagnostics, test_operators(), options));
  return diagnostics.render(options.into.context().sources());
}

struct Row {
  std::string_view input, slugs;
};

// Each stands in `def @f(%x: int8) {` on the first line; its own text is line 2.
const Row kInBodies[] = {
    {"%x", ""},
    {"\x01", "2:1 unexpected-character"},
    {"@ x", "2:1 unexpected-character"},
    {"\"abc", "2:1 unterminated-string"},
    {"`abc", "2:1 unterminated-string"},
    {"%x /* ", "2:4 unterminated-comment"},
    {"1.5", "2:1 missing-suffix"},
    {"1e3", "2:1 missing-suffix"},
    {"1q", "2:1 unknown-suffix"},
    {"0x1f", "2:1 malformed-number"},
    {"1.5i8", "2:1 malformed-number"},
    {"128i8", "2:1 literal-out-of-range"},
    {"-129i8", "2:1 literal-out-of-range"},
    {"-1u8", "2:1 literal-out-of-range"},
    {"9223372036854775808", "2:1 literal-out-of-range"},
    {"70000f16", "2:1 literal-out-of-range"},
    {"1e39f", "2:1 literal-out-of-range"},
    {"inff8e4m3", "2:1 literal-out-of-range"},
    {"%y", "2:1 unknown-variable"},
    {"%0", "2:1 unknown-graph-binding"},
    {"@g", "2:1 unknown-global"},
    {"frobnicate(1)", "2:1 unknown-operator"},
    {"nn.frobnicate(1)", "2:1 unknown-operator"},
    {"ctor add", "2:6 unknown-constructor"},
    {"op Cons", "2:4 unknown-operator"},
    {"", "3:1 missing-result"},
    {"1;", "3:1 missing-result"},
    {"else", "2:1 keyword-as-name"},
    {"- %x", "2:3 unary-minus"},
    {"1 + ", "3:1 expected-expression"},
    {"add(1, )", ""},
    {"add(1 2)", "2:7 unfinished-list"},
    {"add(1, 2 3)", "2:10 missing-comma (warning)"},
    {"add(1, 2", "2:4 mismatched-bracket"},
    {"add(axis=1, 2)", "2:13 argument-after-attribute"},
    {"add(axis=)", "2:10 expected-attribute-value"},
    {"add(axis=-\"x\")", "2:11 expected-attribute-value"},
    {"add(axis=1.5q)", "2:10 unknown-suffix"},
    {"add(axis=n + 1 // 0\n)", ""},
    {"add(axis=n // 0)", "2:11 division-by-zero"},
    {"add(axis=9223372036854775808)", "2:10 literal-out-of-range"},
    {"add(axis=9223372036854775807 + n + 1)", "2:29 dim-overflow"},
    {"add(axis=9223372036854775807 + 1)", "2:29 dim-overflow"},
    {"1.x", "2:1 unknown-suffix"},
    {"%x.y", "2:4 expected-field"},
    {"%x.99999999999", "2:4 literal-out-of-range"},
    {"let x = 1; 2", "2:5 missing-sigil"},
    {"let %y 1; 2", "2:8 expected-token"},
    {"let %y = 1 2", "2:12 missing-semicolon"},
    {"let %f = fn () { %f }(); 1", "2:5 used-in-own-value"},
    {"if 1 { 2 } else { 3 }", "2:4 expected-token"},
    {"if (1) { 2 }", "3:1 missing-else"},
    {"match (1) { Foo => 2 }", "2:13 unknown-constructor"},
    {"match (1) { 3 => 2 }", "2:13 expected-pattern"},
    {"match (1) { _ -> 2 }", "2:15 expected-token"},
    {"ref(1, 2)", "2:8 unclosed-bracket"},
    {"ref_write(1)", "2:12 expected-token"},
    {"free_var %y; %y", "2:10 free-variable"},
    {"fn (y) { 1 }", "2:5 missing-sigil"},
    {"fn (%y: 3) { 1 }", "2:9 expected-type"},
    {"fn (%y: float33) { 1 }", "2:9 unknown-dtype"},
    {"fn (%y: float32x0) { 1 }", "2:9 unknown-dtype"},
    {"fn (%y: Lisp[int8]) { 1 }", "2:9 unknown-type"},
    {"fn (%y: Tensor[(-1), int8]) { 1 }", "2:17 negative-dim"},
    {"fn (%y: Tensor[(n - n - 1), int8]) { 1 }", "2:17 negative-dim"},
    {"fn (%y: Tensor[(\"n\"), int8]) { 1 }", "2:17 expected-dim"},
    {"fn (%y: Tensor[(1.5), int8]) { 1 }", "2:17 dim-not-integer"},
    {"fn (%y: Tensor[(n // 0), int8]) { 1 }", "2:17 division-by-zero"},
    {"fn (%y: Tensor[(mix(n, 1)), int8]) { 1 }", "2:17 unknown-function"},
    {"fn (%y: Tensor[(min(n)), int8]) { 1 }", "2:17 wrong-arguments"},
    {"fn (%y: Tensor[(broadcast(n)), int8]) { 1 }", "2:17 wrong-arguments"},
    {"fn (%y: Tensor[(9223372036854775808), int8]) { 1 }", "2:17 literal-out-of-range"},
    {"tensor([1, 300], int8)", "2:12 literal-out-of-range"},
    {"tensor([[1, 2], [3]], int8)", "2:1 ragged-tensor"},
    {"tensor([[1], 2], int8)", "2:1 ragged-tensor"},
    {"tensor([1, [2]], int8)", "2:1 ragged-tensor"},
    {"tensor([1, 2], int8, (3,))", "2:1 wrong-shape"},
    {"tensor([1], int8, (9223372036854775807, 9223372036854775807))", "2:1 wrong-shape"},
    {"tensor([;], int8)", "2:9 expected-element, 2:10 expected-expression"},
    {"tensor([1], 3)", "2:13 expected-type"},
    {"tensor([1f16], int8)", "2:9 wrong-suffix"},
    {"tensor([x], int8)", "2:9 malformed-number"},
    {"const(1)", "2:7 expected-name"},
    {"const(\"w\")", "2:7 unknown-constant"},
    {"meta[relay.Constant][0]", "2:1 missing-metadata"},
    // After a mistake, reading goes on at the next `;`.
    {"%0 = add(1, ]); %1 = 1.5; %2 = add(%0, %1); foo(%2)",
     "2:13 expected-expression, 2:22 missing-suffix, 2:45 unknown-operator"},
    {"let %a = (; let %b = frob(%a); %b", "2:11 expected-expression, 2:22 unknown-operator"},
    {"if (%q) { %r } else { 1.5 }", "2:5 unknown-variable, 2:11 unknown-variable, 2:23 missing-suffix"},
    {"fn (%y) { ; } ; match (%x) { _ => ], _ => 1.5 }", "2:11 expected-expression, 2:35 expected-expression"},
};

TEST(Errors, InBodies) {
  for (const Row& row : kInBodies)
    EXPECT_EQ(slugs(cat("def @f(%x: int8) {\n", row.input, "\n}")), row.slugs) << row.input;
}

TEST(Errors, InDefinitions) {
  const Row kRows[] = {
      {"}", "1:1 expected-definition"},
      {"define @f() { 1 }", "1:1 expected-definition"},
      {"@f(%x: int8) { 1 }", "1:1 expected-definition"},
      {"@f[A](%x: A) { 1 }", "1:1 expected-definition"},
      {"type 1", "1:1 expected-definition"},
      {"1 2", "1:3 trailing-text"},
      {"1 def @f() { 1 }", "1:3 trailing-text"},
      {"(1", "1:3 unfinished-list"},
      {"frobnicate", "1:1 unknown-operator"},
      {"@f(1)", "1:1 unknown-global"},
      {"%x", "1:1 unknown-variable"},
      {"def f() { 1 }", "1:5 missing-sigil"},
      {"def @f { 1 }", "1:8 expected-token"},
      {"def @f() 1", "1:10 expected-token"},
      {"def @f() { 1", "1:13 unclosed-bracket"},
      {"def @f() { 1 } }", "1:16 expected-definition"},
      {"#[version = \"0.0.4\"] def @f() { 1 }", "1:1 unsupported-version"},
      {"def @f() { 1 } def @f() { 2 }", "1:20 replaced-global (warning)"},
      {"type T { A } type T { B }", "1:19 redefined-type"},
      {"type T { A, A }", "1:13 redefined-constructor"},
      {"type T { A } type U { A }", "1:23 redefined-constructor"},
      {"type T { 1 }", "1:10 expected-name"},
      {"type T { A(U) }", "1:12 unknown-type"},
      {"type T[1] { A }", "1:8 expected-name"},
      {"type T %x A ] { B } def @f() { 1 }", "1:8 expected-definition"},
      {"def @f() { 1 } #[metadata] {", "1:16 malformed-metadata"},
      {"def @f() { 1 } #[metadata] {\"nodes\": []}", "1:16 malformed-metadata"},
      // One mistake in each definition.
      {"def @a() { ] }\ndef @b() { 1 }\ndef @c(%x { 1 }\ntype T { A( }\ndef @d() { 1.5 }",
       "1:12 expected-expression, 3:13 expected-token, 4:13 expected-type, 5:12 missing-suffix"},
      // What two functions share must be in scope in both: bindings end with their function.
      {"def @f() { %0 = 1; %0 } def @g() { %0 }", "1:36 unknown-graph-binding"},
      {"def @f() { (fn (%y) { %0 = nn.relu(%y); %0 }, %0) }", "1:28 variable-out-of-scope"},
      {"def @f() { let %a = (let %b = 1; %1 = add(%b, 1); %1); add(%a, %1) }", "1:39 variable-out-of-scope"},
  };
  for (const Row& row : kRows) EXPECT_EQ(slugs(row.input), row.slugs) << row.input;
}

TEST(Errors, ComplexDims) {
  std::string sum = "n0", tower = "n";
  for (size_t i = 1; i < 200; ++i) sum += cat(" + n", i);
  for (size_t i = 1; i < 100; ++i) tower = cat(tower, " // 3");
  for (const std::string& dim : {sum, tower}) {
    EXPECT_EQ(slugs(cat("def @f(%x: Tensor[(", dim, "), int8]) { 1 }")), "1:20 dim-too-complex") << dim;
  }
}

TEST(Errors, AVariableWithoutItsSignIsMeant) {
  EXPECT_EQ(rendered("def @main(%x: float32) { nn.relu(x) }"),
            "net.relay:1:34: error: there is no operator or constructor `x` [unknown-operator]\n"
            "  def @main(%x: float32) { nn.relu(x) }\n"
            "                                   ^\n"
            "note: did you mean `%x`?\n");
  // Only where it is in scope.
  EXPECT_EQ(rendered("def @f(%q: float32) { %q }\ndef @main(%x: float32) { nn.relu(q) }").find("%q`?"),
            std::string::npos);
}

TEST(Errors, Rendered) {
  EXPECT_EQ(rendered("def @main(%data: float32) {\n  nn.rely(%dta)\n}"),
            "net.relay:2:3: error: there is no operator or constructor `nn.rely` [unknown-operator]\n"
            "    nn.rely(%dta)\n"
            "    ^~~~~~~\n"
            "note: did you mean `nn.relu`?\n"
            "net.relay:2:11: error: there is no variable `%dta` here [unknown-variable]\n"
            "    nn.rely(%dta)\n"
            "            ^~~~\n"
            "note: did you mean `%data`?\n");
  EXPECT_EQ(
      rendered("def @main() { @mian(1.5) }"),
      "net.relay:1:15: error: there is no function or kernel `@mian` [unknown-global]\n"
      "  def @main() { @mian(1.5) }\n"
      "                ^~~~~\n"
      "note: did you mean `@main`?\n"
      "net.relay:1:21: error: `1.5` needs a suffix that says which floating dtype it has [missing-suffix]\n"
      "  def @main() { @mian(1.5) }\n"
      "                      ^~~\n"
      "note: `1.5f` is a float32, `1.5f64` a float64\n");
  EXPECT_EQ(rendered("type List { Nil } def @f(%x: Lisr) { match (%x) { Nill => 1 } }"),
            "net.relay:1:30: error: there is no type `Lisr` [unknown-type]\n"
            "  type List { Nil } def @f(%x: Lisr) { match (%x) { Nill => 1 } }\n"
            "                               ^~~~\n"
            "note: did you mean `List`?\n"
            "net.relay:1:51: error: there is no constructor `Nill` [unknown-constructor]\n"
            "  type List { Nil } def @f(%x: Lisr) { match (%x) { Nill => 1 } }\n"
            "                                                    ^~~~\n"
            "note: did you mean `Nil`?\n");
}

}  // namespace
}  // namespace relay::text
