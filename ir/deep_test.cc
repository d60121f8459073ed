// Programs of 10^5 nodes, long or deeply nested in every form: nothing in ir/ may
// recurse over them.
#include <gtest/gtest.h>

#include "ir/analysis.h"
#include "ir/evaluation_order.h"
#include "ir/rewrite.h"

namespace relay {
namespace {

constexpr int kDepth = 100'000;

// One program for each form that can be nested.
struct Shape {
  const char* name;
  Expr (*wrap)(Builder& b, Module& m, Expr e);
};

const Constructor& wrapper(Module& m) {
  if (const Constructor* known = m.constructor("Wrap")) return *known;
  Context& c = m.context();
  Constructor ctor{c.symbol("Wrap"), c.symbol("Box"), 0, {}, {}};
  ctor.fields = c.arena().list(std::vector<Type>{c.scalar_type(kFloat32)});
  const Constructor* made = c.arena().make<Constructor>(ctor);
  DataTypeDef def{c.symbol("Box"), {}, c.arena().list(std::vector<const Constructor*>{made})};
  m.set_data_type(c.arena().make<DataTypeDef>(def));
  return *made;
}

Expr in_call(Builder& b, Module&, Expr e) { return b.call(b.global("main"), {e}); }
Expr in_curried_call(Builder& b, Module&, Expr e) { return b.call(e, {}); }
Expr in_tuple(Builder& b, Module&, Expr e) { return b.tuple({e}); }
Expr in_projection(Builder& b, Module&, Expr e) { return b.proj(e, 0); }
Expr in_function(Builder& b, Module&, Expr e) { return b.fn({}, e); }
Expr in_let_value(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, e, x);
}
Expr in_let_body(Builder& b, Module&, Expr e) { return b.let(b.var("x"), b.scalar(kFloat32, 1), e); }
Expr in_condition(Builder& b, Module&, Expr e) {
  return b.if_(e, b.scalar(kFloat32, 1), b.scalar(kFloat32, 2));
}
Expr in_branch(Builder& b, Module&, Expr e) { return b.if_(b.scalar(kBool, 1), b.scalar(kFloat32, 1), e); }
Expr in_matched(Builder& b, Module& m, Expr e) {
  const Var* x = b.var("x");
  const std::vector<Pattern> fields{b.bind(x)};
  return b.match(e, std::vector<Arm>{{b.ctor_pattern(wrapper(m), fields), x}}, true);
}
Expr in_arm(Builder& b, Module&, Expr e) {
  return b.match(b.scalar(kFloat32, 1), std::vector<Arm>{{b.wildcard(), e}}, true);
}
Expr in_ref(Builder& b, Module&, Expr e) { return b.ref_new(e); }
Expr in_read(Builder& b, Module&, Expr e) { return b.ref_read(e); }
Expr in_write(Builder& b, Module&, Expr e) { return b.ref_write(e, e); }  // shared: 2^depth paths

class Deep : public testing::TestWithParam<Shape> {
 protected:
  Module make() const {
    Module m;
    wrapper(m);
    Builder b(m.context());
    Expr e = b.scalar(kFloat32, 1);
    for (int i = 0; i < kDepth; ++i) e = GetParam().wrap(b, m, e);
    const Var* x = b.var("x");
    m.set_function("main", b.fn(std::vector<const Var*>{x}, e));
    return m;
  }
};

TEST_P(Deep, EveryTraversalSurvives) {
  const Module m = make(), again = make();
  const Fn* main = m.function("main");
  const auto nodes = post_order(main).size();
  EXPECT_GE(nodes, static_cast<size_t>(kDepth));

  size_t entered = 0, left = 0;
  walk(main, [&](Expr) { return ++entered > 0; }, [&](Expr) { ++left; });
  EXPECT_EQ(entered, nodes);
  EXPECT_EQ(left, nodes);

  EXPECT_TRUE(free_vars(main).empty());
  EXPECT_EQ(scopes(main).all[0].body, main);
  EXPECT_EQ(evaluation_order(main).size(), nodes);
  EXPECT_EQ(well_formed(m), std::vector<std::string>());
  EXPECT_TRUE(alpha_equal(m, again));
  EXPECT_EQ(structural_hash(main), structural_hash(again.function("main")));
  EXPECT_TRUE(alpha_equal(m, compact(m)));

  EXPECT_TRUE(rewrite(m, [](Builder&, Expr e) { return e; }).same(m));
  const Module changed = rewrite(m, [](Builder& b, Expr e) -> Expr {
    return e->kind == ExprKind::kConstant ? b.scalar(kFloat32, 3) : e;
  });
  EXPECT_FALSE(changed.same(m));
  EXPECT_FALSE(alpha_equal(changed, m));
  EXPECT_EQ(post_order(changed.function("main")).size(), nodes);
  EXPECT_TRUE(alpha_equal(refresh(m.context(), main), main));
}

INSTANTIATE_TEST_SUITE_P(Forms, Deep,
                         testing::Values(Shape{"call", in_call}, Shape{"curried_call", in_curried_call},
                                         Shape{"tuple", in_tuple}, Shape{"projection", in_projection},
                                         Shape{"function", in_function}, Shape{"let_value", in_let_value},
                                         Shape{"let_body", in_let_body}, Shape{"condition", in_condition},
                                         Shape{"branch", in_branch}, Shape{"matched", in_matched},
                                         Shape{"arm", in_arm}, Shape{"ref", in_ref}, Shape{"read", in_read},
                                         Shape{"write", in_write}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DeepPattern, EveryTraversalSurvives) {
  Module m;
  Builder b(m.context());
  const Var* x = b.var("x");
  Pattern p = b.bind(x);
  for (int i = 0; i < kDepth; ++i) p = b.tuple_pattern(std::vector<Pattern>{p});
  const Var* v = b.var("v");
  m.set_function("main", b.fn(std::vector<const Var*>{v}, b.match(v, std::vector<Arm>{{p, x}}, true)));
  const Fn* main = m.function("main");
  EXPECT_EQ(well_formed(m), std::vector<std::string>());
  EXPECT_TRUE(alpha_equal(m, compact(m)));
  EXPECT_TRUE(alpha_equal(refresh(m.context(), main), main));
  EXPECT_EQ(structural_hash(refresh(m.context(), main)), structural_hash(main));
}

TEST(DeepType, EveryTraversalSurvives) {
  Module m;
  Context& c = m.context();
  Builder b(c);
  Type t = c.type_var("A");
  for (int i = 0; i < kDepth; ++i) t = c.tuple_type(std::vector<Type>{t});
  const Var* x = b.var("x", t);
  m.set_function("main",
                 b.fn(std::vector<const Var*>{x}, x, t, {}, std::vector<const TypeVar*>{c.type_var("A")}));
  EXPECT_TRUE(alpha_equal(m, compact(m)));
  EXPECT_EQ(show(t, 10).substr(0, 5), "(((((");
}

// A chain of lets that all mention one variable: the lowest common scope of its uses is found in
// logarithmic time.
TEST(DeepScopes, AVariableUsedEverywhere) {
  Context c;
  Builder b(c);
  const Var* x = b.var("x");
  Expr e = x;
  const Expr shared = b.call(b.global("f"), {x});
  for (int i = 0; i < kDepth; ++i) e = b.let(b.var("y"), b.tuple({x, shared}), e);
  const Fn* fn = b.fn(std::vector<const Var*>{x}, e);
  const Scopes s = scopes(fn);
  EXPECT_EQ(s.scope_of.get(shared), 1u);
  EXPECT_EQ(s.all[1].shared, std::vector<Expr>{shared});
}

}  // namespace
}  // namespace relay
