// What rewriting, analysis, equality and modules promise, on small programs.
#include <gtest/gtest.h>

#include "ir/analysis.h"
#include "ir/reachable.h"
#include "ir/rewrite.h"
#include "ir/testing.h"
#include "kernel/builder.h"

namespace relay {
namespace {

struct Program : WithModule {
  const Fn* fn(std::vector<const Var*> params, Expr body) { return b.fn(params, body); }
  Expr one() { return b.scalar(kFloat32, 1); }
};

using Order = Program;
TEST_F(Order, IsEvaluationOrderAndVisitsSharedNodesOnce) {
  const Var *x = b.var("x"), *y = b.var("y");
  const Expr callee = b.op(kAdd);
  const Expr shared = b.tuple({x, y});
  const Expr call = b.call(callee, {shared, shared});
  EXPECT_EQ(post_order(call), (std::vector<Expr>{callee, x, y, shared, call}));
}

TEST_F(Order, EnterMaySkip) {
  const Expr inner = b.tuple({one()});
  const Expr outer = b.tuple({inner});
  std::vector<Expr> left;
  walk(outer, [&](Expr e) { return e != inner; }, [&](Expr e) { left.push_back(e); });
  EXPECT_EQ(left, std::vector<Expr>{outer});
}

using Rewrite = Program;
TEST_F(Rewrite, KeepsWhatDidNotChangeAndSharing) {
  const Var* x = b.var("x");
  const Expr shared = b.call(b.op(kAdd), {x, one()});
  const Expr kept = b.tuple({x});
  const Expr root = b.tuple({shared, shared, kept});
  const Expr now = rewrite(c, root, [](Builder& b, Expr e) -> Expr {
    return e->kind == ExprKind::kConstant ? b.scalar(kFloat32, 2) : e;
  });
  const auto* t = now->as<Tuple>();
  EXPECT_NE(now, root);
  EXPECT_EQ(t->fields[0], t->fields[1]);
  EXPECT_NE(t->fields[0], shared);
  EXPECT_EQ(t->fields[2], kept);
}

TEST_F(Rewrite, CopiesKeepSpanAndType) {
  b.set_span({1, 5, 9});
  const Expr call = b.call(b.op(kAdd), {one()}, {}, c.scalar_type(kFloat32));
  const Expr now = rewrite(c, call, [](Builder& b, Expr e) -> Expr {
    return e->kind == ExprKind::kConstant ? b.scalar(kFloat32, 2) : e;
  });
  EXPECT_EQ(now->span, (Span{1, 5, 9}));
  EXPECT_EQ(now->type, c.scalar_type(kFloat32));
  EXPECT_EQ(now->as<Call>()->args[0]->span, (Span{1, 5, 9}));
}

TEST_F(Rewrite, ReplacedVariablesAreReplacedWhereTheyAreBound) {
  const Var *p = b.var("p"), *unused = b.var("unused"), *x = b.var("x"), *y = b.var("y");
  const Expr arm =
      b.match(x, std::vector<Arm>{{b.tuple_pattern(std::vector<Pattern>{b.bind(y), b.wildcard()}), y}}, true);
  const Fn* f = fn({p, unused}, b.let(x, p, arm));
  std::map<Expr, int> asked;
  const Expr now = rewrite(c, f, [&](Builder& b, Expr e) -> Expr {
    ++asked[e];
    const auto* v = e->as<Var>();
    return v ? b.var(v->name.str() + "1") : e;
  });
  EXPECT_TRUE(free_vars(now).empty());
  EXPECT_EQ(now->as<Fn>()->params[1]->name, "unused1");
  EXPECT_EQ(now->as<Fn>()->body->as<Let>()->x->name, "x1");
  for (const auto& [e, times] : asked) EXPECT_EQ(times, 1);
  for (const Var* v : {p, unused, x, y}) EXPECT_EQ(asked.count(v), 1u);
}

TEST_F(Rewrite, SubstituteReplacesUsesAndKeepsBinders) {
  const Var *x = b.var("x"), *y = b.var("y");
  const Expr body = b.let(y, x, b.tuple({x, y}));
  const Expr value = one();
  const Expr now = substitute(c, body, {{x, value}});
  EXPECT_EQ(now->as<Let>()->x, y);
  EXPECT_EQ(now->as<Let>()->value, value);
  EXPECT_EQ(substitute(c, body, {{b.var("other"), value}}), body);
}

TEST_F(Rewrite, RefreshSharesNoEvaluation) {
  const Var *x = b.var("x"), *outside = b.var("outside");
  const Expr cell = b.ref_new(outside);
  const Fn* f = fn({x}, b.tuple({cell, x, cell}));
  const auto* copy = refresh(c, f)->as<Fn>();
  EXPECT_TRUE(alpha_equal(copy, f));
  EXPECT_NE(copy->params[0], x);
  const auto* t = copy->body->as<Tuple>();
  EXPECT_NE(t->fields[0], cell);
  EXPECT_EQ(t->fields[0], t->fields[2]);
  EXPECT_EQ(t->fields[0]->as<RefNew>()->value, outside);
}

TEST_F(Rewrite, WithChildren) {
  const Expr x = one(), y = one();
  const Expr call = b.call(b.op(kAdd), {x, x});
  const Expr callee = call->as<Call>()->callee;
  EXPECT_EQ(with_children(c, call, std::vector<Expr>{callee, x, x}), call);
  EXPECT_EQ(with_children(c, call, std::vector<Expr>{callee, x, y})->as<Call>()->args[1], y);
}

using Analysis = Program;
TEST_F(Analysis, FreeVarsAndGlobals) {
  const Var *x = b.var("x"), *y = b.var("y"), *z = b.var("z");
  const Fn* f = fn({x}, b.call(b.global("g"), {z, x, y, b.call(b.global("a"), {z}), b.global("g")}));
  EXPECT_EQ(free_vars(f), (std::vector<const Var*>{z, y}));
  EXPECT_EQ(mentioned_globals(f), (std::vector<Symbol>{c.symbol("a"), c.symbol("g")}));
}

TEST_F(Analysis, FunctionsReachWhatTheyMention) {
  m.set_function("main", fn({}, b.call(b.global("f"), {})));
  m.set_function("f", fn({}, b.tuple({b.global("main"), b.global("k")})));
  m.set_function("unused", fn({}, b.tuple({b.global("f"), b.global("also_unused")})));
  m.set_function("also_unused", fn({}, one()));
  EXPECT_EQ(reachable_from(m, "main"), (std::set<Symbol>{c.symbol("main"), c.symbol("f"), c.symbol("k")}));
  EXPECT_EQ(reachable_from(m, "unused").size(), 5u);
  EXPECT_EQ(reachable_from(m, "no_such"), std::set<Symbol>{c.symbol("no_such")});

  const Module reached = only_reachable_from(m, "main");
  EXPECT_EQ(reached.functions().size(), 2u);
  EXPECT_EQ(reached.function("f"), m.function("f"));
  EXPECT_EQ(reached.function("unused"), nullptr);
  EXPECT_TRUE(only_reachable_from(reached, "main").same(reached));
}

TEST_F(Analysis, SharedNodesAreBoundInTheLowestCommonScope) {
  const Var* p = b.var("p");
  const Expr in_both = b.call(b.op(kAdd), {p, p});
  const Expr in_one = b.call(b.op(kMultiply), {in_both, p});
  const Expr branch = b.tuple({in_one, in_one});
  const Expr choice = b.if_(p, branch, in_both);
  const Fn* f = fn({p}, choice);
  const Scopes s = scopes(f);
  const uint32_t body = s.scope_of.get(choice), then = s.scope_of.get(branch);
  EXPECT_EQ(s.all[body].body, choice);
  EXPECT_EQ(s.all[body].parent, 0u);
  EXPECT_EQ(s.all[then].parent, body);
  EXPECT_EQ(s.all[body].shared, std::vector<Expr>{in_both});
  EXPECT_EQ(s.all[then].shared, std::vector<Expr>{in_one});
  EXPECT_EQ(s.uses.get(in_both), 2u);
  EXPECT_EQ(s.uses.get(f), 0u);
}

TEST_F(Analysis, WellFormedFindsBrokenInvariants) {
  const Var *x = b.var("x"), *y = b.var("y");
  m.set_function("good", fn({x}, b.let(y, fn({}, b.call(y, {})), y)));
  EXPECT_EQ(well_formed(m), std::vector<std::string>());

  m.set_function("twice", fn({x}, x));
  EXPECT_EQ(well_formed(m), std::vector<std::string>{"@twice: variable %x is bound twice"});
  m.remove_function("twice");

  m.set_function("unbound", fn({}, b.let(b.var("z"), b.var("free"), one())));
  EXPECT_EQ(well_formed(m),
            std::vector<std::string>{"@unbound: variable %free is used outside the scope that binds it"});
  m.remove_function("unbound");

  // A use before the let that binds it, and one in a branch that another branch binds.
  const Var *u = b.var("u"), *v = b.var("v");
  m.set_function("early", fn({}, b.tuple({u, b.let(u, one(), u)})));
  m.set_function("other", fn({}, b.if_(b.scalar(kBool, 1), b.let(v, one(), one()), v)));
  EXPECT_EQ(well_formed(m).size(), 2u);
  m.remove_function("early");
  m.remove_function("other");

  // Sharing lifts %w's use to a scope where %w is not bound yet.
  const Var* w = b.var("w");
  const Expr shared = b.tuple({w});
  m.set_function("lifted", fn({}, b.let(w, fn({}, shared), shared)));
  EXPECT_EQ(well_formed(m).size(), 1u);
  m.remove_function("lifted");

  m.set_function("missing", fn({}, b.global("nowhere")));
  EXPECT_EQ(well_formed(m), std::vector<std::string>{"@missing: @nowhere does not exist"});
  m.set_function("missing", fn({}, nullptr));
  EXPECT_EQ(well_formed(m).size(), 1u);
}

using Equality = Program;
TEST_F(Equality, IgnoresNamesOfBoundVariables) {
  const auto make = [&](std::string_view name, Context& context) {
    Builder b(context);
    const Var *x = b.var(name), *y = b.var("y");
    return b.fn(std::vector<const Var*>{x}, b.let(y, b.call(b.op(kAdd), {x, x}), y));
  };
  Context other;
  EXPECT_TRUE(alpha_equal(make("a", c), make("b", c)));
  EXPECT_TRUE(alpha_equal(make("a", c), make("b", other)));
  EXPECT_EQ(structural_hash(make("a", c)), structural_hash(make("b", other)));
}

TEST_F(Equality, SeesSharingButNotOfLeaves) {
  const Var* x = b.var("x");
  const auto sum = [&] { return b.call(b.op(kAdd), {x, x}); };
  const Expr shared = sum();
  EXPECT_FALSE(alpha_equal(b.tuple({shared, shared}), b.tuple({sum(), sum()})));
  EXPECT_FALSE(alpha_equal(b.tuple({sum(), sum()}), b.tuple({shared, shared})));
  const Expr constant = one();
  EXPECT_TRUE(alpha_equal(b.tuple({constant, constant}), b.tuple({one(), one()})));
}

TEST_F(Equality, SeesDifferences) {
  const auto differ = [&](Expr x, Expr y) {
    EXPECT_FALSE(alpha_equal(x, y));
    EXPECT_NE(structural_hash(x), structural_hash(y));
  };
  const Var *x = b.var("x"), *y = b.var("y");
  differ(one(), b.scalar(kFloat32, 2));
  differ(one(), b.scalar(kFloat64, 1));
  differ(b.op(kAdd), b.op(kMultiply));
  differ(b.global("f"), b.global("g"));
  differ(b.proj(x, 0), b.proj(x, 1));
  differ(b.tuple({x}), b.tuple({x, x}));
  differ(x, y);
  differ(b.call(x, {}, c.attrs({{"axis", int64_t{1}}})), b.call(x, {}, c.attrs({{"axis", int64_t{2}}})));
  const Var *p = b.var("p"), *q = b.var("q"), *r = b.var("r"), *s = b.var("s");
  differ(b.fn(std::vector<const Var*>{p, q}, p), b.fn(std::vector<const Var*>{r, s}, s));
  differ(b.fn(std::vector<const Var*>{b.var("x", c.scalar_type(kInt32))}, one()),
         b.fn(std::vector<const Var*>{b.var("x", c.scalar_type(kInt64))}, one()));
}

TEST_F(Equality, TypesUpToNamesOfTypeParameters) {
  const auto identity = [](Context& c, std::string_view name) -> Type {
    const TypeVar* v = c.type_var(name);
    return c.fn_type(std::vector<const TypeVar*>{v}, std::vector<Type>{v}, v);
  };
  Context other;
  EXPECT_TRUE(alpha_equal(identity(c, "A"), identity(c, "B")));
  EXPECT_TRUE(alpha_equal(identity(c, "A"), identity(other, "B")));
  EXPECT_FALSE(alpha_equal(Type(c.type_var("A")), Type(c.type_var("B"))));
  const TypeVar *a = c.type_var("A"), *d = c.type_var("B");
  const Type first = c.fn_type(std::vector<const TypeVar*>{a, d}, std::vector<Type>{a, d}, a);
  const Type second = c.fn_type(std::vector<const TypeVar*>{a, d}, std::vector<Type>{a, d}, d);
  const Type swapped = c.fn_type(std::vector<const TypeVar*>{d, a}, std::vector<Type>{d, a}, d);
  EXPECT_FALSE(alpha_equal(first, second));
  EXPECT_TRUE(alpha_equal(first, swapped));
  // The outer A of one is the inner A of the other.
  const Type outer = c.fn_type(std::vector<const TypeVar*>{a}, std::vector<Type>{identity(c, "B")}, a);
  const Type inner = c.fn_type(std::vector<const TypeVar*>{d}, std::vector<Type>{identity(c, "B")}, d);
  EXPECT_TRUE(alpha_equal(outer, inner));
  const auto dims = [](Context& c) {
    return c.tensor_type({c.shape_variable("n") * Dim(2), c.shape_variable("m")}, kInt8);
  };
  EXPECT_TRUE(alpha_equal(dims(c), dims(other)));
}

TEST_F(Equality, HolesAreEqual) {
  Context other;
  const auto pair = [](Context& in) -> Type {
    return in.tuple_type(std::vector<Type>{in.hole_type(), in.scalar_type(kInt8)});
  };
  EXPECT_TRUE(alpha_equal(pair(c), pair(c)));
  EXPECT_TRUE(alpha_equal(pair(c), pair(other)));
  EXPECT_FALSE(alpha_equal(Type(c.hole_type()), Type(c.scalar_type(kInt8))));
  EXPECT_FALSE(alpha_equal(Type(c.hole_type()), Type(c.type_var("A"))));
}

using Modules = Program;
TEST_F(Modules, AreValues) {
  m.set_function("f", fn({}, one()));
  Module copy = m;
  EXPECT_TRUE(copy.same(m));
  copy.set_function("f", m.function("f"));
  EXPECT_TRUE(copy.same(m));
  copy.set_function("g", fn({}, one()));
  EXPECT_FALSE(copy.same(m));
  EXPECT_EQ(m.function("g"), nullptr);
  EXPECT_NE(copy.function("g"), nullptr);
  EXPECT_FALSE(Module().same(Module()));
}

TEST_F(Modules, AFunctionReplacesAKernelOfItsName) {
  kernel::Kernel k{};
  m.set_kernel("f", c.arena().make<kernel::Kernel>(k));
  m.set_function("f", fn({}, one()));
  EXPECT_EQ(m.kernel("f"), nullptr);
}

TEST_F(Modules, ReplacingADataTypeReplacesItsConstructors) {
  const auto define = [&](std::vector<std::string> names) {
    std::vector<const Constructor*> ctors;
    for (const std::string& name : names) {
      ctors.push_back(c.arena().make<Constructor>(Constructor{c.symbol(name), c.symbol("T"), 0, {}, {}}));
    }
    m.set_data_type(c.arena().make<DataTypeDef>(DataTypeDef{c.symbol("T"), {}, c.arena().list(ctors)}));
  };
  define({"A", "B"});
  define({"B", "C"});
  EXPECT_EQ(m.constructor("A"), nullptr);
  EXPECT_EQ(m.constructor("B"), m.data_type("T")->ctors[0]);
}

TEST_F(Modules, CompactDropsGarbageAndKeepsTheRest) {
  const Var* x = b.var("x", c.tensor_type({c.shape_variable("n"), Dim(4)}, kFloat32));
  for (int i = 0; i < 1000; ++i) b.tuple({x});
  const auto file = c.sources().add("f.relay", "some text");
  b.set_span({file, 0, 4});
  m.set_function("f", fn({x}, b.call(b.op(kAdd), {x, x}, c.attrs({{"axis", Dim(c.shape_variable("n"))}}))));
  kernel::Builder k(c.pool(), 0);
  const kernel::Tensor in = k.input("in", kFloat32, {c.pool().shape_variable("n"), c.pool().integer(4)});
  const kernel::Tensor out =
      k.reduce("out", kFloat32, {c.pool().shape_variable("n")}, {c.pool().integer(4)}, k.sum(kFloat32),
               [&](kernel::Indices i, kernel::Indices r) { return in(i[0], r[0]); });
  const kernel::Kernel sum = k.finish("k", "sum", {out});
  m.set_kernel("k", c.arena().make<kernel::Kernel>(sum));

  const Module now = compact(m);
  EXPECT_TRUE(alpha_equal(now, m));
  EXPECT_LT(now.context().arena().bytes() * 4, c.arena().bytes());
  EXPECT_EQ(now.context().sources().text(now.function("f")->span.file), "some text");
  EXPECT_EQ(kernel::show(*now.kernel("k")), kernel::show(sum));
  EXPECT_EQ(now.function("f")->params[0]->annotation,
            now.context().tensor_type({now.context().shape_variable("n"), Dim(4)}, kFloat32));

  kernel::Builder k2(c.pool(), 100);
  const kernel::Tensor in2 = k2.input("in", kFloat32, {c.pool().shape_variable("n"), c.pool().integer(5)});
  EXPECT_FALSE(structurally_equal(sum, k2.finish("k", "copy", {in2})));
}

}  // namespace
}  // namespace relay
