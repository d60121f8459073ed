// Texts that were damaged at random: each is a module or has diagnostics, and what is a module
// prints and reads back.
#include <gtest/gtest.h>

#include <random>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

constexpr std::string_view kTexts[] = {
    R"(#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
extern type Handle
def @map[A, B](%f: fn(A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => Nil, }
}
)",
    R"(def @main(%x: Tensor[(n, 2*n + 1, min(n // 2, 8), ?), float32], Primitive=1) -> Tensor[(n % 4), int8] {
  %0 = nn.conv2d(%x, tensor([[1, 2.5], [-inf, 0x7fc00001]], float32), padding=[1, (n + 1) * 2], dtype="float\"32");
  let %r: ref(Tensor[(3), int8]) = ref(%0);
  ref_write(%r, ref_read(%r) + %0 * 1.5f);
  if (1 < 2) { %0.0.1 } else if (True) { (%0,) } else { () }
}
)",
    R"(/* a /* nested */ comment */ def @f(%`odd name` {virtual_device=meta[VirtualDevice][0]}: int32) { // to the end
  let %g = fn[T](%y: T) -> (T, fn() -> T) { (%y, fn () { %g(%y).0 }) };
  match? (%g(1i64)) { (_, %z: _) => { let %w = match %z() { _ => { 1; 2 } }; %w }, _ => ctor Leaf }
}
type Tree { Leaf, Node(Tree, Tree) }
def @g() { (const("w", -1f), op add(1, --2), @f, {1u8 - 2u8 / 3u8 >= 4u8}) }
)",
    R"(#[version = "0.0.5"] def @main() { add(meta[relay.Constant][0], 1f) }
#[metadata]
{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
{"type_key": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"data": "0"}}],
"b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="]}
)"};

std::string damaged(std::mt19937& random) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  static constexpr std::string_view kPieces[] = {
      "(",      ")",        "{",           "}",       "[",
      "]",      ",",        ";",           "=",       "let %x = ",
      "%0 = ",  "%0",       "%x",          "@f",      "fn (",
      "if (",   "else",     "match (",     "=>",      "->",
      "def @f", "type T",   "extern ",     "-",       "//",
      "/*",     "*/",       "\"",          "`",       "1",
      "1.5f",   "0x",       "meta[",       "tensor(", "const(\"w\")",
      "?",      "%",        "#[metadata]", "\xff",    ":",
      ".",      ".0",       " ",           "\n",      "free_var %x;",
      "n",      "kernel @k"};
  std::string text(kTexts[below(std::size(kTexts))]);
  for (size_t edits = 1 + below(3) * below(2); edits > 0; --edits) {
    const size_t at = below(text.size());
    const size_t length = std::min(text.size() - at, 1 + below(6));
    switch (below(7)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 2: text.replace(at, length, kPieces[below(std::size(kPieces))]); break;
      case 3: text[at] = static_cast<char>(below(256)); break;
      case 4: text[at] = text[below(text.size())]; break;
      case 5: text.insert(at, 1, "0123456789 abxn_,"[below(17)]); break;
      default: text.insert(below(text.size()), text.substr(at, length)); break;
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(Mutation, TextsAreSound) {
  for (std::string_view text : kTexts) {
    Diagnostics diagnostics;
    ParseOptions options;
    EXPECT_TRUE(parse("input", std::string(text), diagnostics, test_operators(), options))
        << diagnostics.render(options.into.context().sources());
  }
}

TEST(Mutation, DamagedTextsAreReadOrRefused) {
  const Operators operators = test_operators();
  std::mt19937 random(20260101);
  size_t accepted = 0;
  for (size_t i = 0; i < 10000; ++i) {
    const std::string text = damaged(random);
    Diagnostics diagnostics;
    ParseOptions options, again_options;
    const Result<Module> m = parse("input", text, diagnostics, operators, options);
    ASSERT_EQ(static_cast<bool>(m), !diagnostics.has_errors()) << text;
    if (!m) {
      ASSERT_FALSE(diagnostics.render(options.into.context().sources()).empty());
      continue;
    }
    ++accepted;
    ASSERT_TRUE(well_formed(*m).empty()) << text << "\n" << well_formed(*m).front();
    PrintOptions print_options;
    print_options.operators = &operators;
    const std::string printed = print(*m, print_options);
    const Result<Module> again = parse("printed", printed, diagnostics, operators, again_options);
    ASSERT_TRUE(again) << text << "\n"
                       << printed << "\n"
                       << diagnostics.render(again_options.into.context().sources());
    ASSERT_TRUE(alpha_equal(*m, *again)) << text << "\n" << printed;
    ASSERT_EQ(print(*again, print_options), printed) << text;
  }
  // The damage must not always be fatal, or nothing was tested.
  EXPECT_GT(accepted, 500u);
  EXPECT_LT(accepted, 9000u);
}

}  // namespace
}  // namespace relay::text
