// Every field of every form and of every kind of type counts: two that differ in it alone are
// different, but for the fields that `is_compared` leaves out. Forms without children are leaves.
// A new form is tested without a line; a field of a new type does not compile before `fill` and
// `vary` take it.
#include "ir/fields.h"

#include <gtest/gtest.h>

#include "ir/analysis.h"
#include "ir/import.h"
#include "ir/testing.h"

namespace relay {
namespace {

struct Fields : WithModule {
  const Constructor* constructor(std::string_view name) {
    return c.arena().make<Constructor>(Constructor{c.symbol(name), c.symbol("T"), 0, {}, {}});
  }
  template <class T>
  void add(List<T>& list, T item) {
    std::vector<T> items(list.begin(), list.end());
    items.push_back(item);
    list = c.arena().list(items);
  }

  // A value for a field, by its type.
  void fill(Expr& field) { field = b.scalar(kFloat32, 1); }
  void fill(List<Expr>& field) { add<Expr>(field, b.scalar(kFloat32, 1)); }
  void fill(const Var*& field) { field = b.var("x"); }
  void fill(List<const Var*>& field) { add(field, b.var("x")); }
  void fill(Symbol& field) { field = c.symbol("name"); }
  void fill(Type& field) { field = c.scalar_type(kFloat32); }
  void fill(List<Type>& field) { add<Type>(field, c.scalar_type(kFloat32)); }
  void fill(List<const TypeVar*>&) {}
  void fill(Attrs&) {}
  void fill(const Tensor*& field) { field = b.scalar(kFloat32, 1)->value; }
  void fill(const op::OpDef*& field) { field = &kAdd; }
  void fill(const Constructor*& field) { field = constructor("A"); }
  void fill(uint32_t& field) { field = 0; }
  void fill(bool& field) { field = false; }
  void fill(List<Arm>& field) { add(field, Arm{b.wildcard(), b.scalar(kFloat32, 1)}); }
  void fill(PatternKind& field) { field = PatternKind::kCtor; }
  void fill(Span&) {}
  void fill(Pattern& field) { field = b.wildcard(); }
  void fill(List<Pattern>& field) { add(field, b.wildcard()); }
  void fill(List<Dim>& field) { add(field, Dim(2)); }
  void fill(DType& field) { field = kFloat32; }

  // Another value.
  void vary(Expr& field) { field = b.scalar(kFloat32, 2); }
  void vary(List<Expr>& field) { fill(field); }
  void vary(const Var*& field) { field = b.var("x", c.scalar_type(kInt8)); }
  void vary(List<const Var*>& field) { fill(field); }
  void vary(Symbol& field) { field = c.symbol("other"); }
  void vary(Type& field) { field = c.scalar_type(kInt8); }
  void vary(List<Type>& field) { fill(field); }
  void vary(List<const TypeVar*>& field) { add(field, c.type_var("A")); }
  void vary(Attrs& field) { field = c.attrs({{"axis", int64_t{1}}}); }
  void vary(const Tensor*& field) { field = b.scalar(kFloat32, 2)->value; }
  void vary(const op::OpDef*& field) { field = &kMultiply; }
  void vary(const Constructor*& field) { field = constructor("B"); }
  void vary(uint32_t& field) { field = 1; }
  void vary(bool& field) { field = true; }
  void vary(List<Arm>& field) { fill(field); }
  void vary(PatternKind& field) { field = PatternKind::kTuple; }
  void vary(Span& field) { field = {1, 2, 3}; }
  void vary(Pattern& field) { field = b.bind(b.var("y")); }
  void vary(List<Pattern>& field) { fill(field); }
  void vary(List<Dim>& field) { fill(field); }
  void vary(DType& field) { field = kInt8; }

  template <class T>
  T filled() {
    T out{};
    for_each_field(out, [&](auto& field) { fill(field); });
    return out;
  }

  // Calls f with each copy of the struct that differs in one field, and that field.
  template <class T, class F>
  void for_each_variant(const T& n, F&& f) {
    const auto one = [&](auto field) {
      T other = n;
      vary(other.*field);
      f(other, field);
    };
    T::kFields([&](auto... field) { (one(field), ...); });
  }

  void expect_equal(Expr x, Expr y, bool equal) {
    EXPECT_EQ(alpha_equal(x, y), equal);
    EXPECT_EQ(structural_hash(x) == structural_hash(y), equal);
  }
  Expr matching(const Arm& arm) { return b.match(b.scalar(kFloat32, 1), std::vector<Arm>{arm}, true); }
  Expr matching(const PatternNode& p) {
    return matching(Arm{c.arena().make<PatternNode>(p), b.scalar(kFloat32, 1)});
  }

  template <class T>
  void form() {
    SCOPED_TRACE(static_cast<int>(T::kKind));
    const T n = filled<T>();
    expect_equal(c.node(n), c.node(n), true);
    size_t children = 0;
    for_each_child(c.node(n), [&](Expr) { ++children; });
    EXPECT_EQ(is_leaf(c.node(n)), children == 0) << "ExprKind has the leaves first";
    size_t number = 0;
    for_each_variant(n, [&](const T& other, auto field) {
      SCOPED_TRACE(number++);
      expect_equal(c.node(n), c.node(other), !is_compared(field));
    });
  }
  template <class... T>
  void forms(TypeList<T...>) {
    (form<T>(), ...);
  }

  template <class T>
  void type() {
    SCOPED_TRACE(static_cast<int>(T::kKind));
    if constexpr (!std::is_same_v<T, HoleType>) {
      const T n = filled<T>();
      const Type t = c.type(n);
      EXPECT_EQ(t, c.type(n));
      Context elsewhere;
      EXPECT_TRUE(alpha_equal(t, Importer(elsewhere).type(t)));
      EXPECT_EQ(Importer(c).type(Importer(elsewhere).type(t)), t);
      std::vector<Type> parts;
      for_each_part(t, [&](Type part) { parts.push_back(part); });
      EXPECT_EQ(c.with_parts(t, parts), t);
      size_t number = 0;
      for_each_variant(n, [&](const T& other, auto) {
        SCOPED_TRACE(number++);
        EXPECT_NE(c.type(other), t);
        EXPECT_FALSE(alpha_equal(c.type(other), t));
        EXPECT_FALSE(alpha_equal(Importer(elsewhere).type(c.type(other)), t));
      });
    }
  }
  template <class... T>
  void types(TypeList<T...>) {
    (type<T>(), ...);
  }
};

TEST_F(Fields, OfEachFormCount) { forms(AllExprs{}); }

TEST_F(Fields, OfArmsCount) {
  const Arm arm = filled<Arm>();
  for_each_variant(arm, [&](const Arm& other, auto) { expect_equal(matching(arm), matching(other), false); });
}

TEST_F(Fields, OfPatternsCountButForTheSpan) {
  const PatternNode p = filled<PatternNode>();
  size_t number = 0;
  for_each_variant(p, [&](const PatternNode& other, auto) {
    SCOPED_TRACE(number++);
    expect_equal(matching(p), matching(other), other.span.known());
  });
}

TEST_F(Fields, OfDataTypesAndConstructorsCountButForTheSpan) {
  const auto with = [&](const DataTypeDef& def) {
    Module out;
    out.set_data_type(&def);
    return out;
  };
  const auto around = [&](const Constructor& ctor) {
    const std::vector<const Constructor*> list{c.arena().make<Constructor>(ctor)};
    return c.arena().make<DataTypeDef>(DataTypeDef{c.symbol("T"), {}, c.arena().list(list)});
  };
  const Constructor ctor = filled<Constructor>();
  for_each_variant(ctor, [&](const Constructor& other, auto) {
    EXPECT_EQ(alpha_equal(with(*around(ctor)), with(*around(other))), other.span.known());
  });
  const DataTypeDef& def = *around(ctor);
  for (const bool is_extern : {false, true}) {
    DataTypeDef other = def;
    other.is_extern = is_extern;
    EXPECT_EQ(alpha_equal(with(def), with(other)), !is_extern);
  }
  DataTypeDef other = def;
  other.params = c.arena().list(std::vector<const TypeVar*>{c.type_var("A")});
  EXPECT_FALSE(alpha_equal(with(def), with(other)));
}

TEST_F(Fields, OfEachKindOfTypeCount) { types(AllTypes{}); }

TEST_F(Fields, AreVisitedAsChildrenBindersAndParts) {
  const Var *x = b.var("x"), *y = b.var("y");
  const Expr value = b.scalar(kFloat32, 1), body = b.tuple({x, y});
  const Pattern pair = b.tuple_pattern(std::vector<Pattern>{b.bind(x), b.bind(y)});
  const auto parts = [](Expr e) {
    std::vector<Expr> out;
    for_each_child(e, [&](Expr child) { out.push_back(child); });
    for_each_binder(e, [&](const Var* v) { out.push_back(v); });
    return out;
  };
  EXPECT_EQ(parts(b.match(value, std::vector<Arm>{{pair, body}}, true)),
            (std::vector<Expr>{value, body, x, y}));
  EXPECT_EQ(parts(b.let(x, value, body)), (std::vector<Expr>{value, body, x}));
  EXPECT_EQ(parts(b.fn(std::vector<const Var*>{x, y}, body)), (std::vector<Expr>{body, x, y}));
}

}  // namespace
}  // namespace relay
