// Partitioning: what becomes a function, and what must not. That the meaning stays the same is
// in tests/pattern.
#include "pattern/partition.h"

#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/ops.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

using testing::Texts;

const PartitionOptions kNamed = {.attrs = {{"Composite", std::string("c")}}};

class Partition : public ::testing::Test {
 protected:
  Expr run(const std::string& pattern, Expr e, const PartitionOptions& options = kNamed) {
    return partition(t_.context(), t_.pattern(pattern), e, options);
  }
  // The function that `e` calls; null if it is no such call.
  static const Fn* function_of(Expr e) {
    const auto* call = e->as<Call>();
    const auto* fn = call ? call->callee->as<Fn>() : nullptr;
    return fn && fn->attrs.find(kPartitionedFromPattern) ? fn : nullptr;
  }
  static size_t functions_in(Expr e) {
    size_t n = 0;
    for (Expr at : post_order(e)) n += function_of(at) != nullptr;
    return n;
  }
  void refused(const std::string& pattern, const std::string& program) {
    const Expr e = t_.expr(program);
    const Graph graph(e);
    Matcher matcher(t_.pattern(pattern), graph);
    size_t matches = 0;
    for (Expr at : graph.order()) matches += matcher.match(at).has_value();
    EXPECT_GT(matches, 0u) << "there is nothing to refuse: " << pattern << " in " << program;
    EXPECT_EQ(run(pattern, e), e) << pattern << " in " << program;
  }
  void expect(const std::string& pattern, const std::string& before, const std::string& after) {
    const Expr now = run(pattern, t_.expr(before));
    const Operators operators = op::operators();
    EXPECT_TRUE(alpha_equal(now, t_.expr(after)))
        << relay::print(now, {.operators = &operators, .header = false});
  }

  Texts t_;
};

TEST_F(Partition, RegionsBecomeFunctions) {
  expect("nn.relu(nn.conv2d(_, _))", "tanh(nn.relu(nn.conv2d(%x, %y)))",
         R"(tanh(fn (%a, %b, Composite="c", PartitionedFromPattern="nn.conv2d_nn.relu_") {
              nn.relu(nn.conv2d(%a, %b)) }(%x, %y)))");
}

TEST_F(Partition, FunctionsHaveAttributesOfTheirOwn) {
  int64_t taken = 0;
  PartitionOptions options = kNamed;
  options.own_attrs = [&](const Match&) { return std::vector<AttrArg>{{"Number", taken++}}; };
  const Expr now = run("tanh(_)", t_.expr("tanh(exp(tanh(%x)))"), options);
  const Fn* outer = function_of(now);
  ASSERT_TRUE(outer);
  const Fn* inner = function_of(now->as<Call>()->args[0]->as<Call>()->args[0]);
  ASSERT_TRUE(inner);
  EXPECT_EQ(outer->attrs.find("Number")->integer, 0);  // the outermost match is taken first
  EXPECT_EQ(inner->attrs.find("Number")->integer, 1);
}

TEST_F(Partition, InputsBecomeParametersOnce) {
  expect("add(multiply(_, _), _)", "%0 = tanh(%x); %0 * %y + %0",
         R"(%0 = tanh(%x); fn (%a, %b, Composite="c", PartitionedFromPattern="multiply_add_") {
              %a * %b + %a }(%0, %y))");
}

TEST_F(Partition, ParametersAreInTheOrderInWhichTheRegionWantsThem) {
  // Elsewhere %y is used before %x.
  const Expr e = run("nn.conv2d(_, _)", t_.expr("(tanh(%y), nn.conv2d(%x, %y))"))->as<Tuple>()->fields[1];
  ASSERT_TRUE(function_of(e));
  EXPECT_TRUE(match(t_.pattern("_(var(\"x\"), var(\"y\"))"), e));
  // Effects of arguments keep their order.
  const Expr cells = run("add(_, nn.relu(_))", t_.expr("ref_read(%x) + nn.relu(ref_read(%y))"));
  ASSERT_TRUE(function_of(cells));
  const auto& args = cells->as<Call>()->args;
  EXPECT_EQ(args[0]->as<RefRead>()->ref->as<Var>()->name, "x");
  EXPECT_EQ(args[1]->as<RefRead>()->ref->as<Var>()->name, "y");
}

TEST_F(Partition, ConstantsBecomeParametersUnlessTheyAreDescribed) {
  expect("multiply(_, _)", "%x * 2f",
         R"(fn (%a, %b: float32, Composite="c", PartitionedFromPattern="multiply_") { %a * %b }(%x, 2f))");
  expect("multiply(_, const)", "%x * 2f",
         R"(fn (%a, Composite="c", PartitionedFromPattern="multiply_") { %a * 2f }(%x))");
}

TEST_F(Partition, PathsBelongToTheRegion) {
  expect("dominates(nn.conv2d(_, _), _, add(_, _))", "%0 = nn.conv2d(%x, %y); nn.relu(%0) + tanh(%0)",
         R"(fn (%a, %b, Composite="c", PartitionedFromPattern="nn.conv2d_nn.relu_tanh_add_") {
              %0 = nn.conv2d(%a, %b); nn.relu(%0) + tanh(%0) }(%x, %y))");
}

TEST_F(Partition, ParametersHaveTheTypesOfInputs) {
  Builder b(t_.context());
  const Type type = t_.context().tensor_type(Shape{2}, kFloat32);
  const Expr e = b.call(b.op(op::kTanh), {b.var("x", type)}, {}, type);
  const Expr now = run("tanh(_)", e);
  const Fn* fn = function_of(now);
  ASSERT_TRUE(fn);
  EXPECT_EQ(now->type, type);
  EXPECT_EQ(fn->params[0]->annotation, type);
  EXPECT_EQ(fn->type, Type(t_.context().fn_type({}, std::vector<Type>{type}, type)));
}

TEST_F(Partition, TheOutermostOfTwoThatOverlapWins) {  // P4
  const Expr now = run("nn.relu(nn.relu(_))", t_.expr("nn.relu(nn.relu(nn.relu(%x)))"));
  EXPECT_EQ(functions_in(now), 1u);
  ASSERT_TRUE(function_of(now));
  EXPECT_TRUE(match(t_.pattern("nn.relu(var)"), now->as<Call>()->args[0]));
}

TEST_F(Partition, RegionsThatDoNotOverlapAreAllTaken) {
  EXPECT_EQ(functions_in(run("nn.relu(nn.relu(_))", t_.expr("nn.relu(nn.relu(nn.relu(nn.relu(%x))))"))), 2u);
  // A constant may be in both.
  EXPECT_EQ(functions_in(run("add(_, const)", t_.expr("%0 = 1f; (%x + %0) + %0"))), 2u);
}

TEST_F(Partition, TheCheckMayRefuse) {
  const Expr e = t_.expr("(tanh(%x), tanh(%y))");
  const auto named = [](std::string_view name) {
    return PartitionOptions{.check = [name](const Match& m) { return m.at("in")->as<Var>()->name == name; }};
  };
  EXPECT_EQ(functions_in(run("tanh(%in)", e, named("x"))), 1u);
  EXPECT_EQ(run("tanh(%in)", e, named("nobody")), e);
}

TEST_F(Partition, NothingInsideIsUsedOutside) {  // P1
  refused("nn.relu(tanh(_))", "%0 = tanh(%x); (nn.relu(%0), %0)");
  // If it were taken, the function would wait for exp, and exp for the function.
  refused("add(tanh(_), _)", "%0 = tanh(%x); %0 + exp(%0)");
  expect("nn.relu(tanh(_))", "%0 = nn.relu(tanh(%x)); %0 + %0",
         R"(%0 = fn (%a, Composite="c", PartitionedFromPattern="tanh_nn.relu_") { nn.relu(tanh(%a)) }(%x);
            %0 + %0)");
}

TEST_F(Partition, InputsAreEvaluatedWhereTheFunctionIsCalled) {  // P2
  refused("if (_) { nn.relu(_) } else { _ }", "if (%x) { nn.relu(tanh(%y)) } else { %z }");
  refused("let _ = _; nn.relu(_)", "let %a = %x; nn.relu(tanh(%a))");
  refused("fn (_) { nn.relu(_) }", "(fn (%a) { nn.relu(tanh(%a)) }, 1f)");
  expect("if (_) { nn.relu(_) } else { _ }", "if (%x) { nn.relu(%y) } else { %z }",
         R"(fn (%a, %b, %c, Composite="c", PartitionedFromPattern="nn.relu_") {
              if (%a) { nn.relu(%b) } else { %c } }(%x, %y, %z))");
  // What the branch uses is evaluated before it, because it is used there too.
  EXPECT_EQ(functions_in(run("if (_) { nn.relu(_) } else { _ }",
                             t_.expr("%0 = tanh(%y); (if (%x) { nn.relu(%0) } else { %z }, %0)"))),
            1u);
}

TEST_F(Partition, BoundVariablesStayInside) {
  expect("let %v = tanh(_); nn.relu(%v)", "let %a = tanh(%x); nn.relu(%a)",
         R"(fn (%p, Composite="c", PartitionedFromPattern="tanh_nn.relu_") {
              let %a = tanh(%p); nn.relu(%a) }(%x))");
}

TEST_F(Partition, EffectsKeepTheirOrder) {  // P3
  refused("add(var(_), _)", "%x(%y) + ref_read(%z)");
  EXPECT_EQ(functions_in(run("add(var(_), _)", t_.expr("%x(%y) + tanh(%z)"))), 1u);
  EXPECT_EQ(functions_in(run("add(tanh(_), _)", t_.expr("tanh(%y) + ref_read(%z)"))), 1u);
}

// What is shared is evaluated first of all in its scope: before this read of the cell.
TEST_F(Partition, WhatIsSharedAndHasAnEffectIsNotDelayed) {  // P3
  refused("add(_, _)", "%0 = %x(%y); (ref_read(%y), %0 + %0)");
  refused("add(tanh(_), _)", "%0 = tanh(%x(%y)); (ref_read(%y), %0 + %0)");
  refused("add(var(_), _)", "%0 = %x(%y); (ref_read(%y), %0 + %0)");
  // It stays shared where another use is outside.
  EXPECT_EQ(functions_in(run("add(_, _)", t_.expr("%0 = %x(%y); (ref_read(%y), %0 + %0, %0)"))), 1u);
  EXPECT_EQ(functions_in(run("add(_, _)", t_.expr("%0 = tanh(%x); (ref_read(%y), %0 + %0)"))), 1u);
}

TEST_F(Partition, FunctionsThatALetBindsStayWhatTheyAre) {  // P5
  refused("fn (...) { _ }", "let %f = fn (%a) { %f(%a) }; %f(%x)");
}

TEST_F(Partition, VariablesAndNamesBecomeNoFunctions) {
  refused("_", "%x");
  refused("nn.relu", "nn.relu(%x)");
}

TEST_F(Partition, UnchangedIsTheSamePointer) {
  const Expr e = t_.expr("tanh(%x) + 1f");
  EXPECT_EQ(run("exp(_)", e), e);
}

TEST_F(Partition, Modules) {
  Diagnostics diagnostics;
  const Module m = *relay::parse("m",
                                 "def @f(%x: float32) { nn.relu(tanh(%x)) }\n"
                                 "def @g(%x: float32) { exp(%x) }\n",
                                 diagnostics, op::operators());
  Texts t;
  const Pattern p = t.pattern("fn (_) { _ } | nn.relu(tanh(_))");  // functions of a module stay what they are
  const Module now = partition(m, p, kNamed);
  EXPECT_EQ(now.function("g"), m.function("g"));
  EXPECT_TRUE(function_of(now.function("f")->body));
  EXPECT_TRUE(well_formed(now).empty());
  // What is in a function that was made is left alone.
  EXPECT_TRUE(partition(now, t.pattern("nn.relu(tanh(_))"), kNamed).same(now));
  EXPECT_TRUE(partition(now, t.pattern("tanh(_)"), kNamed).same(now));
}

TEST_F(Partition, LongPrograms) {
  Builder b(t_.context());
  Expr e = b.var("x");
  for (int i = 0; i < 100'000; ++i) e = b.call(b.op(i % 2 ? op::kRelu : op::kTanh), {e});
  EXPECT_EQ(functions_in(run("nn.relu(tanh(_))", e)), 50'000u);
}

}  // namespace
}  // namespace relay::pattern
