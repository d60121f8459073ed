// Dims, types, attributes: interning, arithmetic, text.
#include <gtest/gtest.h>

#include <ctime>

#include <cmath>

#include "ir/context.h"

namespace relay {
namespace {

TEST(Dim, ConstantArithmetic) {
  EXPECT_EQ(Dim(7) + Dim(3), Dim(10));
  EXPECT_EQ(Dim(7) - Dim(9), Dim(-2));
  EXPECT_EQ(floor_div(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(floor_mod(Dim(-7), Dim(2)), Dim(1));
  EXPECT_EQ(floor_mod(Dim(7), Dim(-2)), Dim(-1));
  EXPECT_EQ(ceil_div(Dim(7), Dim(2)), Dim(4));
  EXPECT_EQ(ceil_div(Dim(-7), Dim(2)), Dim(-3));
  EXPECT_EQ(ceil_div(Dim(INT64_MAX), Dim(2)), Dim(INT64_MAX / 2 + 1));
  EXPECT_EQ(min(Dim(3), Dim(5)), Dim(3));
  EXPECT_EQ(max(Dim(3), Dim(5)), Dim(5));
}

TEST(Dim, WhatDoesNotFitIsUnknown) {
  EXPECT_TRUE((Dim(INT64_MAX) + Dim(1)).is_unknown());
  EXPECT_TRUE((Dim(INT64_MAX) * Dim(2)).is_unknown());
  EXPECT_TRUE((Dim(-INT64_MAX) - Dim(2)).is_unknown());
  EXPECT_TRUE(floor_div(Dim(4), Dim(0)).is_unknown());
  EXPECT_TRUE(floor_mod(Dim(4), Dim(0)).is_unknown());
  EXPECT_TRUE(ceil_div(Dim(4), Dim(0)).is_unknown());
  EXPECT_TRUE((Dim::unknown() + Dim(1)).is_unknown());
}

TEST(Dim, WhatDoesNotFitStaysTooLarge) {
  Context c;
  const Dim n = c.shape_variable("n"), most(INT64_MAX), beyond = most + Dim(1);
  for (Dim d :
       {beyond, beyond - most, beyond * Dim(2), beyond * n, beyond + Dim::unknown(),
        floor_div(beyond, Dim(2)), min(beyond, Dim(1)), Dim(-INT64_MAX) - Dim(1), exact_quotient(beyond, n)})
    EXPECT_TRUE(d.is_too_large()) << show(d);
  // Coefficients wrap as little as constants do.
  EXPECT_TRUE((n * Dim(int64_t{1} << 62) * Dim(4)).is_too_large());
  EXPECT_TRUE((n * most + n).is_too_large());
  EXPECT_TRUE(((n + most) * (n + most)).is_too_large());
  EXPECT_TRUE((n * most - n * Dim(-2)).is_too_large());
  EXPECT_FALSE((n * Dim(int64_t{1} << 62) + n).is_unknown());
  EXPECT_FALSE(Dim::unknown().is_too_large());
  EXPECT_FALSE((Dim::unknown() * Dim(2)).is_too_large());
  // A product with 0 fits.
  EXPECT_EQ(beyond * Dim(0), Dim(0));
  EXPECT_EQ(product(std::vector<Dim>{most, 4, n, 0}), Dim(0));
  EXPECT_EQ(constant_part(std::vector<Dim>{most, 4, n, 0}), int64_t{1} << 62);
  EXPECT_EQ(constant_part(std::vector<Dim>{3, n, Dim::unknown(), 4}), 12);
  EXPECT_EQ(prove_equal(beyond, beyond), kernel::Proof::kUnknown);
}

TEST(DimDeathTest, AnUnknownOneIsNoExpression) {
  Context c;
  EXPECT_EQ(Dim(3).expr(c.pool()), c.pool().integer(3));
  EXPECT_DEATH((void)Dim::unknown().expr(c.pool()), "an unknown extent has no expression");
  EXPECT_DEATH((void)Dim::too_large().expr(c.pool()), "an unknown extent has no expression");
}

TEST(Dim, SymbolicArithmeticIsCanonical) {
  Context c;
  const Dim n = c.shape_variable("n");
  EXPECT_EQ(n + n, n * Dim(2));
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_TRUE((n - n).is_const());
  EXPECT_EQ(show(n * Dim(2) + Dim(1)), "2*n + 1");
  EXPECT_EQ(floor_div(n * Dim(4), Dim(2)), n * Dim(2));
  EXPECT_EQ(show(ceil_div(n, Dim(2))), "(n + 1) // 2");
  EXPECT_EQ(show(Dim::unknown()), "?");
}

TEST(Dim, OfTwoThatBroadcast) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m"), k = c.shape_variable("k");
  EXPECT_EQ(show(broadcast(n, m)), "broadcast(m, n)");
  EXPECT_EQ(broadcast(n, m), broadcast(m, n));
  EXPECT_EQ(broadcast(broadcast(n, m), k), broadcast(n, broadcast(m, k)));
  EXPECT_EQ(show(broadcast(broadcast(n, m), k)), "broadcast(broadcast(k, m), n)");
  EXPECT_EQ(broadcast(broadcast(n, m), broadcast(m, k)), broadcast(broadcast(n, m), k));
  EXPECT_EQ(broadcast(n, n), n);
  EXPECT_EQ(broadcast(n, Dim(1)), n);
  EXPECT_EQ(broadcast(Dim(1), Dim(1)), Dim(1));
  // What is never 1 is the extent, whatever the other one is.
  for (Dim d : {Dim(8), Dim(0), n + Dim(2), n * m + Dim(3)}) EXPECT_EQ(broadcast(broadcast(m, k), d), d);
  EXPECT_EQ(broadcast(Dim(8), n + Dim(2)), Dim(8));
  // It may be 1, and so may n * 2 + 1; the sum of both may not.
  EXPECT_EQ(show(broadcast(n * Dim(2) + Dim(1), m)), "broadcast(m, 2*n + 1)");
  EXPECT_EQ(prove_equal(broadcast(n, m), n), kernel::Proof::kUnknown);
  EXPECT_EQ(prove_equal(broadcast(n, m) + Dim(1), broadcast(m, n)), kernel::Proof::kRefuted);
  EXPECT_EQ(broadcast(n, m) - broadcast(m, n), Dim(0));
  EXPECT_TRUE(broadcast(n, Dim::unknown()).is_unknown());
  EXPECT_TRUE(broadcast(n, Dim(INT64_MAX) + Dim(1)).is_too_large());
}

TEST(Dim, OfTwoThatBroadcastHasTheValueThatIsNot1) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m"), k = c.shape_variable("k");
  const kernel::Expr e = broadcast(broadcast(n, m), k).symbolic();
  const auto at = [&](int64_t x, int64_t y, int64_t z) {
    return kernel::evaluate(e, {{n.symbolic().get(), x}, {m.symbolic().get(), y}, {k.symbolic().get(), z}});
  };
  EXPECT_EQ(at(1, 1, 1), 1);
  EXPECT_EQ(at(5, 1, 1), 5);
  EXPECT_EQ(at(1, 5, 1), 5);
  EXPECT_EQ(at(1, 1, 5), 5);
  EXPECT_EQ(at(5, 1, 5), 5);
  EXPECT_EQ(at(1, 0, 1), 0);
  EXPECT_EQ(kernel::evaluate(e, {{n.symbolic().get(), 5}}), std::nullopt);
  EXPECT_EQ(substitute(e, {{m.symbolic().get(), c.pool().integer(1)}}), broadcast(n, k).symbolic());
  EXPECT_TRUE(substitute(e, {{m.symbolic().get(), c.pool().integer(4)}}).is_int(4));
}

TEST(Dim, ExactQuotient) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  EXPECT_EQ(exact_quotient(n * m * Dim(8), n * m * Dim(2)), Dim(4));
  EXPECT_EQ(exact_quotient(n * n * m, n), n * m);
  EXPECT_EQ(exact_quotient((n + Dim(1)) * (m - Dim(2)) * n, n + Dim(1)), (m - Dim(2)) * n);
  EXPECT_EQ(exact_quotient(n * Dim(INT64_MAX), n * Dim(-1)), Dim(-INT64_MAX));
  EXPECT_EQ(exact_quotient(Dim(0), n), Dim(0));
  EXPECT_EQ(exact_quotient(Dim(12), Dim(4)), Dim(3));
}

TEST(Dim, AQuotientThatDoesNotHoldForAllValuesIsUnknown) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  EXPECT_TRUE(exact_quotient(n * Dim(3), n * Dim(2)).is_unknown());
  EXPECT_TRUE(exact_quotient(n, m).is_unknown());
  EXPECT_TRUE(exact_quotient(n, n * n).is_unknown());
  EXPECT_TRUE(exact_quotient(n + Dim(1), n).is_unknown());
  EXPECT_TRUE(exact_quotient(n, Dim(0)).is_unknown());
  EXPECT_TRUE(exact_quotient(Dim(5), Dim(0)).is_unknown());
  EXPECT_TRUE(exact_quotient(Dim(0), Dim(0)).is_unknown());
  EXPECT_TRUE(exact_quotient(Dim::unknown(), n).is_unknown());
}

TEST(Dim, ProveEqual) {
  Context c;
  const Dim n = c.shape_variable("n"), m = c.shape_variable("m");
  EXPECT_EQ(prove_equal(n + m, m + n), kernel::Proof::kProved);
  EXPECT_EQ(prove_equal(n, n + Dim(1)), kernel::Proof::kRefuted);
  EXPECT_EQ(prove_equal(n, m), kernel::Proof::kUnknown);
  EXPECT_EQ(prove_equal(n, Dim(4)), kernel::Proof::kUnknown);
  EXPECT_EQ(prove_equal(Dim(4), Dim(5)), kernel::Proof::kRefuted);
  EXPECT_EQ(prove_equal(Dim::unknown(), Dim::unknown()), kernel::Proof::kUnknown);
}

TEST(Types, EqualTypesAreOnePointer) {
  Context c;
  const Dim n = c.shape_variable("n");
  const Type t = c.tensor_type({n, Dim(8)}, kFloat32);
  EXPECT_EQ(t, c.tensor_type({c.shape_variable("n"), Dim(8)}, kFloat32));
  EXPECT_NE(t, c.tensor_type({n, Dim(8)}, kFloat16));
  EXPECT_NE(t, c.tensor_type({Dim(8), n}, kFloat32));
  const std::vector<Type> two{t, t};
  EXPECT_EQ(c.tuple_type(two), c.tuple_type(std::vector<Type>{t, t}));
  EXPECT_EQ(c.ref_type(t), c.ref_type(t));
  EXPECT_EQ(c.type_var("A"), c.type_var("A"));
  EXPECT_EQ(c.data_type("List", two), c.data_type("List", two));
  EXPECT_NE(c.data_type("List", two), c.data_type("Tree", two));
  const std::vector<const TypeVar*> params{c.type_var("A")};
  EXPECT_EQ(c.fn_type(params, two, t), c.fn_type(params, two, t));
  EXPECT_NE(c.fn_type(params, two, t), c.fn_type({}, two, t));
  EXPECT_NE(c.hole_type(), c.hole_type());
}

TEST(Types, KnowWhatOccursInThem) {
  Context c;
  const Type hole = c.hole_type();
  EXPECT_TRUE(c.ref_type(hole)->has_hole);
  EXPECT_FALSE(c.ref_type(hole)->has_type_var);
  EXPECT_TRUE(c.data_type("List", std::vector<Type>{c.type_var("A")})->has_type_var);
  EXPECT_TRUE(c.ref_type(c.tensor_type({c.shape_variable("n")}, kFloat32))->has_symbolic_dim);
  EXPECT_FALSE(c.tensor_type({Dim::unknown()}, kFloat32)->has_symbolic_dim);
}

TEST(Types, Text) {
  Context c;
  const Type scalar = c.scalar_type(kInt32);
  const Type t = c.tensor_type({c.shape_variable("n"), Dim::unknown(), Dim(128)}, kFloat32);
  const TypeVar* a = c.type_var("A");
  EXPECT_EQ(show(scalar), "int32");
  EXPECT_EQ(show(t), "Tensor[(n, ?, 128), float32]");
  EXPECT_EQ(show(c.tuple_type({})), "()");
  EXPECT_EQ(show(c.tuple_type(std::vector<Type>{scalar})), "(int32,)");
  EXPECT_EQ(show(c.tuple_type(std::vector<Type>{scalar, t})), "(int32, Tensor[(n, ?, 128), float32])");
  const Type list = c.data_type("List", std::vector<Type>{a});
  EXPECT_EQ(show(c.fn_type(std::vector<const TypeVar*>{a}, std::vector<Type>{scalar, a}, list)),
            "fn[A](int32, A) -> List[A]");
  EXPECT_EQ(show(c.ref_type(c.hole_type())), "ref(_)");
  EXPECT_EQ(show(Type(nullptr)), "_");
}

// Shared parts make the text exponentially longer than the type.
TEST(Types, TextOfASharedTypeCanBeCut) {
  Context c;
  Type t = c.scalar_type(kInt32);
  for (int i = 0; i < 200; ++i) t = c.tuple_type(std::vector<Type>{t, t});
  EXPECT_LT(show(t, 100).size(), 400u);
  for (int i = 0; i < 100'000; ++i) t = c.ref_type(t);
  EXPECT_EQ(show(t, 20).substr(0, 8), "ref(ref(");
}

TEST(Attrs, AreSortedAndInterned) {
  Context c;
  const Attrs a = c.attrs({{"b", int64_t{1}}, {"a", true}});
  const Attrs b = c.attrs({{"a", true}, {"b", int64_t{7}}, {"b", int64_t{1}}});
  EXPECT_EQ(a.begin(), b.begin());
  EXPECT_EQ(a.begin()->name, "a");
  EXPECT_EQ(a.find("b")->integer, 1);
  EXPECT_EQ(a.find("c"), nullptr);
  EXPECT_TRUE(a.flag("a"));
  EXPECT_TRUE(a.flag("b"));
  EXPECT_FALSE(a.flag("c"));
  EXPECT_TRUE(c.attrs({}).empty());
}

TEST(Attrs, Values) {
  Context c;
  EXPECT_EQ(c.attr_value(Dim(3)).kind, AttrKind::kInt);
  EXPECT_EQ(c.attr_value(Dim(c.shape_variable("n"))).kind, AttrKind::kDim);
  EXPECT_EQ(c.attr_value(Dim::unknown()).kind, AttrKind::kDim);
  EXPECT_EQ(show(c.attr_value(kFloat32)), "\"float32\"");
  EXPECT_EQ(show(c.attr_value(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(show(c.attr_value(std::vector<int64_t>{})), "[]");
  EXPECT_EQ(show(c.attr_value(std::vector<Dim>{Dim(1), c.shape_variable("n")})), "[1, n]");
  EXPECT_EQ(show(c.attr_value(std::vector<std::string>{"a\"b", "c"})), "[\"a\\\"b\", \"c\"]");
  EXPECT_EQ(show(c.attr_value(0.5)), "0.5f");
  EXPECT_EQ(show(c.attr_value(true)), "True");
  EXPECT_EQ(show(c.attr_value(NoAttr())), "None");
  EXPECT_EQ(c.attr_value(std::nan("")), c.attr_value(std::nan("")));
  EXPECT_FALSE(c.attr_value(0.0) == c.attr_value(-0.0));
  EXPECT_FALSE(c.attr_value(1.0) == c.attr_value(int64_t{1}));
}

TEST(Attrs, ManyListsAreInternedInLinearTime) {
  Context c;
  const auto start = std::clock();
  const auto slice = [&](int64_t i) { return c.attrs({{"begin", std::vector<int64_t>{i, 0}}}); };
  for (int64_t i = 0; i < 100'000; ++i) slice(i);
  EXPECT_EQ(slice(5).begin(), slice(5).begin());
  EXPECT_NE(slice(5).begin(), slice(6).begin());
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0);
}

TEST(Attrs, DeeplyNestedListsDoNotOverflow) {
  Context c;
  const auto nest = [&] {
    AttrValue v = c.attr_value(int64_t{1});
    for (int i = 0; i < 100'000; ++i) v = c.attr_list({&v, 1});
    return v;
  };
  EXPECT_EQ(nest(), nest());
  EXPECT_EQ(show(nest()).size(), 200'001u);
}

}  // namespace
}  // namespace relay
