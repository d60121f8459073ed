// One kind of pattern after the other, each with what it matches and what it does not. The labels
// are those of docs/patterns.md.
#include "pattern/match.h"

#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/testing.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

class Kinds : public ::testing::Test {
 protected:
  void yes(const std::string& pattern, const std::string& program) {
    EXPECT_TRUE(t_.matches(pattern, program)) << pattern << " should match " << program;
  }
  void no(const std::string& pattern, const std::string& program) {
    EXPECT_FALSE(t_.matches(pattern, program)) << pattern << " should not match " << program;
  }

  Texts t_{"type Box { Full(float32), Empty }  def @f(%a: float32) { %a }  def @g(%a: float32) { %a }"};
};

TEST_F(Kinds, Wildcard) {
  for (const char* any : {"%x", "1f", "nn.relu(%x)", "(%x, %y)", "fn (%a) { %a }", "ref(%x)", "@f"})
    yes("_", any);
  no("nn.relu(_)", "tanh(%x)");
}

TEST_F(Kinds, ExprIsExact) {
  yes("2f", "2f");
  no("2f", "3f");
  no("2f", "2");
  yes("-2f", "-2f");
  yes("True", "True");
  no("True", "False");
  yes("expr { tensor([1, 2], float32) }", "tensor([1, 2], float32)");
  no("expr { tensor([1, 2], float32) }", "tensor([1, 3], float32)");
  yes("@f", "@f");
  no("@f", "@g");
  yes("nn.relu", "nn.relu");
  no("nn.relu", "tanh");
  no("nn.relu", "nn.relu(%x)");
  yes("Full", "Full");
  yes("Empty", "Empty");
  no("Empty", "Full(1f)");
  yes("expr { free_var %x; nn.relu(nn.relu(%x)) }", "nn.relu(nn.relu(%x))");
  no("expr { free_var %x; nn.relu(nn.relu(%x)) }", "nn.relu(nn.relu(%y))");
  yes("expr { fn (%a) { %a } }", "fn (%b) { %b }");
}

TEST_F(Kinds, Var) {
  yes("var", "%x");
  no("var", "1f");
  yes("var(\"x\")", "%x");
  no("var(\"x\")", "%y");
}

TEST_F(Kinds, Constant) {
  yes("const", "1f");
  yes("const", "tensor([1, 2], int8)");
  no("const", "%x");
  no("const", "negative(1f)");
}

TEST_F(Kinds, Call) {
  yes("nn.relu(_)", "nn.relu(%x)");
  no("nn.relu(_)", "tanh(%x)");
  no("nn.relu(const)", "nn.relu(%x)");
  yes("subtract(var, const)", "%x - 1f");
  no("subtract(const, var)", "%x - 1f");
  no("add(_)", "%x + %y");  // C1
  no("nn.relu(_, _)", "nn.relu(%x)");
  yes("add(...)", "%x + %y");
  yes("_(...)", "nn.relu(%x)");
  no("_(...)", "(%x, %y)");
  yes("@f(_)", "@f(1f)");
  no("@f(_)", "@g(1f)");
  yes("Full(const)", "Full(1f)");
  yes("(nn.relu | tanh)(_)", "tanh(%x)");
  yes("var(_)", "%x(%y)");
}

TEST_F(Kinds, CallOfACommutativeOperator) {  // C2
  yes("add(const, var)", "%x + 1f");
  yes("add(const, var)", "1f + %x");
  yes("multiply(add(const, _), tanh(_))", "tanh(%x) * (%y + 1f)");
  no("add(const, const)", "%x + 1f");
  no("add(tanh(_), tanh(_))", "tanh(%x) + %x");
  no("maximum(const, var)", "maximum(%x, 1f)");
  yes("_(const, var)", "%x + 1f");
  no("_(const, var)", "%x - 1f");
}

TEST_F(Kinds, Function) {
  yes("fn (_) { nn.relu(_) }", "fn (%a) { nn.relu(%a) }");
  no("fn (_) { nn.relu(_) }", "fn (%a) { tanh(%a) }");
  no("fn (_, _) { _ }", "fn (%a) { %a }");
  yes("fn (...) { _ }", "fn (%a, %b) { %a }");
  no("fn (...) { _ }", "nn.relu(%x)");
  yes("fn (%a, %b) { subtract(%a, %b) }", "fn (%p, %q) { %p - %q }");
  no("fn (%a, %b) { subtract(%a, %b) }", "fn (%p, %q) { %q - %p }");
  yes("fn (...) { _ }(_)", "fn (%a) { %a }(%x)");
}

TEST_F(Kinds, If) {
  yes("if (_) { tanh(_) } else { _ }", "if (%x) { tanh(%y) } else { %z }");
  no("if (_) { tanh(_) } else { _ }", "if (%x) { %z } else { tanh(%y) }");
  no("if (const) { _ } else { _ }", "if (%x) { %y } else { %z }");
  no("if (_) { _ } else { _ }", "%x");
}

TEST_F(Kinds, Let) {
  yes("let _ = tanh(_); _", "let %a = tanh(%x); %a + %a");
  no("let _ = tanh(_); _", "let %a = nn.relu(%x); %a");
  yes("let %v = _; add(%v, %v)", "let %a = %x; %a + %a");
  no("let %v = _; add(%v, %v)", "let %a = %x; %a + %x");
  yes("let var(\"a\") = _; _", "let %a = %x; %a");
  no("let var(\"b\") = _; _", "let %a = %x; %a");
  no("let _ = _; _", "%x");
}

TEST_F(Kinds, Tuple) {
  yes("(_, const)", "(%x, 1f)");
  no("(_, const)", "(1f, %x)");
  no("(_, _)", "(%x, %y, %z)");
  yes("(_,)", "(%x,)");
  no("(_,)", "()");
  yes("()", "()");
  yes("(...)", "(%x, %y, %z)");
  no("(...)", "%x");
}

TEST_F(Kinds, TupleGetItem) {
  yes("_.1", "%x.1");
  no("_.1", "%x.0");
  yes("_._", "%x.7");
  yes("split(...).0", "split(%x, indices_or_sections=2).0");
  no("split(...).0", "%x.0");
  no("_._", "(%x, %y)");
}

TEST_F(Kinds, Alt) {
  yes("nn.relu(_) | tanh(_)", "nn.relu(%x)");
  yes("nn.relu(_) | tanh(_)", "tanh(%x)");
  no("nn.relu(_) | tanh(_)", "exp(%x)");
  yes("1f | 2f | 3f", "3f");
  // The left one is taken if both match.
  const Match m = *match(t_.pattern("(nn.relu(_) as %a) | (nn.relu(...) as %b)"), t_.expr("nn.relu(%x)"));
  EXPECT_TRUE(m.at("a"));
  EXPECT_FALSE(m.at("b"));
}

TEST_F(Kinds, AttrOfACall) {
  const std::string conv = "nn.conv2d(%x, %y, strides=[2, 2], padding=[1, 1])";
  yes("nn.conv2d(_, _, strides=[2, 2])", conv);
  no("nn.conv2d(_, _, strides=[1, 1])", conv);
  yes("nn.conv2d(..., groups=1)", conv);  // A2: what is not written has its default
  no("nn.conv2d(..., groups=2)", conv);
  yes("nn.conv2d(..., data_layout=\"NCHW\")", conv);
  no("nn.conv2d(..., no_such=1)", conv);
  yes("_[strides=[2, 2], groups=1]", conv);
  no("_[strides=[2, 2], groups=2]", conv);
  no("_[groups=1]", "%x");
  yes("nn.softmax(_, axis=1)", "nn.softmax(%x, axis=1)");
  no("nn.softmax(_, axis=1)", "nn.softmax(%x)");
  yes("nn.softmax(_, axis=-1)", "nn.softmax(%x)");
}

TEST_F(Kinds, AttrIsComparedAsTheOperatorReadsIt) {  // A3
  yes("sum(_, keepdims=True)", "sum(%x, keepdims=1)");
  no("sum(_, keepdims=True)", "sum(%x, keepdims=0)");
  yes("sum(_, keepdims=False)", "sum(%x)");
  yes("sum(_, axis=[1])", "sum(%x, axis=1)");
  yes("nn.leaky_relu(_, alpha=1)", "nn.leaky_relu(%x, alpha=1f)");
  no("nn.leaky_relu(_, alpha=1)", "nn.leaky_relu(%x, alpha=2f)");
}

TEST_F(Kinds, AttrOfAFunctionOrAnOperator) {
  yes("fn (_, Composite=\"a\") { _ }", "fn (%a, Composite=\"a\") { %a }");
  no("fn (_, Composite=\"a\") { _ }", "fn (%a, Composite=\"b\") { %a }");
  no("fn (_, Composite=\"a\") { _ }", "fn (%a) { %a }");
  yes("_[fusion=\"elementwise\"](_)", "tanh(%x)");
  no("_[fusion=\"elementwise\"](...)", "%x + %y");
  yes("_[fusion=\"broadcast\", commutative=True](...)", "%x + %y");
  no("_[commutative=True](...)", "%x - %y");
  yes("_[effects=\"traps\"](...)", "%x / %y");
  yes("_[view=True](...)", "reshape(%x, newshape=[1])");
  no("_[no_such=True](...)", "%x + %y");
}

class Typed : public ::testing::Test {
 protected:
  Expr x(const std::vector<Dim>& dims, DType dtype) {
    return b_.var("x", context().tensor_type(dims, dtype));
  }
  Context& context() { return t_.context(); }
  bool matches(const std::string& pattern, Expr e) { return match(t_.pattern(pattern), e).has_value(); }

  Texts t_{"type Box[A] { Full(A) }"};
  Builder b_{t_.context()};
};

TEST_F(Typed, Type) {
  const Expr e = x({2, 3}, kFloat32);
  EXPECT_TRUE(matches("_ : Tensor[(2, 3), float32]", e));
  EXPECT_FALSE(matches("_ : Tensor[(2, 4), float32]", e));
  EXPECT_FALSE(matches("_ : Tensor[(2, 3), float16]", e));
  EXPECT_FALSE(matches("_ : float32", e));
  EXPECT_TRUE(matches("_ : float32", x({}, kFloat32)));
  EXPECT_FALSE(matches("const : Tensor[(2, 3), float32]", e));
  EXPECT_FALSE(matches("_ : float32", b_.var("untyped")));
}

TEST_F(Typed, TypeWithHoles) {  // T1
  const Type pair =
      context().tuple_type(std::vector<Type>{context().scalar_type(kInt8), context().scalar_type(kBool)});
  const Expr e = b_.var("p", pair);
  EXPECT_TRUE(matches("_ : (int8, bool)", e));
  EXPECT_TRUE(matches("_ : (_, bool)", e));
  EXPECT_FALSE(matches("_ : (_, int8)", e));
  EXPECT_FALSE(matches("_ : (_, _, _)", e));
  const Expr box = b_.var("b", context().data_type("Box", std::vector<Type>{pair}));
  EXPECT_TRUE(matches("_ : Box[(_, bool)]", box));
  EXPECT_FALSE(matches("_ : Box[int8]", box));
}

TEST_F(Typed, Shape) {
  const Dim n = context().shape_variable("n");
  const Expr e = x({n, 3, Dim::unknown()}, kFloat32);
  EXPECT_TRUE(matches("_ : Tensor[(n, 3, ?), _]", e));
  EXPECT_TRUE(matches("_ : Tensor[(_, 3, _), _]", e));
  EXPECT_FALSE(matches("_ : Tensor[(m, 3, _), _]", e));
  EXPECT_FALSE(matches("_ : Tensor[(_, 4, _), _]", e));
  EXPECT_FALSE(matches("_ : Tensor[(_, _), _]", e));
  EXPECT_FALSE(matches("_ : Tensor[(), _]", b_.var("untyped")));
  EXPECT_TRUE(matches("_ : Tensor[(2*n + 1), _]", x({n + n + Dim(1)}, kInt8)));
}

TEST_F(Typed, DimsOfAnotherContextAreCompared) {
  Texts other;
  const Pattern p = other.pattern("_ : Tensor[(2*n + 1, _), _]");
  const Dim n = context().shape_variable("n");
  EXPECT_TRUE(match(p, x({n + n + Dim(1), 4}, kInt8)));
  EXPECT_FALSE(match(p, x({n, 4}, kInt8)));
}

TEST_F(Typed, DataType) {
  EXPECT_TRUE(matches("_ : Tensor[_, int8]", x({2}, kInt8)));
  EXPECT_FALSE(matches("_ : Tensor[_, int8]", x({2}, kUInt8)));
  EXPECT_FALSE(matches("_ : Tensor[_, int8]", b_.tuple({x({2}, kInt8)})));
  EXPECT_TRUE(matches("_ : Tensor[(_), int8]", x({2}, kInt8)));
  EXPECT_FALSE(matches("_ : Tensor[(_), int8]", x({}, kInt8)));
}

// ---- Parts that occur twice ----

TEST_F(Kinds, APartThatOccursTwiceMatchesOneExpression) {  // N1
  yes("%0 = tanh(_); multiply(%0, %0)", "%0 = tanh(%x); %0 * %0");
  no("%0 = tanh(_); multiply(%0, %0)", "tanh(%x) * tanh(%x)");
  yes("%0 = _; subtract(%0, tanh(%0))", "%x - tanh(%x)");
  no("%0 = _; subtract(%0, tanh(%0))", "%x - tanh(%y)");
}

TEST_F(Kinds, PartsOfOneNameMatchOneExpression) {  // N2
  yes("subtract(%a, tanh(%a))", "%x - tanh(%x)");
  no("subtract(%a, tanh(%a))", "%x - tanh(%y)");
  yes("subtract(%a, %b)", "%x - %x");
  yes("subtract(nn.relu(_) as %a, tanh(%a))", "%0 = nn.relu(%x); %0 - tanh(%0)");
  no("subtract(nn.relu(_) as %a, tanh(%a))", "%x - tanh(%x)");
}

TEST_F(Kinds, LeavesAreTheSameIfTheyMeanTheSame) {  // N3
  yes("subtract(%a, %a)", "1f - 1f");
  no("subtract(%a, %a)", "1f - 2f");
  yes("(%f(_), %f(_))", "(tanh(%x), tanh(%y))");
  no("(%f(_), %f(_))", "(tanh(%x), exp(%y))");
}

TEST_F(Kinds, AWrongGuessIsTakenBack) {
  // %a must be the second operand of the first sum, and which that is only the last field tells.
  yes("(add(%a, _), add(%b, _), tanh(%a), tanh(%b))", "(%x + %y, %y + %z, tanh(%y), tanh(%z))");
  no("(add(%a, _), add(%b, _), tanh(%a), tanh(%b))", "(%x + %y, %y + %z, tanh(%z), tanh(%z))");
  yes("((nn.relu(%a) | tanh(_)), exp(%a)) | _", "(nn.relu(%x), exp(%y))");
  yes("((nn.relu(%a) | nn.relu(_)), exp(%a))", "(nn.relu(%x), exp(%y))");
  no("((nn.relu(%a) | tanh(_)), exp(%a))", "(nn.relu(%x), exp(%y))");
  // That %b is not %z if %a is %x says nothing of when %a is %y.
  const std::string p = "(add(%a, _), add(%b, _), add(subtract(%a, %b), _))";
  yes(p, "(%x + %y, %z + exp(%z), (%x - exp(%x)) + (%y - %z))");
  no(p, "(%x + %y, %z + exp(%z), (%x - exp(%x)) + (%y - %x))");
}

TEST_F(Kinds, Bindings) {
  const Expr e = t_.expr("nn.relu(tanh(%x) + 1f)");
  const Pattern sum = call(op("add"), wildcard().named("in"), constant().named("c"));
  const Match m = *match(call(op(op::kRelu), sum), e);
  const auto* add = e->as<Call>()->args[0]->as<Call>();
  EXPECT_EQ(m.root(), e);
  EXPECT_EQ(m.at(sum), add);
  EXPECT_EQ(m.at("in"), add->args[0]);
  EXPECT_EQ(m.at("c"), add->args[1]);
  EXPECT_EQ(m.at("no such name"), nullptr);
  EXPECT_EQ(m.at(wildcard()), nullptr);
  // Inputs are not in the region.
  const std::vector<Expr> region = m.region();
  EXPECT_TRUE(std::count(region.begin(), region.end(), add->args[1]));
  EXPECT_FALSE(std::count(region.begin(), region.end(), add->args[0]));
}

// ---- Limits ----

TEST(MatchLimits, DeepProgramsAndPatterns) {
  Context context;
  Builder b(context);
  Expr e = b.var("x");
  Pattern p = wildcard();
  for (int i = 0; i < 100'000; ++i) {
    e = b.call(b.op(op::kTanh), {e});
    p = call(op(op::kTanh), p | constant());
  }
  EXPECT_TRUE(match(p, e));
  EXPECT_FALSE(match(call(op(op::kTanh), p), e));
  EXPECT_FALSE(print(p).empty());
}

TEST(MatchLimits, EveryExpressionOfALongProgram) {
  Context context;
  Builder b(context);
  Expr e = b.var("x");
  for (int i = 0; i < 100'000; ++i) e = b.call(b.op(i % 3 ? op::kTanh : op::kExp), {e});
  const Graph graph(e);
  Matcher matcher(call(op(op::kExp), call(op(op::kTanh), call(op(op::kTanh), wildcard()))), graph);
  size_t found = 0;
  for (Expr at : graph.order()) found += matcher.match(at).has_value();
  EXPECT_EQ(found, 33'333u);
}

// Each level has two alternatives that match and, at the bottom, none that does: 2^60 ways if they
// were tried apart.
TEST(MatchLimits, AlternativesDoNotMultiply) {
  Context context;
  Builder b(context);
  Expr e = b.var("x");
  Pattern p = constant(),
          q = call(op(op::kSubtract), wildcard().named("a"), call(op(op::kTanh), wildcard().named("a")));
  Expr f = b.call(b.op(op::kSubtract), {e, b.call(b.op(op::kTanh), {b.var("y")})});
  for (int i = 0; i < 60; ++i) {
    e = b.call(b.op(op::kAdd), {e, e});
    f = b.call(b.op(op::kAdd), {f, f});
    p = call(op(op::kAdd), p, wildcard()) | call(op(op::kAdd), wildcard(), p);
    q = call(op(op::kAdd), q, wildcard()) | call(op(op::kAdd), wildcard(), q);
  }
  EXPECT_FALSE(match(p, e));
  EXPECT_FALSE(match(q, f, {.most_guesses = 2}));  // %a is neither %x nor %y
}

// Pigeons and holes: n names that must be different variables, as the program wants it,
// but one too many.
TEST(MatchLimits, WrongGuessesAreBounded) {
  Context context;
  Builder b(context);
  std::vector<Expr> variables, left, right;
  std::vector<Pattern> fields, others;
  for (int i = 0; i < 8; ++i) variables.push_back(b.var("x"));
  for (int i = 0; i < 8; ++i) {
    Expr sum = b.scalar(kFloat32, 1);
    Pattern any_of = wildcard().named(cat("p", i));
    for (Expr v : variables) sum = b.call(b.op(op::kAdd), {v, sum});
    Pattern p = wildcard();
    for (int j = 0; j < 8; ++j)
      p = call(op(op::kAdd), any_of, wildcard()) | call(op(op::kAdd), wildcard(), p);
    left.push_back(sum);
    fields.push_back(p);
    others.push_back(call(op(op::kTanh), any_of));
    right.push_back(b.call(b.op(op::kTanh), {b.scalar(kFloat32, i)}));
  }
  fields.insert(fields.end(), others.begin(), others.end());
  left.insert(left.end(), right.begin(), right.end());
  const Expr e = b.tuple(left);
  try {
    match(tuple(fields), e, {.most_guesses = 3});
    FAIL() << "no limit was reached";
  } catch (const Exhausted& limit) {
    EXPECT_NE(std::string(limit.what()).find("most_guesses"), std::string::npos);
  }
  // The matcher can be asked again.
  const Graph graph(e);
  Matcher matcher(tuple(fields), graph, {.most_guesses = 3});
  EXPECT_THROW(matcher.match(e), Exhausted);
  EXPECT_FALSE(matcher.match(right[0]));
}

// ---- Which operators commute ----

std::vector<Tensor> operands(DType dtype) {
  const std::vector<double> values = dtype.is_float()  ? std::vector<double>{0, -0.0, 1, -2, INFINITY, NAN}
                                     : dtype.is_bool() ? std::vector<double>{0, 1}
                                                       : std::vector<double>{0, 1, 2, 3, 5};
  std::vector<Tensor> out;
  for (double v : values) out.push_back(Tensor::scalar(dtype, v));
  return out;
}

// The text of what the operator gives: all NaNs look alike, 0 and -0 do not.
std::optional<std::string> result(const op::OpDef& op, const Tensor& a, const Tensor& b) {
  Context context;
  try {
    const std::vector<Value> args{Value(a), Value(b)};
    return show(op::evaluate(context, op, args, {}).tensor());
  } catch (const Trap&) {
    return "trap";
  } catch (const op::RelationError&) {
    return std::nullopt;
  }
}

TEST(Commutative, ExactlyTheOperatorsWhoseOperandsMayBeExchanged) {
  size_t asked = 0;
  for (const op::OpDef* op : op::all_ops()) {
    if (op->params.size() != 2 || !op->attrs.empty() || op->fusion != op::Fusion::kBroadcast) continue;
    bool differs = false, applies = false;
    for (DType dtype : {kFloat32, kInt32, kBool}) {
      for (const Tensor& a : operands(dtype)) {
        for (const Tensor& b : operands(dtype)) {
          const auto one = result(*op, a, b), other = result(*op, b, a);
          applies |= one.has_value();
          differs |= one != other;
        }
      }
    }
    EXPECT_TRUE(applies) << op->name;
    EXPECT_EQ(op->commutative, !differs) << op->name;
    ++asked;
  }
  EXPECT_GT(asked, 15u);
}

}  // namespace
}  // namespace relay::pattern
