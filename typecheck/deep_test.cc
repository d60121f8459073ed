// Large and deeply nested programs: the checker is iterative, and linear in practice.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/limits.h"
#include "op/apply.h"
#include "op/ops.h"
#include "typecheck/check.h"

namespace relay::typecheck {
namespace {

constexpr int kDepth = 100'000;

// Of the processor, so that a busy machine does not count.
double seconds(const std::function<void()>& f) {
  const std::clock_t start = std::clock();
  f();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Result<Module> checked(const Module& m) {
  Diagnostics diagnostics;
  Result<Module> out = check(m, diagnostics);
  EXPECT_TRUE(out.ok()) << diagnostics.render(m.context().sources()).substr(0, 2000);
  return out;
}

struct Form {
  const char* name;
  Expr (*start)(Builder& b);
  Expr (*wrap)(Builder& b, Expr e);
};

Expr one(Builder& b) { return b.scalar(kFloat32, 1); }
Expr unit(Builder& b) { return b.tuple({}); }
Expr truth(Builder& b) { return b.scalar(kBool, 1); }

Expr in_operator(Builder& b, Expr e) { return b.call(b.op(op::kAdd), {e, b.scalar(kFloat32, 1)}); }
Expr in_call(Builder& b, Expr e) {
  const Var* x = b.var("x");
  return b.call(b.fn(std::vector<const Var*>{x}, x), {e});
}
Expr in_tuple(Builder& b, Expr e) { return b.tuple({e}); }
Expr in_projection(Builder& b, Expr e) { return b.proj(b.tuple({e}), 0); }
Expr in_function(Builder& b, Expr e) { return b.fn({}, e); }
Expr in_called_function(Builder& b, Expr e) { return b.call(b.fn({}, e), {}); }
Expr in_let_value(Builder& b, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, e, x);
}
Expr in_let_body(Builder& b, Expr e) { return b.let(b.var("x"), b.scalar(kFloat32, 1), e); }
Expr in_let_function(Builder& b, Expr e) {
  const Var *f = b.var("f"), *x = b.var("x");
  return b.let(f, b.fn(std::vector<const Var*>{x}, e), b.call(f, {b.scalar(kFloat32, 1)}));
}
Expr in_condition(Builder& b, Expr e) { return b.if_(e, b.scalar(kBool, 1), b.scalar(kBool, 0)); }
Expr in_branch(Builder& b, Expr e) { return b.if_(b.scalar(kBool, 1), b.scalar(kFloat32, 1), e); }
Expr in_matched(Builder& b, Expr e) {
  const Var* x = b.var("x");
  return b.match(b.tuple({e}), std::vector<Arm>{{b.tuple_pattern(std::vector<Pattern>{b.bind(x)}), x}}, true);
}
Expr in_arm(Builder& b, Expr e) {
  return b.match(b.scalar(kFloat32, 1), std::vector<Arm>{{b.wildcard(), e}}, true);
}
Expr in_ref(Builder& b, Expr e) { return b.ref_new(e); }
Expr in_read(Builder& b, Expr e) { return b.ref_read(b.ref_new(e)); }
Expr in_write(Builder& b, Expr e) { return b.ref_write(b.ref_new(e), e); }  // shared: 2^depth paths

class Deep : public testing::TestWithParam<Form> {};

TEST_P(Deep, IsChecked) {
  Module m;
  Builder b(m.context());
  Expr e = GetParam().start(b);
  for (int i = 0; i < kDepth; ++i) e = GetParam().wrap(b, e);
  m.set_function("main", b.fn({}, e));
  Result<Module> once = checked(m);
  ASSERT_TRUE(once);
  Result<Module> twice = checked(*once);
  EXPECT_TRUE(twice && twice->same(*once));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Deep,
    testing::Values(Form{"operator_call", one, in_operator}, Form{"call", one, in_call},
                    Form{"tuple", one, in_tuple}, Form{"projection", one, in_projection},
                    Form{"function", one, in_function}, Form{"called_function", one, in_called_function},
                    Form{"let_value", one, in_let_value}, Form{"let_body", one, in_let_body},
                    Form{"let_function", one, in_let_function}, Form{"condition", truth, in_condition},
                    Form{"branch", one, in_branch}, Form{"matched", one, in_matched},
                    Form{"arm", one, in_arm}, Form{"ref", one, in_ref}, Form{"read", one, in_read},
                    Form{"write", unit, in_write}),
    [](const auto& info) { return std::string(info.param.name); });

// A type whose text would have 2^60 characters.
TEST(Deep, SharedTypes) {
  Module m;
  Builder b(m.context());
  const Var* x = b.var("x");
  Expr e = x;
  for (int i = 0; i < 60; ++i) e = b.tuple({e, e});
  m.set_function("main", b.fn(std::vector<const Var*>{x}, e));
  ASSERT_TRUE(checked(m));
  const Var* y = b.var("y", m.context().scalar_type(kInt8));
  m.set_function("main", b.fn(std::vector<const Var*>{x}, b.let(y, e, y)));
  Diagnostics diagnostics;
  EXPECT_FALSE(check(m, diagnostics));
}

TEST(Deep, Pattern) {
  Module m;
  Context& c = m.context();
  Builder b(c);
  const Var* x = b.var("x");
  Pattern p = b.bind(x);
  Type t = c.scalar_type(kInt8);
  for (int i = 0; i < kDepth; ++i) {
    p = b.tuple_pattern(std::vector<Pattern>{p, b.wildcard()});
    t = c.tuple_type(std::vector<Type>{t, c.scalar_type(kInt8)});
  }
  const Var* v = b.var("v", t);
  m.set_function("main", b.fn(std::vector<const Var*>{v}, b.match(v, std::vector<Arm>{{p, x}}, true)));
  ASSERT_TRUE(checked(m));
}

// 2^30 ways through the patterns: given up, and said so.
TEST(Deep, PatternsThatAreTooComplex) {
  Module m;
  Context& c = m.context();
  Builder b(c);
  std::vector<const Constructor*> ctors;
  for (const char* name : {"T", "F"}) {
    ctors.push_back(c.arena().make<Constructor>(
        Constructor{c.symbol(name), c.symbol("B"), static_cast<uint32_t>(ctors.size()), {}, {}}));
  }
  m.set_data_type(c.arena().make<DataTypeDef>(DataTypeDef{c.symbol("B"), {}, c.arena().list(ctors)}));
  constexpr size_t kWidth = 30;
  const std::vector<Type> fields(kWidth, c.data_type("B", {}));
  const Var* v = b.var("v", c.tuple_type(fields));
  std::vector<Arm> arms;
  for (size_t i = 0; i + 1 < kWidth; ++i) {
    std::vector<Pattern> row(kWidth, b.wildcard());
    row[i] = b.ctor_pattern(*ctors[0], {});
    row[kWidth - 1 - i / 2] = b.ctor_pattern(*ctors[1], {});
    arms.push_back({b.tuple_pattern(row), b.scalar(kInt8, 1)});
  }
  m.set_function("main", b.fn(std::vector<const Var*>{v}, b.match(v, arms, true)));
  Diagnostics diagnostics;
  EXPECT_LT(seconds([&] { EXPECT_FALSE(check(m, diagnostics)); }), 20);
}

// let f1 = fn () { (f0, f0) }; let f2 = fn () { (f1, f1) }; ...: each has twice the type parameters
// of the one before.
TEST(Deep, TypesThatMultiplyAreGivenUp) {
  for (int depth : {8, 40}) {
    Module m;
    Builder b(m.context());
    const Var* x = b.var("x");
    std::vector<std::pair<const Var*, Expr>> lets{{b.var("f"), b.fn(std::vector<const Var*>{x}, x)}};
    for (int i = 0; i < depth; ++i) {
      const Var* before = lets.back().first;
      lets.emplace_back(b.var("f"), b.fn({}, b.tuple({before, before})));
    }
    Expr e = b.scalar(kFloat32, 1);
    for (size_t i = lets.size(); i-- > 0;) e = b.let(lets[i].first, lets[i].second, e);
    m.set_function("main", b.fn({}, e));
    Diagnostics diagnostics;
    EXPECT_LT(seconds([&] { EXPECT_EQ(check(m, diagnostics).ok(), depth == 8); }), 20);
    if (depth == 8) continue;
    ASSERT_EQ(diagnostics.errors(), 1u);
    EXPECT_EQ(diagnostics.all().front().slug().name(), "limit-types");
    const std::string said = diagnostics.render(m.context().sources());
    EXPECT_NE(said.find("inferring the types of `@main` was given up"), std::string::npos) << said;
    EXPECT_NE(said.find("annotate the types of the functions in it"), std::string::npos) << said;
  }
}

// Functions that nest and of which the types are not known are looked at again at each level.
TEST(Deep, UnknownTypesThatNestAreGivenUp) {
  Module m;
  Builder b(m.context());
  Expr e = b.scalar(kFloat32, 1);
  for (int i = 0; i < kDepth; ++i) e = b.fn(std::vector<const Var*>{b.var("x")}, e);
  m.set_function("main", b.fn({}, e));
  Diagnostics diagnostics;
  EXPECT_LT(seconds([&] { EXPECT_FALSE(check(m, diagnostics)); }), 20);
  EXPECT_EQ(diagnostics.all().front().slug().name(), "limit-types");
}

// What is measured is printed with --gtest_output; the limits are generous, machines differ.
void measure(const char* name, const Module& m) {
  Result<Module> typed = m;
  const double first = seconds([&] { typed = checked(m); });
  ASSERT_TRUE(typed);
  const double again = seconds([&] { EXPECT_TRUE(checked(*typed)->same(*typed)); });
  std::printf("%s: %u nodes, %.0f ms, typed already %.0f ms\n", name, m.context().node_count(), first * 1e3,
              again * 1e3);
  EXPECT_LT(first, 10);
}

TEST(Speed, Chain) {
  Module m;
  Builder b(m.context());
  const Var* x = b.var("x", m.context().tensor_type({Dim(1), m.context().shape_variable("n")}, kFloat32));
  Expr e = x;
  for (int i = 0; i < kDepth; ++i) e = b.call(b.op(op::kAdd), {e, x});
  m.set_function("main", b.fn(std::vector<const Var*>{x}, e));
  measure("chain of 100000 additions", m);
}

TEST(Speed, TypeParameters) {
  Module m;
  Builder b(m.context());
  std::vector<const TypeVar*> types;
  std::vector<const Var*> params;
  for (int i = 0; i < kDepth; ++i) {
    types.push_back(m.context().type_var(cat("T", i)));
    params.push_back(b.var(cat("x", i), types.back()));
  }
  m.set_function("main", b.fn(params, params[0], nullptr, {}, types));
  measure("100000 type parameters", m);
}

// A name is declared until its function ends.
TEST(Deep, TypeParametersOfNestedFunctions) {
  for (const bool again : {false, true}) {
    Module m;
    Builder b(m.context());
    Expr e = b.scalar(kFloat32, 1);
    for (int i = 0; i < 1000; ++i) {
      const TypeVar* type = m.context().type_var(again && i > 0 ? "T" : cat("T", i));
      e = b.fn(std::vector<const Var*>{b.var("x", type)}, e, nullptr, {}, std::vector<const TypeVar*>{type});
    }
    m.set_function("main", b.fn({}, e));
    Diagnostics diagnostics;
    (void)check(m, diagnostics);
    const bool twice = std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                                   [](const auto& d) { return d.slug() == "duplicate-type-parameter"; });
    EXPECT_EQ(twice, again);
  }
}

// Ten thousand halvings nest as many quotients; forty sums of a vector with its half double the
// expression forty times. Beyond what is of use to anybody, the extent is unknown.
TEST(Speed, ExtentsThatGrowWithoutBoundAreUnknown) {
  for (const bool doubles : {false, true}) {
    Module m;
    Context& c = m.context();
    Builder b(c);
    const Var* x = b.var("x", c.tensor_type({c.shape_variable("n")}, kFloat32));
    const Attrs half = c.attrs({{"begin", std::vector<int64_t>{0}},
                                {"end", std::vector<int64_t>{INT64_MAX}},
                                {"strides", std::vector<int64_t>{2}},
                                {"axes", std::vector<int64_t>{0}}});
    Expr e = x;
    for (int i = 0; i < (doubles ? 40 : 10'000); ++i) {
      const Expr part = b.call(b.op(op::kStridedSlice), {e}, half);
      e = doubles ? b.call(b.op(op::kConcatenate), {b.tuple({e, part})}, c.attrs({{"axis", int64_t{0}}}))
                  : part;
    }
    m.set_function("main", b.fn(std::vector<const Var*>{x}, e));
    const double time = seconds([&] {
      const Result<Module> typed = checked(m);
      ASSERT_TRUE(typed.ok());
      EXPECT_EQ(show(typed->function("main")->body->type), "Tensor[(?), float32]");
    });
    EXPECT_LT(time, 10) << doubles;  // a tenth of it is needed
  }
}

TEST(Speed, ResidualNetwork) {
  Module m;
  Context& c = m.context();
  Builder b(c);
  const Var* x = b.var("x", c.tensor_type({c.shape_variable("n"), Dim(64), Dim(56), Dim(56)}, kFloat32));
  std::vector<const Var*> params{x};
  const Attrs attrs = c.attrs({{"channels", int64_t{64}},
                               {"kernel_size", std::vector<int64_t>{3, 3}},
                               {"padding", std::vector<int64_t>{1, 1}}});
  const auto convolution = [&](Expr e) {
    const Var* w = b.var(cat("w", params.size()), c.tensor_type(Shape{64, 64, 3, 3}, kFloat32));
    const Var* bias = b.var(cat("b", params.size()), c.tensor_type(Shape{64}, kFloat32));
    params.push_back(w);
    params.push_back(bias);
    return b.call(b.op(op::kBiasAdd), {b.call(b.op(op::kConv2d), {e, w}, attrs), bias});
  };
  Expr e = x;
  for (int i = 0; i < kDepth / 7; ++i) {
    const Expr inner = convolution(b.call(b.op(op::kRelu), {convolution(e)}));
    e = b.call(b.op(op::kRelu), {b.call(b.op(op::kAdd), {inner, e})});
  }
  m.set_function("main", b.fn(params, e));
  measure("residual network of 100000 calls", m);
}

TEST(Speed, ClosuresAndLets) {
  Module m;
  Builder b(m.context());
  const Var* x = b.var("x");
  Expr e = b.scalar(kFloat32, 1);
  for (int i = 0; i < kDepth / 5; ++i) {
    const Var *f = b.var("f"), *y = b.var("y");
    e = b.let(f, b.fn(std::vector<const Var*>{y}, b.tuple({y, y})), b.let(b.var("z"), b.call(f, {x}), e));
  }
  m.set_function("main", b.fn(std::vector<const Var*>{x}, e));
  measure("20000 polymorphic closures", m);
}

// Kernels that no reader has seen.
TEST(DeepKernels, AreRefused) {
  Module m;
  Context& context = m.context();
  kernel::Builder k(context.pool());
  const kernel::Tensor x = k.input("x", kFloat32, {k.index(4)});
  kernel::Kernel deep = k.finish("k", "", {k.compute("y", kFloat32, {k.index(4)}, [&](kernel::Indices i) {
                                   kernel::Expr e = x.at(i);
                                   for (int depth = 0; depth < kDepth; ++depth) e = kernel::exp(e);
                                   return e;
                                 })});
  m.set_kernel("k", context.arena().make<kernel::Kernel>(deep));
  Diagnostics diagnostics;
  EXPECT_FALSE(check(m, diagnostics));
  EXPECT_EQ(diagnostics.render(context.sources()),
            cat("error: kernel `@k`: an expression is nested more than ", kernel::kDeepestExpr,
                " deep [kernel-too-deep]\n"));
}

}  // namespace
}  // namespace relay::typecheck
