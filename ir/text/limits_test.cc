// Deep and long programs: they are read and printed on an ordinary stack and in linear time; beyond
// the limit there is a diagnostic.
#include <gtest/gtest.h>

#include <ctime>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

std::string repeat(std::string_view part, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

// before^n middle after^n
std::string nested(std::string_view before, std::string_view middle, std::string_view after, size_t n) {
  return repeat(before, n) + std::string(middle) + repeat(after, n);
}

// Reads, prints, and reads back.
void expect_round_trip(const std::string& what, const std::string& text) {
  SCOPED_TRACE(what);
  const auto start = std::clock();
  const Operators operators = test_operators();
  Diagnostics diagnostics;
  ParseOptions options, again_options;
  const Result<Expr> e = parse_expr("input", text, diagnostics, operators, options);
  ASSERT_TRUE(e) << diagnostics.render(options.into.context().sources()).substr(0, 500);
  PrintOptions print_options;
  print_options.operators = &operators;
  const std::string first = print(*e, print_options);
  const Result<Expr> again = parse_expr("printed", first, diagnostics, operators, again_options);
  ASSERT_TRUE(again) << diagnostics.render(again_options.into.context().sources()).substr(0, 500);
  EXPECT_TRUE(alpha_equal(*e, *again));
  EXPECT_TRUE(print(*again, print_options) == first) << "printing is no fixed point";
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(took, 60.0) << "not linear?";
  if (took > 0.5) std::printf("%s: %.2f s\n", what.c_str(), took);
}

constexpr size_t kDeep = 10000;
constexpr size_t kLong = 100000;

TEST(Limits, ManyAttributes) {
  std::string different, alike;
  for (size_t i = 0; i < kLong; ++i) {
    different += cat(", a", i, "=1");
    alike += ", a=1";
  }
  expect_round_trip("different attributes", cat("nn.relu(1", different, ")"));
  expect_round_trip("the same attribute", cat("nn.relu(1", alike, ")"));
}

TEST(Limits, DeepExpressions) {
  expect_round_trip("parentheses", nested("(", "1", ")", kDeep));
  expect_round_trip("blocks", nested("{", "1", "}", kDeep));
  expect_round_trip("tuples", nested("(", "1", ",)", kDeep));
  expect_round_trip("calls", nested("nn.relu(", "1", ")", kDeep));
  expect_round_trip("calls of calls", nested("", "add", "(1)", kDeep));
  expect_round_trip("functions", nested("fn (%x) {", "1", "}", kDeep));
  expect_round_trip("first branches", nested("if (True) {", "1", "} else { 2 }", kDeep));
  expect_round_trip("second branches", nested("if (True) { 2 } else {", "1", "}", kDeep));
  expect_round_trip("else if", nested("if (True) { 2 } else ", "{ 1 }", "", kDeep));
  expect_round_trip("conditions", nested("if (", "1", ") { 2 } else { 3 }", kDeep));
  expect_round_trip("arms", nested("match (1) { _ =>", "1", "}", kDeep));
  expect_round_trip("scrutinees", nested("match (", "1", ") { _ => 2 }", kDeep));
  expect_round_trip("references", nested("ref(", "1", ")", kDeep));
  expect_round_trip("lets in values", nested("let %x = (", "1", "); %x", kDeep));
  expect_round_trip("right operands", nested("1 - (", "1", ")", kDeep));
}

TEST(Limits, DeepTypesAndPatterns) {
  expect_round_trip("tuple types", cat("fn (%x: ", nested("(", "int8", ",)", kDeep), ") { 1 }"));
  expect_round_trip("function types", cat("fn (%x: ", nested("fn(", "int8", ") -> int8", kDeep), ") { 1 }"));
  expect_round_trip("result types", cat("fn (%x: ", nested("fn() -> ", "int8", "", kDeep), ") { 1 }"));
  expect_round_trip("reference types", cat("fn (%x: ", nested("ref(", "int8", ")", kDeep), ") { 1 }"));
  expect_round_trip("patterns", cat("match (1) { ", nested("(", "%x", ",)", kDeep), " => %x }"));
}

TEST(Limits, LongChains) {
  expect_round_trip("operators", cat("1", repeat(" + 1", kLong)));
  expect_round_trip("projections", cat("(1,)", repeat(".0", kLong)));
  expect_round_trip("items", repeat("ref(1);", kLong) + "1");
  std::string lets = "let %x0 = 1;", bindings = "%0 = 1 + 1;", shared = "%0 = 1 + 1;",
              same_name = "let %x = 1;";
  for (size_t i = 1; i < kLong; ++i) {
    lets += cat("let %x", i, " = nn.relu(%x", i - 1, ");\n");
    same_name += "let %x = nn.relu(%x);\n";
    bindings += cat("%", i, " = nn.relu(%", i - 1, ");\n");
    shared += cat("%", i, " = add(%", i - 1, ", %", i - 1, ");\n");
  }
  expect_round_trip("lets", lets + "%x99999");
  expect_round_trip("lets of one name", same_name + "%x");
  expect_round_trip("bindings", bindings + "%99999");
  expect_round_trip("shared bindings", shared + "%99999");
  expect_round_trip("wide tuple", "(" + repeat("1, ", kLong) + ")");
  expect_round_trip("wide call", "add(" + repeat("1, ", kLong) + ")");
  expect_round_trip(
      "attributes", "add(" + [] {
        std::string out;
        for (size_t i = 0; i < 20000; ++i) out += cat("a", i, "=", i, ", ");
        return out;
      }() + ")");
}

TEST(Limits, NestingIsLimited) {
  const Operators operators = test_operators();
  for (const std::string& text :
       {nested("(", "1", ")", 200), nested("f(", "1", ")", 200), nested("fn () {", "1", "}", 200),
        cat("fn (%x: ", nested("(", "int8", ",)", 200), ") { 1 }"),
        cat("match (1) { ", nested("(", "_", ",)", 200), " => 1 }"), repeat("(", 1000), repeat("{", 1000),
        cat("zeros(a=", nested("[", "1", "]", 100), ")"),
        cat("fn (%x: Tensor[(", nested("(", "n", ")", 100), "), int8]) {1}"),
        "tensor(" + nested("[", "1", "]", 100) + ", int8)"}) {
    Diagnostics diagnostics;
    ParseOptions options;
    options.max_nesting = 100;
    const Result<Expr> e = parse_expr("input", text, diagnostics, operators, options);
    EXPECT_FALSE(e) << text;
    const bool found = std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                                   [](const Diagnostic& d) { return d.slug() == "nesting-too-deep"; });
    EXPECT_TRUE(found) << text << "\n" << diagnostics.render(options.into.context().sources());
  }
  // The limit is per definition: the next one is read.
  Diagnostics diagnostics;
  ParseOptions options;
  options.max_nesting = 100;
  const std::string text = cat("def @a() {", nested("(", "1", ")", 200), "} def @b() { + }");
  EXPECT_FALSE(parse("input", text, diagnostics, operators, options));
  EXPECT_EQ(diagnostics.errors(), 2u);
}

TEST(Limits, LengthIsLimited) {
  const Operators operators = test_operators();
  for (size_t most : {10, 11}) {
    ParseOptions options;
    options.max_bytes = most;
    Diagnostics diagnostics;
    EXPECT_EQ(static_cast<bool>(parse_type("net.relay", "(int8,    )", diagnostics, options)), most == 11);
    if (most == 11) continue;
    EXPECT_EQ(diagnostics.all().front().slug().name(), "input-too-large");
    const std::string said = diagnostics.render({});
    EXPECT_NE(said.find("`net.relay` has 11 bytes; at most 10 are read"), std::string::npos) << said;
    EXPECT_NE(said.find("belong into a .safetensors file"), std::string::npos) << said;
    EXPECT_FALSE(parse("net.relay", "def @f() {}", diagnostics, operators, options));
    EXPECT_FALSE(parse_expr("net.relay", "(1, 2, 3, 4)", diagnostics, operators, options));
    EXPECT_EQ(diagnostics.errors(), 3u);
  }
}

TEST(Limits, RaceChecksAreLimited) {
  std::string text;
  for (const char* name : {"a", "b", "c"})
    text +=
        cat("kernel @", name, "(x: float32[100]) -> (y: float32[100]) {\n  for i in 100 {\n    block b {\n",
            "      spatial v in 100 = i;\n      reads x[v];\n      writes y[v];\n      y[v] = x[v];\n",
            "    }\n  }\n}\n");
  const auto slug = [&](int64_t most) -> std::string {
    ParseOptions options;
    options.max_race_checked = most;
    Diagnostics diagnostics;
    const bool read = static_cast<bool>(parse("input", text, diagnostics, test_operators(), options));
    EXPECT_EQ(read, !diagnostics.has_errors());
    return read ? std::string() : std::string(diagnostics.all().front().slug().name());
  };
  EXPECT_EQ(slug(ParseOptions().max_race_checked), "");
  EXPECT_EQ(slug(3000), "kernel-too-large");
}

// Programs that no text of their size could hold: a hundred thousand `if`s, as a
// pass may build them.
TEST(Limits, PrintsWhatIsNestedBeyondTheLimit) {
  Context context;
  Builder b(context);
  Expr e = b.scalar(kInt32, 1);
  const Expr cond = b.scalar(kBool, 1);
  for (size_t i = 0; i < kLong; ++i) e = b.if_(cond, e, b.scalar(kInt32, 2));
  const std::string text = print(e);
  EXPECT_LT(text.size(), 40u << 20);
  ParseOptions options;
  options.max_nesting = 2 * kLong;
  Diagnostics diagnostics;
  const Result<Expr> again = parse_expr("printed", text, diagnostics, test_operators(), options);
  ASSERT_TRUE(again);
  EXPECT_TRUE(alpha_equal(e, *again));
}

// Hostile texts: whatever they are, they end soon.
TEST(Limits, HostileTextsEndSoon) {
  const Operators operators = test_operators();
  const std::string dims = [] {
    std::string out = "def @f(%x: Tensor[(";
    for (size_t i = 0; i < 20000; ++i) out += cat("n", i, " * m", i, " + ");
    return out + "1), int8]) { 1 }";
  }();
  const std::string products =
      "def @f(%x: Tensor[(" + repeat("(a + b + c + d) * ", 1000) + "1), int8]) { 1 }";
  std::string names = "def @f() { ";
  for (size_t i = 0; i < 50000; ++i) names += cat("unknown", i, "; ");
  for (const std::string& text : {repeat("\"\\", 300000),
                                  repeat("/*", 500000),
                                  repeat("(", 1000000),
                                  repeat("`", 1000000),
                                  repeat("((,", 300000),
                                  repeat("#[", 300000),
                                  repeat("def ", 250000),
                                  repeat("def @f() {", 100000),
                                  repeat("def @f( { } ) ", 70000),
                                  repeat("type T {", 100000),
                                  repeat("meta[a][0]", 100000),
                                  repeat("\xff", 1000000),
                                  repeat("%", 1000000),
                                  repeat("1 +", 300000),
                                  "def @f() { " + repeat("x; ", 300000) + "}",
                                  "def @f() { " + repeat("x}; ", 200000),
                                  "def @f() { " + repeat("{ ) ] ; ", 100000),
                                  dims,
                                  products,
                                  names,
                                  "def @f() { " + repeat("tensor([[", 100000),
                                  "def @f() { tensor(" + repeat("[1, 2],", 100000),
                                  "def @f() { f(" + repeat("a=", 300000),
                                  "def @f() { f(a=" + repeat("[", 900000),
                                  "def @f() { " + repeat("let %x = fn (%y) { ", 50000),
                                  repeat("extern type A ", 70000)}) {
    Diagnostics diagnostics;
    const auto start = std::clock();
    ParseOptions options;
    EXPECT_FALSE(parse("input", text, diagnostics, operators, options));
    EXPECT_TRUE(diagnostics.has_errors());
    EXPECT_FALSE(diagnostics.render(options.into.context().sources()).empty());
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(took, 20.0) << text.substr(0, 40);
    if (took > 0.5) std::printf("%.40s: %.2f s\n", text.c_str(), took);
  }
}

}  // namespace
}  // namespace relay::text
