// Texts of patterns: what is written is read back, and what cannot be read is
// reported with a caret.
#include "pattern/text.h"

#include "op/ops.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

const std::string kDefinitions = "type Box { Full(float32), Empty }  def @f(%a: float32) { %a }";

// These are written as they are read.
const char* const kTexts[] = {
    "_",
    "%x",
    "var",
    "var(\"x\")",
    "const",
    "2f",
    "-2",
    "True",
    "@f",
    "nn.relu",
    "nn.conv2d(%x, const as %w, groups=1, strides=[1, 1])",
    "nn.conv2d(..., groups=1)",
    "add(...)",
    "zeros(shape=[1])",
    "nn.relu(_)[]",
    "_[fusion=\"elementwise\"](_)",
    "_[a.b=None, axis=-1, scale=0.5f]",
    "(nn.relu | tanh)(_)",
    "nn.relu(_) | tanh(_) | exp(_)",
    "nn.relu(_) | (tanh(_) | exp(_))",
    "(nn.relu(_) | tanh(_)) as %a",
    "fn (%a, _, Composite=\"x\") { add(%a, _) }",
    "fn (...) { _ }(_)",
    "fn () { _ }",
    "if (_) { const } else { _ | var }",
    "let %v = const; let _ = _; add(%v, %v)",
    "(let _ = _; const) | var",
    "()",
    "(_,)",
    "(_, const)",
    "(...)",
    "_.0",
    "_._",
    "split(...)._.3",
    "(2).0",
    "(-2f)._",
    "_ : float32",
    "_ : Tensor[(1, n, 2*n + 1), float32]",
    "_ : Tensor[(_, n, ?), _]",
    "_ : Tensor[(), _]",
    "_ : Tensor[_, float32]",
    "_ : Tensor[(_), _] : Tensor[_, int8]",
    "(_ : float32)(_ : (_, bool) as %x)",
    "nn.relu(_ once) once",
    "(nn.relu(_) | tanh(_)) once as %x",
    "_ : float32 once",
    "dominates(nn.conv2d(_, _), _[fusion=\"elementwise\"](_), add(_, _))",
    "%0 = _;\nadd(%0, tanh(%0))",
    "%0 = nn.relu(_) as %r;\n%1 = tanh(%0);\nadd(%0, multiply(%1, %1))",
};

TEST(PatternText, IsReadBack) {
  for (const char* text : kTexts) {
    Texts t(kDefinitions);
    EXPECT_EQ(print(t.pattern(text)), text);
  }
}

TEST(PatternText, OtherSpellings) {
  const std::pair<const char*, const char*> spellings[] = {
      {"%7 = nn.relu(_); // once\n tanh(%7)", "tanh(nn.relu(_))"},
      {"_ : Tensor[(_, 1), float32]", "_ : Tensor[(_, 1), _] : Tensor[_, float32]"},
      {"add(_, _,)", "add(_, _)"},
      {"((_))", "_"},
      {"_ as %x", "%x"},
      {"sum(_)[axis=1]", "sum(_, axis=1)"},
      {"op add", "add"},
      {"Full(_)", "expr { Full }(_)"},
  };
  for (const auto& [text, want] : spellings) {
    Texts t(kDefinitions);
    EXPECT_EQ(print(t.pattern(text)), want);
  }
}

// The text of an exact expression is the language's own business; that it is read back is ours.
TEST(PatternText, ExactExpressions) {
  for (const char* text : {"expr { free_var %x: float32; nn.relu(%x) + 1f }", "expr { tensor([1, 2], int8) }",
                           "expr { fn (%a) { %0 = tanh(%a); %0 + %0 } }", "Full", "Empty", "expr { inff }"}) {
    Texts t(kDefinitions);
    const std::string printed = print(t.pattern(text));
    EXPECT_EQ(print(t.pattern(printed)), printed) << text;
  }
}

TEST(PatternText, DeepPatternsAreReadBack) {
  Pattern p = wildcard();
  for (int i = 0; i < 5'000; ++i) p = call(op(op::kTanh), p) | constant();
  const std::string text = print(p);
  Texts t;
  EXPECT_EQ(print(t.pattern(text)), text);
}

TEST(PatternText, SharedPartsAreWrittenOnce) {
  Pattern p = call(op(op::kTanh), wildcard());
  for (int i = 0; i < 100; ++i) p = call(op(op::kAdd), p, p);
  const std::string text = print(p);
  EXPECT_LT(text.size(), 5'000u);
  Texts t;
  EXPECT_EQ(print(t.pattern(text)), text);
}

struct Mistake {
  const char *text, *slug, *message;
};

TEST(PatternText, Mistakes) {
  const Mistake mistakes[] = {
      {"", "expected-pattern", "expected a pattern, found the end of the text"},
      {"add(_, _", "expected-pattern", "expected `)` or `,` after a pattern"},
      {"add(_ _)", "expected-pattern", "expected `)` or `,`"},
      {"add(..., _)", "expected-pattern", "expected `)` or an attribute after `...`"},
      {"_ _", "expected-pattern", "expected the end of the pattern"},
      {"_ | ", "expected-pattern", "expected a pattern"},
      {"match", "expected-pattern", "expected a pattern"},
      {"_.x", "expected-pattern", "expected the number of a field, or `_`"},
      {"_.99999999999", "literal-out-of-range", "no tuple has that many fields"},
      {"_ as x", "expected-pattern", "expected a name after `as`"},
      {"%x as %y", "named-twice", "this part has a name"},
      {"%0 = _; %0 as %y", "named-twice", "this part has a name or a number"},
      {"%0 = _; %0 = _; %0", "redefined-part", "`%0` is defined already"},
      {"%0", "unknown-part", "`%0` is not defined before this"},
      {"@g", "unknown-global", "there is no function or kernel `@g`"},
      {"nn.rely(_)", "unknown-operator", "there is no operator or constructor `nn.rely`"},
      {"dominates(_, _)", "wrong-arguments", "here are 2 patterns"},
      {"if (_) { _ }", "expected-pattern", "expected `else`"},
      {"_ : Tensor[_, _]", "expected-pattern", "cannot be `_` in both"},
      {"_ : Tensor[(_), float33]", "expected-pattern", "expected a dtype"},
      {"_ : Tensor[(_; 1), _]", "expected-pattern", "expected `)` or `,` after a dim"},
      {"_ : NoSuchType", "unknown-type", "there is no type `NoSuchType`"},
      {"_[axis]", "expected-pattern", "expected an attribute"},
      {"nn.softmax(_, axis=0, axis=1)", "duplicate-attribute", "attribute `axis` is given twice"},
      {"_[a.b=0, a.c=1, a.b=0]", "duplicate-attribute", "attribute `a.b` is given twice"},
      {"_[a.=1]", "expected-pattern", "expected an attribute"},
      {"nn.softmax(_, a.=1 2)", "unknown-operator", "`a`"},
      {"_[axis=]", "expected-attribute-value", "expected the value of an attribute"},
      {"expr { %x }", "unknown-variable", "there is no variable `%x` here"},
      {"expr { 1f", "expected-pattern", "expected `}` after an expression"},
      {"- _", "unary-minus", "expected a number after `-`"},
      {"_ $", "unexpected-character", "means nothing here"},
  };
  for (const Mistake& m : mistakes) {
    Diagnostics diagnostics;
    const ParseOptions options;
    EXPECT_FALSE(parse("pattern", m.text, diagnostics, options)) << m.text;
    ASSERT_EQ(diagnostics.errors(), 1u) << m.text << "\n"
                                        << diagnostics.render(options.into.context().sources());
    EXPECT_EQ(diagnostics.all()[0].slug().name(), m.slug) << m.text;
    EXPECT_NE(diagnostics.all()[0].message().find(m.message), std::string::npos)
        << m.text << ": " << diagnostics.all()[0].message();
    EXPECT_TRUE(diagnostics.all()[0].span().known()) << m.text;
  }
}

TEST(PatternText, LengthIsLimited) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.max_bytes = 3;
  EXPECT_TRUE(parse("pattern", "var", diagnostics, options));
  EXPECT_FALSE(parse("pattern", "tanh", diagnostics, options));
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "input-too-large");
}

TEST(PatternText, NestingIsLimited) {
  for (const char* bracket : {"(", "nn.relu(", "if (", "fn () { ", "let _ = ", "let ", "dominates("}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += bracket;
    Diagnostics diagnostics;
    EXPECT_FALSE(parse("pattern", text, diagnostics));
    ASSERT_EQ(diagnostics.errors(), 1u) << bracket;
    EXPECT_EQ(diagnostics.all()[0].slug().name(), "nesting-too-deep") << bracket;
  }
}

// Parts are nested without brackets.
TEST(PatternText, NestingOfPathsIsLimited) {
  const auto nested = [](int n) {
    std::string text = "%0 = _; ";
    for (int i = 1; i <= n; ++i) text += cat("%", i, " = dominates(_, %", i - 1, ", _); ");
    return cat(text, "%", n);
  };
  Texts t;
  EXPECT_EQ(t.pattern(nested(64))->nested_paths, 64u);
  Diagnostics diagnostics;
  EXPECT_FALSE(parse("pattern", nested(40'000), diagnostics));
  ASSERT_EQ(diagnostics.errors(), 1u);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "nesting-too-deep");
}

// Every prefix of every text, and every text without one of its bytes, is a pattern
// or a diagnostic.
TEST(PatternText, AnyTextIsAnswered) {
  for (const char* text : kTexts) {
    const std::string whole = text;
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const std::string& broken : {whole.substr(0, i), whole.substr(0, i) + whole.substr(i + 1)}) {
        Diagnostics diagnostics;
        const Result<Pattern> p = parse("pattern", broken, diagnostics);
        EXPECT_EQ(p.ok(), !diagnostics.has_errors()) << broken;
      }
    }
  }
}

}  // namespace
}  // namespace relay::pattern
