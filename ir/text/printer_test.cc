// Options of the printer, and programs that no parser makes.
#include "ir/text/printer.h"

#include <gtest/gtest.h>

#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

TEST(Printer, ShowsTypes) {
  Context context;
  Builder b(context);
  const Type t = context.tensor_type(Shape{2}, kFloat32);
  const Var* x = b.var("x", t);
  const Var* y = b.var("y");
  const Operators operators = test_operators();
  const op::OpDef& add = *operators.find("add");
  const Expr sum = b.call(b.op(add), {x, x}, {}, t);
  const Expr e = b.let(y, sum, b.call(b.op(add), {y, sum}, {}, t));
  PrintOptions options;
  options.operators = &operators;
  options.types = true;
  EXPECT_EQ(print(e, options),
            "free_var %x: Tensor[(2), float32];\n"
            "%0 = add(%x, %x);  // Tensor[(2), float32]\n"
            "let %y = %0;  // Tensor[(2), float32]\n"
            "add(%y, %0)");
}

TEST(Printer, SaysWhereNodesStand) {
  Context context;
  Builder b(context);
  const Operators operators = test_operators();
  const Var* x = b.var("x");
  const Expr inner = b.call(b.op(*operators.find("nn.relu")), {x});
  const Expr outer = b.call(b.op(*operators.find("add")), {inner, inner});
  const Expr e = b.fn(std::vector<const Var*>{x}, outer);
  NodeMap<Span> ranges;
  PrintOptions options;
  options.operators = &operators;
  options.ranges = &ranges;
  const std::string text = print(e, options);
  EXPECT_EQ(text, "fn (%x) {\n  %0 = nn.relu(%x);\n  add(%0, %0)\n}");
  const auto at = [&](Expr n) {
    const Span s = ranges.get(n);
    return text.substr(s.begin, s.end - s.begin);
  };
  EXPECT_EQ(at(x), "%x");
  EXPECT_EQ(at(inner), "nn.relu(%x)");
  EXPECT_EQ(at(outer), "add(%0, %0)");
  EXPECT_EQ(at(e), text);
}

TEST(Printer, ElidesConstants) {
  Context context;
  Builder b(context);
  PrintOptions options;
  options.elide = true;
  EXPECT_EQ(print(b.tuple({b.constant(Tensor(kFloat32, {17})), b.constant(Tensor(kInt8, {2}))}), options),
            "(const(\"c0\"), tensor([0, 0], int8))");
}

// One function that is bound by a let and used elsewhere, branches that are the same node,
// names that clash.
TEST(Printer, SharedParts) {
  Context context;
  Builder b(context);
  const Var *x = b.var("x"), *other = b.var("x"), *empty = b.var(""), *digit = b.var("0");
  const Expr one = b.scalar(kInt32, 1);
  const Expr fn = b.fn(std::vector<const Var*>{x}, x);
  const Expr pair = b.tuple({one, one});
  const Expr e = b.let(other, fn,
                       b.let(empty, b.if_(b.scalar(kBool, 1), pair, pair),
                             b.let(digit, fn, b.tuple({other, empty, digit, fn}))));
  const std::string text = print(e);
  EXPECT_EQ(text,
            "%0 = fn (%x) { %x };\n"
            "let %x_1 = %0;\n"
            "%1 = (1, 1);\n"
            "let %v = if (True) { %1 } else { %1 };\n"
            "let %`0` = %0;\n"
            "(%x_1, %v, %`0`, %0)");
  ParseOptions options;
  Diagnostics diagnostics;
  const Result<Expr> again = parse_expr("printed", text, diagnostics, test_operators(), options);
  ASSERT_TRUE(again) << diagnostics.render(options.into.context().sources());
  EXPECT_TRUE(alpha_equal(e, *again));
}

// A text writes each part out that types share: this one would have 2^64 tensors.
TEST(Printer, ATypeThatIsTooLongForATextIsALimit) {
  Context context;
  Type t = context.scalar_type(kFloat32);
  for (int i = 0; i < 64; ++i) {
    const std::vector<Type> fields{t, t};
    t = context.tuple_type(fields);
  }
  EXPECT_THROW(print(t), Exhausted);
}

}  // namespace
}  // namespace relay::text
