// What keeps the type that an earlier check found, and what does not.
#include <gtest/gtest.h>

#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::typecheck {
namespace {

const std::string kList = "type List[A] { Cons(A, List[A]), Nil }\n";

Module checked_text(const std::string& text) {
  Diagnostics diagnostics;
  Result<Module> m = parse("test.relay", kList + text, diagnostics, op::operators());
  EXPECT_TRUE(m) << diagnostics.render({});
  Result<Module> out = check(*m, diagnostics);
  EXPECT_TRUE(out) << diagnostics.render({});
  return *out;
}

// What a pass leaves: an `if` gives way to its first branch and, unless `lets` stay, each
// let to its value.
Module simpler(const Module& m, bool lets) {
  std::unordered_map<const Var*, Expr> values;
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  for (Expr e : post_order(roots)) {
    if (const auto* let = e->as<Let>(); let && !lets) values[let->x] = let->value;
  }
  return rewrite(m, [&](Builder&, Expr e) -> Expr {
    if (const auto* x = e->as<Var>(); x && values.contains(x)) return values.at(x);
    if (const auto* let = e->as<Let>(); let && !lets) return let->body;
    const auto* branch = e->as<If>();
    return branch ? branch->then_branch : e;
  });
}

// The text of the function after a second check; what is wrong if it fails. The checked module
// reads as it prints, and another check finds nothing to do.
std::string kept(const std::string& text, std::string_view name = "main", bool lets = false) {
  Diagnostics diagnostics;
  const Result<Module> m = check(simpler(checked_text(text), lets), diagnostics);
  if (!m) return diagnostics.all().front().message();
  EXPECT_EQ(well_formed(*m), std::vector<std::string>());
  const Result<Module> again = check(*m, diagnostics);
  EXPECT_TRUE(again && again->same(*m));
  const std::string printed = op::text_of(*m, {});
  Result<Module> read = parse("printed.relay", printed, diagnostics, op::operators());
  EXPECT_TRUE(read && check(*read, diagnostics)) << printed << diagnostics.render({});
  const size_t at = printed.find(cat("def @", name));
  return printed.substr(at, printed.find("\n}", at) + 2 - at);
}

TEST(EarlierTypes, ACallOfAConstructor) {
  EXPECT_EQ(kept("def @main(%x: float32) { let %l: List[float32] = Nil;\n"
                 "  match (%l) { Cons(%y, _) => add(%y, %x), Nil => %x } }"),
            "def @main(%x: float32) {\n"
            "  %0 = (\n"
            "    let %value: List[float32] = Nil;\n"
            "    %value\n"
            "  );\n"
            "  match (%0) {\n"
            "    Cons(%y, _) => add(%y, %x),\n"
            "    Nil => %x,\n"
            "  }\n"
            "}");
}

TEST(EarlierTypes, TypeParametersAndShapeVariables) {
  const std::string text = kept(
      "def @main[A](%a: A, %x: Tensor[(n), float32]) -> bool {\n"
      "  let %l: List[(A, Tensor[(n), float32])] = Nil;\n"
      "  match (%l) { Cons(_, _) => True, Nil => False } }");
  EXPECT_NE(text.find("let %value: List[(A, Tensor[(n), float32])] = Nil;"), std::string::npos) << text;
}

// A call that is the last thing that a function does stays it.
TEST(EarlierTypes, ACallOfAGenericFunction) {
  const std::string text = kept(
      "def @empty[A](%n: int32) -> List[A] { Nil }\n"
      "def @is_empty[A](%l: List[A]) -> bool { match (%l) { Cons(_, _) => False, Nil => True } }\n"
      "def @main(%n: int32) { let %l: List[float32] = @empty(%n); @is_empty(%l) }");
  EXPECT_NE(text.find("let %callee: fn(int32) -> List[float32] = @empty;\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%callee(%n)"), std::string::npos) << text;
}

TEST(EarlierTypes, AFunctionDoesNotBecomeGeneric) {
  const std::string program =
      "def @f(%x: float32) { if (True) { Nil } else { Cons(%x, Nil) } }\n"
      "def @main(%x: float32) { match (@f(%x)) { Cons(%y, _) => add(%y, %x), Nil => %x } }";
  EXPECT_EQ(kept(program, "f"), "def @f(%x: float32) -> List[float32] {\n  Nil\n}");
  const std::string bound = kept(
      "def @main(%x: float32) { let %f = fn (%b: bool) { if (%b) { Nil } else { Cons(%x, Nil) } };\n"
      "  match (%f(True)) { Cons(%y, _) => add(%y, %x), Nil => %x } }",
      "main", /*lets=*/true);
  EXPECT_NE(bound.find("let %f = fn (%b: bool) -> List[float32] { Nil };"), std::string::npos) << bound;
}

TEST(EarlierTypes, AParameterWithoutAnnotation) {
  const std::string text = kept(
      "def @main(%x: float32) {\n"
      "  let %fs: List[fn(float32) -> (float32, bool)] = Cons(fn (%y) { (%y, True) }, Nil);\n"
      "  match (%fs) { Cons(_, _) => %x, Nil => %x } }");
  EXPECT_NE(text.find("fn (%y: float32)"), std::string::npos) << text;
}

// An earlier type is no reason where others are.
TEST(EarlierTypes, WhatIsDeterminedIsAnother) {
  const Module m = checked_text(
      "def @main(%x: float32) { let %l: List[float32] = Nil; match (%l) { Cons(%y, _) => %y, Nil => %x } }");
  Builder b(m.context());
  const Type other = m.context().data_type("List", std::vector<Type>{m.context().scalar_type(kInt32)});
  const Module changed = rewrite(m, [&](Builder& builder, Expr e) -> Expr {
    const auto* let = e->as<Let>();
    if (!let) return e;
    const Var* x = builder.var("l", other);
    return builder.let(x, let->value, x);
  });
  Diagnostics diagnostics;
  const Result<Module> out = check(changed, diagnostics);
  ASSERT_TRUE(out) << diagnostics.render({});
  EXPECT_EQ(show(out->function("main")->body->type), "List[int32]");
}

TEST(EarlierTypes, ProgramsOfPeopleHaveNone) {
  Diagnostics diagnostics;
  const Result<Module> m =
      parse("test.relay", kList + "def @main() { match (Nil) { Cons(%y, _) => add(%y, %y), Nil => 0f } }",
            diagnostics, op::operators());
  ASSERT_TRUE(m);
  EXPECT_FALSE(check(*m, diagnostics));
  EXPECT_EQ(diagnostics.all().front().slug().name(), "ambiguous-type");
}

}  // namespace
}  // namespace relay::typecheck
