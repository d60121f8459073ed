// Each form of the language: a text, and how it is printed. Every text is also checked to be a
// fixed point: what was printed reads back as the same program and prints alike.
#include <gtest/gtest.h>

#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

struct Row {
  std::string_view input, printed;
};

// What a module or an expression prints as; the rendered diagnostics if it has errors.
std::string module_text(std::string_view input, PrintOptions print_options = {}) {
  const Operators operators = test_operators();
  ParseOptions options;
  Diagnostics diagnostics;
  Result<Module> m = parse("input", std::string(input), diagnostics, operators, options);
  if (!m) return diagnostics.render(options.into.context().sources());
  EXPECT_TRUE(well_formed(*m).empty()) << input << "\n" << well_formed(*m).front();
  print_options.operators = &operators;
  print_options.header = false;
  const std::string first = print(*m, print_options);
  ParseOptions again_options;
  Result<Module> again = parse("printed", first, diagnostics, operators, again_options);
  if (!again) {
    ADD_FAILURE() << "printed text does not parse:\n"
                  << first << diagnostics.render(again_options.into.context().sources());
    return first;
  }
  EXPECT_TRUE(alpha_equal(*m, *again)) << "not the same program:\n" << input << "\n" << first;
  EXPECT_EQ(print(*again, print_options), first) << "printing is no fixed point";
  return first;
}

std::string expr_text(std::string_view input, PrintOptions print_options = {}) {
  const Operators operators = test_operators();
  ParseOptions options;
  Diagnostics diagnostics;
  Result<Expr> e = parse_expr("input", std::string(input), diagnostics, operators, options);
  if (!e) return diagnostics.render(options.into.context().sources());
  print_options.operators = &operators;
  const std::string first = print(*e, print_options);
  ParseOptions again_options;
  Result<Expr> again = parse_expr("printed", first, diagnostics, operators, again_options);
  if (!again) {
    ADD_FAILURE() << "printed text does not parse:\n"
                  << first << "\n"
                  << diagnostics.render(again_options.into.context().sources());
    return first;
  }
  EXPECT_TRUE(alpha_equal(*e, *again)) << "not the same expression:\n" << input << "\n" << first;
  EXPECT_EQ(print(*again, print_options), first) << "printing is no fixed point";
  return first;
}

TEST(RoundTrip, Literals) {
  const Row kRows[] = {
      {"1", "1"},
      {"-1", "-1"},
      {"--10", "10"},
      {"---10", "-10"},
      {"2147483647", "2147483647"},
      {"2147483648", "2147483648i64"},
      {"-2147483648", "-2147483648"},
      {"1i", "1"},
      {"1i8", "1i8"},
      {"-128i8", "-128i8"},
      {"7i4", "7i4"},
      {"1i16", "1i16"},
      {"1i64", "1i64"},
      {"255u8", "255u8"},
      {"18446744073709551615u64", "18446744073709551615u64"},
      {"1f", "1f"},
      {"3f64", "3f64"},
      {"1.5f16", "1.5f16"},
      {"1e-1f", "0.1f"},
      {"1.f", "1f"},
      {"-0f", "-0f"},
      {"0.1f64", "0.1f64"},
      {"1e20f", "1e20f"},
      {"3.4028235e38f", "3.4028235e38f"},
      {"1e-45f", "1e-45f"},
      {"1e-400f64", "0f64"},
      {"1.5bf16", "1.5bf16"},
      {"448f8e4m3", "448f8e4m3"},
      {"inff", "inff"},
      {"-inff", "-inff"},
      {"--inff", "inff"},
      {"inff64", "inff64"},
      {"nanf16", "nanf16"},
      {"-nanf", "-nanf"},
      {"True", "True"},
      {"False", "False"},
      {"tensor(0x7fc00001, float32)", "tensor(0x7fc00001, float32)"},
      {"tensor(1, float32)", "1f"},
      {"tensor([1, 2, -3], int64)", "tensor([1, 2, -3], int64)"},
      {"tensor([[1, 2.5], [3f, -inf]], float32)", "tensor([[1, 2.5], [3, -inf]], float32)"},
      {"tensor([[[1], [2]], [[3], [4]]], int8)", "tensor([[[1], [2]], [[3], [4]]], int8)"},
      {"tensor([1, 2, 3, 4], int8, (2, 2))", "tensor([[1, 2], [3, 4]], int8)"},
      {"tensor([True, False, 1,], bool)", "tensor([True, False, True], bool)"},
      {"tensor([], float32)", "tensor([], float32)"},
      {"tensor([[], []], float32)", "tensor([[], []], float32)"},
      {"tensor([], float32, (0, 3))", "tensor([], float32, (0, 3))"},
      {"tensor([nan, 0x3c00], float16)", "tensor([nan, 1], float16)"},
      {"const(\"w\", tensor([1, 2], int8))", "const(\"w\", tensor([1, 2], int8))"},
      {"const(\"w\", -1f)", "const(\"w\", -1f)"},
  };
  for (const Row& row : kRows) EXPECT_EQ(expr_text(row.input), row.printed) << row.input;
}

TEST(RoundTrip, Expressions) {
  const Row kRows[] = {
      {"()", "()"},
      {"(1)", "1"},
      {"(1,)", "(1,)"},
      {"(1, 2,)", "(1, 2)"},
      {"(1, (2, 3))", "(1, (2, 3))"},
      {"(1, 2).1", "(1, 2).1"},
      {"((1, 2), 3).0.1", "%0 = ((1, 2), 3);\n%0.0.1"},
      {"(1).0", "(1).0"},
      {"add", "add"},
      {"op add", "add"},
      {"nn.relu(1f)", "nn.relu(1f)"},
      {"`strange op`(1f)", "`strange op`(1f)"},
      {"`const`(1f)", "`const`(1f)"},
      {"@f(1)", "@f(1)"},
      {"@`f g`(1)", "@`f g`(1)"},
      {"1 + 2 * 3", "add(1, multiply(2, 3))"},
      {"1 * 2 + 3", "add(multiply(1, 2), 3)"},
      {"8 - 4 - 2", "subtract(subtract(8, 4), 2)"},
      {"1+1", "add(1, 1)"},
      {"1 -1", "subtract(1, 1)"},
      {"1 - -1", "subtract(1, -1)"},
      {"(1 + 2) * 3", "multiply(add(1, 2), 3)"},
      {"1 < 2 == False", "equal(less(1, 2), False)"},
      {"1 <= 2", "less_equal(1, 2)"},
      {"1 >= 2", "greater_equal(1, 2)"},
      {"1 > 2", "greater(1, 2)"},
      {"1 != 2 / 3", "not_equal(1, divide(2, 3))"},
      {"{ 1 }", "1"},
      {"{ { 1 } } + 2", "add(1, 2)"},
      {"let %x = 1; %x", "let %x = 1;\n%x"},
      {"let %x: int32 = 1; let %x = add(%x, 1); %x", "let %x: int32 = 1;\nlet %x_1 = add(%x, 1);\n%x_1"},
      {"let _ = ref(1); 2", "ref(1);\n2"},
      {"let %_ = ref(1); 2", "ref(1);\n2"},
      {"let %_ = ref(1); %_", "let %_ = ref(1);\n%_"},
      {"1; 2; 3", "1;\n2;\n3"},
      {"let %x = match ((1, 2)) { (%a, _) => %a }; %x",
       "let %x = match ((1, 2)) {\n  (%a, _) => %a,\n};\n%x"},
      {"%0 = 1 + 2; %0 * %0", "%0 = add(1, 2);\nmultiply(%0, %0)"},
      {"%7 = 1 + 2; %7", "add(1, 2)"},
      {"%0 = 1; %0 + %0", "add(1, 1)"},
      {"(let %x = 1; %x) + 2", "%0 = (\n  let %x = 1;\n  %x\n);\nadd(%0, 2)"},
      {"if (True) { 1 } else { 2 }", "if (True) { 1 } else { 2 }"},
      {"if (True) { 1 } else if (False) { 2 } else { 3 }",
       "if (True) {\n  1\n} else if (False) { 2 } else { 3 }"},
      {"if (True) { let %x = 1; %x } else { 2 }", "if (True) {\n  let %x = 1;\n  %x\n} else {\n  2\n}"},
      {"fn (%x) { %x }", "fn (%x) { %x }"},
      {"fn[A](%x: A, Primitive=1) -> A { %x }", "fn [A](%x: A, Primitive=1) -> A { %x }"},
      {"fn (%x: int32, %y,) { add(%x, %y) }", "fn (%x: int32, %y) { add(%x, %y) }"},
      {"fn (%x {virtual_device=\"cpu\"}: int32) { %x }", "fn (%x: int32) { %x }"},
      {"fn (%x, %x) { %x }", "fn (%x, %x_1) { %x }"},
      {"fn (%x) { fn (%y) { %x } }", "fn (%x) {\n  fn (%y) { %x }\n}"},
      {"let %f = fn (%x) { %f(%x) }; %f(1)(2)", "let %f = fn (%x) { %f(%x) };\n%f(1)(2)"},
      {"ref(1)", "ref(1)"},
      {"ref_read(ref(1))", "ref_read(ref(1))"},
      {"ref_write(ref(1), 2)", "ref_write(ref(1), 2)"},
      {"free_var %x: int32; %x + %x", "free_var %x: int32;\nadd(%x, %x)"},
      {"free_var %x; fn (%x) { %x }(%x)", "free_var %x;\n%0 = fn (%x_1) { %x_1 };\n%0(%x)"},
      {"free_var %x/y; %x/y / %x/y", "free_var %x/y;\ndivide(%x/y, %x/y)"},
      {"free_var %`a b`; %`a b`", "free_var %`a b`;\n%`a b`"},
      {"nn.conv2d(1f, 2f, padding=[1, 1], groups=1)", "nn.conv2d(1f, 2f, groups=1, padding=[1, 1])"},
      {"zeros(shape=[], dtype=\"float32\")", "zeros(dtype=\"float32\", shape=[])"},
      {"add(1, 2,)", "add(1, 2)"},
      {"/* a /* nested */ comment */ 1 // and another", "1"},
      {"match? (1) { _ => 2 }", "match? (1) {\n  _ => 2,\n}"},
      {"match 1 { %x: int32 => %x, }", "match (1) {\n  %x: int32 => %x,\n}"},
      {"match (1) { }", "match (1) {}"},
      {"match ((1, (2, 3))) { (_, (%a, %b)) => { let %c = %a; %c } }",
       "%0 = (1, (2, 3));\nmatch (%0) {\n  (_, (%a, %b)) => {\n    let %c = %a;\n    %c\n  },\n}"},
      {"add(add(add(1, 2), 3), 4)", "%0 = add(add(1, 2), 3);\nadd(%0, 4)"},
      // A binding that is used in two branches is evaluated before both.
      {"if (True) { %0 = 1 + 2; %0 * %0 } else { %0 }",
       "%0 = add(1, 2);\nif (True) { multiply(%0, %0) } else { %0 }"},
      {"if (True) { %0 = 1 + 2; %0 * %0 } else { 4 }",
       "if (True) {\n  %0 = add(1, 2);\n  multiply(%0, %0)\n} else {\n  4\n}"},
  };
  for (const Row& row : kRows) EXPECT_EQ(expr_text(row.input), row.printed) << row.input;
}

TEST(RoundTrip, Types) {
  const std::string_view kTypes[] = {"int32",
                                     "bool",
                                     "float16",
                                     "bfloat16",
                                     "uint8",
                                     "int4",
                                     "float8_e4m3",
                                     "Tensor[(1, 2), float32]",
                                     "Tensor[(5), float32]",
                                     "Tensor[(?, 3), bool]",
                                     "Tensor[(n, 2*n + 1, min(8, n), ?), float32]",
                                     "Tensor[(n // 2, n % 8), int8]",
                                     "Tensor[((2*n + 1) // (3*m), m - n), int8]",
                                     "Tensor[(`batch size`, `Tensor`), int8]",
                                     "()",
                                     "(int32,)",
                                     "(int32, (bool, int8))",
                                     "fn() -> ()",
                                     "fn(int32, bool) -> fn(int8) -> bool",
                                     "fn[A, B](A, B) -> (A, B)",
                                     "ref(int32)",
                                     "ref(ref(fn(int32) -> int32))",
                                     "_",
                                     "fn(_) -> _"};
  for (std::string_view t : kTypes) {
    Diagnostics diagnostics;
    ParseOptions options;
    const Result<Type> parsed = parse_type("type", std::string(t), diagnostics, options);
    ASSERT_TRUE(parsed) << diagnostics.render(options.into.context().sources());
    EXPECT_EQ(print(*parsed), t);
    EXPECT_EQ(show(*parsed).find('`'), std::string::npos);
  }
  const Row kRows[] = {
      {"Tensor[(), float32]", "float32"},
      {"Tensor[(1,), float]", "Tensor[(1), float32]"},
      {"uint1", "bool"},
      {"int", "int32"},
      {"fn [A] (A) -> A", "fn[A](A) -> A"},
      {"Tensor[(n+n, 2 * 3, n-n), int8]", "Tensor[(2*n, 6, 0), int8]"},
      {"Tensor[(ceil_div(n, 4), floor_div(n, 4), n%4), int8]", "Tensor[((n + 3) // 4, n // 4, n % 4), int8]"},
      {"Tensor[(n // 2, // not a comment\n 3), int8]", "6:expected-dim"},
  };
  for (const Row& row : kRows) {
    Diagnostics diagnostics;
    ParseOptions options;
    const Result<Type> parsed = parse_type("type", std::string(row.input), diagnostics, options);
    if (!parsed) {
      EXPECT_EQ(row.printed, "6:expected-dim");
      continue;
    }
    EXPECT_EQ(print(*parsed), row.printed);
  }
}

TEST(RoundTrip, Attributes) {
  const Row kRows[] = {
      {"1", "1"},
      {"-1", "-1"},
      {"1f", "1f"},
      {"1e-5f", "1e-05f"},
      {"1.5", "1.5f"},
      {"inff", "inff"},
      {"-nanf", "-nanf"},
      {"True", "True"},
      {"None", "None"},
      {"nullptr", "None"},
      {"\"NCHW\"", "\"NCHW\""},
      {"\"a \\\" b\\n\"", "\"a \\\" b\\n\""},
      {"\"\\x01\\q\"", "\"\\x01\\\\q\""},
      {"[]", "[]"},
      {"[1, 2,]", "[1, 2]"},
      {"(1, 2)", "[1, 2]"},
      {"(1,)", "[1]"},
      {"(1)", "1"},
      {"[[1, \"x\"], [None]]", "[[1, \"x\"], [None]]"},
      {"n", "n"},
      {"-n", "-n"},
      {"?", "?"},
      {"[n, 2*n + 1, -1]", "[n, 2*n + 1, -1]"},
      {"n // 2", "floor_div(n, 2)"},
      {"n%2", "n % 2"},
      {"(n + 1) * 2", "2*n + 2"},
      {"floor_div(16, n)", "floor_div(16, n)"},
      {"2 // a comment\n", "2"},
      {"max(n, 4)", "max(4, n)"},
      {"-9223372036854775808", "-9223372036854775808"},
  };
  for (const Row& row : kRows) {
    const std::string input = std::string("zeros(a=").append(row.input).append(")");
    EXPECT_EQ(expr_text(input), std::string("zeros(a=").append(row.printed).append(")")) << input;
  }
  EXPECT_EQ(expr_text("zeros(relay.attrs.x=1, let=2, `a b`=3)"), "zeros(`a b`=3, `let`=2, relay.attrs.x=1)");
}

TEST(RoundTrip, Modules) {
  const Row kRows[] = {
      {"def @main() { 1 }", "def @main() {\n  1\n}\n"},
      {"#[version = \"0.0.5\"] def @f[A](%x: A, attr=\"v\") -> A { %x }",
       "def @f[A](%x: A, attr=\"v\") -> A {\n  %x\n}\n"},
      {"def @a() { @b() } def @b() { 1 }", "def @a() {\n  @b()\n}\n\ndef @b() {\n  1\n}\n"},
      {"def @f(%x: Tensor[(n, 2), float32]) { reshape(%x, newshape=[2*n]) }",
       "def @f(%x: Tensor[(n, 2), float32]) {\n  reshape(%x, newshape=[2*n])\n}\n"},
      {"type List[A] { Cons(A, List[A]), Nil }\n"
       "def @length[A](%l: List[A]) -> int32 { match (%l) { Nil => 0, Cons(_, %t) => 1 + @length(%t), } }",
       "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\n\n"
       "def @length[A](%l: List[A]) -> int32 {\n  match (%l) {\n    Nil => 0,\n    Cons(_, %t) => add(1, "
       "@length(%t)),\n  }\n}\n"},
      {"def @f(%x: ((int8,), int8)) { %x . 0 .0 }", "def @f(%x: ((int8,), int8)) {\n  %x.0.0\n}\n"},
      {"def @f(%x: int8) { add(%x; 1i8, 2i8) }",
       "def @f(%x: int8) {\n  %0 = (\n    %x;\n    1i8\n  );\n  add(%0, 2i8)\n}\n"},
      {"def @f(%x: (_, int8)) -> ref(_) { %x }", "def @f(%x: (_, int8)) -> ref(_) {\n  %x\n}\n"},
      {"type List { Nil } def @f() { Nil()() } def @g() { %0 = Nil; (%0, %0()) }",
       "type List {\n  Nil,\n}\n\ndef @f() {\n  Nil()()\n}\n\ndef @g() {\n  %0 = Nil;\n  (%0, %0())\n}\n"},
      {"def @f() { Cons(1, Nil) } type List[A] { Nil, Cons(A, List[A]) }",
       "type List[A] {\n  Nil,\n  Cons(A, List[A]),\n}\n\ndef @f() {\n  Cons(1, Nil)\n}\n"},
      {"type T { A, B(int32) } def @f() { (A, A(), ctor A, B, B(1)) }",
       "type T {\n  A,\n  B(int32),\n}\n\ndef @f() {\n  (A, A, ctor A, B, B(1))\n}\n"},
      {"extern type Handle[A] def @f(%h: Handle[int8]) { %h }",
       "extern type Handle[A]\n\ndef @f(%h: Handle[int8]) {\n  %h\n}\n"},
      {"type Empty {} def @f[Empty](%x: Empty, %y: Empty[]) { %x }",
       "type Empty {\n}\n\ndef @f[Empty](%x: Empty, %y: Empty[]) {\n  %x\n}\n"},
      {"type `My Type` { `A B`, `add` } def @f(%x: `My Type`) { (`A B`, `add`, op add) }",
       "type `My Type` {\n  `A B`,\n  add,\n}\n\ndef @f(%x: `My Type`) {\n  (`A B`, add, op add)\n}\n"},
      {"def @f(%x) { %0 = add(%x, 1); %1 = add(%0, 1); multiply(%1, %1) } def @g(%x) { %0 = %x + 1; %0 * %0 "
       "}",
       "def @f(%x) {\n  %0 = add(add(%x, 1), 1);\n  multiply(%0, %0)\n}\n\n"
       "def @g(%x) {\n  %1 = add(%x, 1);\n  multiply(%1, %1)\n}\n"},
      {"", ""},
      {"// nothing but a comment", ""},
  };
  for (const Row& row : kRows) EXPECT_EQ(module_text(row.input), row.printed) << row.input;
}

TEST(RoundTrip, NeedsNoSuffixForShadowedOperators) {
  EXPECT_EQ(module_text("type T { negative } def @f() { (negative, op negative(1)) }"),
            "type T {\n  negative,\n}\n\ndef @f() {\n  (negative, op negative(1))\n}\n");
}

TEST(Printer, BindsWhatIsTooLargeToStandInside) {
  PrintOptions options;
  options.most_inline = 0;
  EXPECT_EQ(expr_text("add(add(1, 2), 3)", options), "%0 = add(1, 2);\nadd(%0, 3)");
  options.most_inline = 100;
  EXPECT_EQ(expr_text("add(add(add(1, 2), 3), 4)", options), "add(add(add(1, 2), 3), 4)");
}

TEST(Printer, PutsLargeConstantsAside) {
  const Operators operators = test_operators();
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Expr> e = parse_expr("input",
                                    "(tensor([1, 2, 3], int8), tensor([4, 5, 6], int8), const(\"w\", 1), "
                                    "const(\"w\", 2), tensor([1, 2], int8))",
                                    diagnostics, operators, options);
  ASSERT_TRUE(e) << diagnostics.render(options.into.context().sources());
  std::map<std::string, Tensor> aside;
  PrintOptions print_options;
  print_options.operators = &operators;
  print_options.constants = &aside;
  print_options.most_elements = 2;
  const std::string text = print(*e, print_options);
  EXPECT_EQ(text, "(const(\"c0\"), const(\"c1\"), const(\"w\"), const(\"w_1\"), tensor([1, 2], int8))");
  EXPECT_EQ(aside.size(), 4u);
  ParseOptions back;
  back.constants = [&](std::string_view name) -> std::optional<Tensor> {
    const auto it = aside.find(std::string(name));
    return it == aside.end() ? std::nullopt : std::optional(it->second);
  };
  const Result<Expr> again = parse_expr("printed", text, diagnostics, operators, back);
  ASSERT_TRUE(again) << diagnostics.render(back.into.context().sources());
  EXPECT_TRUE(alpha_equal(*e, *again));
  std::map<std::string, Tensor> aside_again;
  print_options.constants = &aside_again;
  EXPECT_EQ(print(*again, print_options), text);
  EXPECT_EQ(aside_again.size(), aside.size());
}

}  // namespace
}  // namespace relay::text
