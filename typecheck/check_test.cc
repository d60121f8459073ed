// Types that are inferred, and mistakes that are found. The messages themselves are in
// tests/golden/typecheck.
#include "typecheck/check.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::typecheck {
namespace {

struct Outcome {
  std::optional<Checked> checked;
  std::vector<std::string> slugs;
  std::string messages;
};

Outcome run(const std::string& text) {
  Outcome out;
  Diagnostics diagnostics;
  ParseOptions options;
  Result<Module> m = parse("test.relay", text, diagnostics, op::operators(), options);
  if (m) {
    Result<Checked> checked = infer(*m, diagnostics);
    if (checked) out.checked = *checked;
    EXPECT_EQ(checked.ok(), !diagnostics.has_errors());
  }
  for (const Diagnostic& d : diagnostics.all()) out.slugs.emplace_back(d.slug().name());
  out.messages = diagnostics.render(options.into.context().sources());
  return out;
}

// The type of a global, "main" unless named.
std::string type_of(const std::string& text, std::string_view name = "main") {
  const Outcome out = run(text);
  if (!out.checked) return out.messages;
  const Module& m = out.checked->module;
  // Typing what is typed changes nothing.
  Diagnostics again;
  Result<Module> twice = check(m, again);
  EXPECT_TRUE(twice && twice->same(m)) << text;
  EXPECT_EQ(well_formed(m), std::vector<std::string>());
  for (const auto& [_, fn] : m.functions()) {
    for (Expr e : post_order(fn)) EXPECT_TRUE(e->type && !e->type->has_hole) << text;
  }
  return show(m.function(name)->type);
}

std::string slugs(const std::string& text) { return join(run(text).slugs, " "); }

const std::string kList = "type List[A] { Cons(A, List[A]), Nil }\n";
const std::string kNat = "type Nat { Zero, Succ(Nat) }\n";

TEST(Infer, Forms) {
  EXPECT_EQ(type_of("def @main() { 1 }"), "fn() -> int32");
  EXPECT_EQ(type_of("def @main() { (1, 2f, ()) }"), "fn() -> (int32, float32, ())");
  EXPECT_EQ(type_of("def @main(%x: (int32, float32)) { %x.1 }"), "fn((int32, float32)) -> float32");
  EXPECT_EQ(type_of("def @main(%x: Tensor[(2, 3), float32]) { add(%x, %x) }"),
            "fn(Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]");
  EXPECT_EQ(type_of("def @main(%c: bool) { if (%c) { 1 } else { 2 } }"), "fn(bool) -> int32");
  EXPECT_EQ(type_of("def @main(%x: int32) { let %r = ref(%x); ref_write(%r, 2); ref_read(%r) }"),
            "fn(int32) -> int32");
  EXPECT_EQ(type_of("def @main() { fn(%x: int32) { %x } }"), "fn() -> fn(int32) -> int32");
  EXPECT_EQ(type_of("def @main() { (fn(%x: int32) { %x })(3) }"), "fn() -> int32");
  EXPECT_EQ(type_of("def @main(%x: float32) { let %f = add; %f(%x, %x) }"), "fn(float32) -> float32");
  EXPECT_EQ(type_of(kList + "def @main() { Cons(1, Nil()) }"), "fn() -> List[int32]");
  EXPECT_EQ(type_of(kList + "def @main(%l: List[int32]) { match (%l) { Cons(%x, _) => %x, Nil => 0 } }"),
            "fn(List[int32]) -> int32");
  EXPECT_EQ(type_of("def @main(%p: (int32, (bool, int8))) { match (%p) { (_, (_, %x)) => %x } }"),
            "fn((int32, (bool, int8))) -> int8");
}

TEST(Infer, WhatIsNotAnnotated) {
  EXPECT_EQ(type_of("def @main(%x) { add(%x, 1f) }\ndef @go() { @main(2f) }"), "fn(float32) -> float32");
  EXPECT_EQ(type_of("def @main(%c) { if (%c) { 1 } else { 2 } }"), "fn(bool) -> int32");
  EXPECT_EQ(type_of("def @main() { let %f = fn(%p) { %p.0 }; %f((1, 2)) }"), "fn() -> int32");
  EXPECT_EQ(type_of("def @main(%x: _) { let %y: _ = %x; add(%y, 1) } def @go() { @main(1) }"),
            "fn(int32) -> int32");
  EXPECT_EQ(type_of("def @main(%x: Tensor[(2, 3), float32], %w) { nn.dense(%x, %w, units=4) }"),
            "fn(Tensor[(2, 3), float32], Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32]");
}

TEST(Infer, LetPolymorphism) {
  EXPECT_EQ(type_of("def @main() { let %id = fn(%x) { %x }; (%id(1), %id(2f)) }"),
            "fn() -> (int32, float32)");
  EXPECT_EQ(type_of("def @id(%x) { %x } def @main() { (@id(1), @id(2f)) }", "id"), "fn[A](A) -> A");
  EXPECT_EQ(type_of("def @main() { let %k = fn(%x) { fn(%y) { %x } }; (%k(1)(2f), %k(2f)(1)) }"),
            "fn() -> (int32, float32)");
  // What a parameter or a reference holds is not generalised.
  EXPECT_EQ(slugs("def @main() { (fn(%id) { (%id(1), %id(2f)) })(fn(%x) { %x }) }"), "wrong-argument-type");
  EXPECT_EQ(slugs("def @main() { let %r = ref(fn(%x) { %x }); (ref_read(%r)(1), ref_read(%r)(2f)) }"),
            "wrong-argument-type");
  // Nor is what an operator still has to be asked about.
  EXPECT_EQ(type_of("def @main() { let %f = fn(%x) { add(%x, %x) }; %f(1f) }"), "fn() -> float32");
  EXPECT_EQ(slugs("def @main() { let %f = fn(%x) { add(%x, %x) }; (%f(1f), %f(1)) }"), "wrong-argument-type");
  EXPECT_EQ(type_of("def @main[A](%x: A) { let %f = fn(%y) { (%x, %y) }; (%f(1), %f(2f)) }"),
            "fn[A](A) -> ((A, int32), (A, float32))");
}

TEST(Infer, GenericFunctions) {
  const std::string map =
      kList +
      "def @map(%f, %l) { match (%l) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil() } }\n";
  EXPECT_EQ(type_of(map, "map"), "fn[A, B](fn(A) -> B, List[A]) -> List[B]");
  EXPECT_EQ(type_of(map + "def @main(%l: List[int32]) { @map(fn(%x) { add(%x, 1) }, %l) }"),
            "fn(List[int32]) -> List[int32]");
  const Outcome out =
      run(map + "def @main(%l: List[int32]) -> List[bool] { @map(fn(%x) { less(%x, 1) }, %l) }");
  ASSERT_TRUE(out.checked) << out.messages;
  const auto* call = out.checked->module.function("main")->body->as<Call>();
  EXPECT_EQ(show(call->type_args[0]), "int32");
  EXPECT_EQ(show(call->type_args[1]), "bool");
  EXPECT_EQ(show(call->callee->type), "fn[A, B](fn(A) -> B, List[A]) -> List[B]");
  // A parameter that is generic itself must be given a generic function.
  const std::string both = "def @both(%f: fn[A](A) -> A) { (%f(1), %f(2f)) }\n";
  EXPECT_EQ(type_of(both + "def @id[B](%x: B) -> B { %x } def @main() { @both(@id) }"),
            "fn() -> (int32, float32)");
  EXPECT_EQ(slugs(both + "def @main() { @both(fn(%x: int32) { %x }) }"), "wrong-argument-type");
  // So must whoever promises one.
  EXPECT_EQ(type_of("def @main() -> fn[A](A) -> A { fn[B](%x: B) -> B { %x } }"), "fn() -> fn[A](A) -> A");
  EXPECT_EQ(slugs("def @main() -> fn[A](A) -> A { fn(%x: int32) { %x } }"), "wrong-result-type");
}

TEST(Infer, Recursion) {
  EXPECT_EQ(
      type_of(
          "def @main(%n: int32) { if (equal(%n, 0)) { 1 } else { multiply(%n, @main(subtract(%n, 1))) } }"),
      "fn(int32) -> int32");
  EXPECT_EQ(
      type_of(
          "def @main(%n: int32) { let %f = fn(%i) { if (equal(%i, 0)) { %n } else { %f(subtract(%i, 1)) } }; "
          "%f(%n) }"),
      "fn(int32) -> int32");
  const std::string even =
      "def @even(%n: int32) { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }\n"
      "def @odd(%n: int32) { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }\n";
  EXPECT_EQ(type_of(even, "odd"), "fn(int32) -> bool");
  // Recursion at another type needs the type written down.
  EXPECT_EQ(type_of(kNat + "def @main[A](%n: Nat, %x: A) -> int32 { match (%n) { Zero => 0, Succ(%m) => "
                           "@main(%m, (%x, %x)) } }"),
            "fn[A](Nat, A) -> int32");
  EXPECT_EQ(
      slugs(kNat + "def @main(%n: Nat, %x) { match (%n) { Zero => 0, Succ(%m) => @main(%m, (%x, %x)) } }"),
      "endless-type");
  EXPECT_EQ(type_of("def @main(%x) { @main(%x) }"), "fn[A, B](A) -> B");
  const std::string group =
      "def @f(%x, %n: int32) { if (equal(%n, 0)) { %x } else { @g(%x, %n) } }\n"
      "def @g(%x, %n: int32) { @f(%x, subtract(%n, 1)) }\n";
  EXPECT_EQ(type_of(group, "f"), "fn[A](A, int32) -> A");
  EXPECT_EQ(type_of(group, "g"), "fn[A](A, int32) -> A");
}

TEST(Infer, SymbolicDims) {
  EXPECT_EQ(type_of("def @main(%x: Tensor[(n, 4), float32]) { add(%x, 1f) }"),
            "fn(Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32]");
  const std::string f = "def @f(%x: Tensor[(n, m), float32]) { (%x, transpose(%x)) }\n";
  EXPECT_EQ(type_of(f + "def @main(%x: Tensor[(3, 4), float32]) { @f(%x).1 }"),
            "fn(Tensor[(3, 4), float32]) -> Tensor[(4, 3), float32]");
  EXPECT_EQ(type_of(f + "def @main(%x: Tensor[(m, 2*n), float32]) { @f(%x).1 }"),
            "fn(Tensor[(m, 2*n), float32]) -> Tensor[(2*n, m), float32]");
  EXPECT_EQ(type_of(f + "def @main(%x: Tensor[(?, 4), float32]) { @f(%x).1 }"),
            "fn(Tensor[(?, 4), float32]) -> Tensor[(4, ?), float32]");
  const std::string half = "def @f(%x: Tensor[(2*n), float32]) -> Tensor[(2*n), float32] { %x }\n";
  EXPECT_EQ(type_of(half + "def @main(%x: Tensor[(6), float32]) { @f(%x) }"),
            "fn(Tensor[(6), float32]) -> Tensor[(6), float32]");
  EXPECT_EQ(type_of("def @f(%x, %y) { let %g = fn(%a: Tensor[(n), float32], %b: Tensor[(n), float32]) { %a "
                    "}; %g(%x, %y) }\n"
                    "def @main(%x: Tensor[(k), float32]) { @f(%x, %x) }"),
            "fn(Tensor[(k), float32]) -> Tensor[(k), float32]");
}

TEST(Infer, FunctionsThatBindShapeVariables) {
  EXPECT_EQ(type_of("def @main() { fn(%x: Tensor[(n), float32]) { %x } }"),
            "fn() -> fn(Tensor[(n), float32]) -> Tensor[(n), float32]");
  const std::string f = "def @f(%x: Tensor[(n), float32]) { %x }\n";
  // The caller's n is another one.
  EXPECT_EQ(
      type_of(
          f +
          "def @main(%x: Tensor[(n), float32], %y: Tensor[(3), float32]) { let %g = @f; (%g(%y), %g(%x)) }"),
      "fn(Tensor[(n), float32], Tensor[(3), float32]) -> (Tensor[(3), float32], Tensor[(n), float32])");
  EXPECT_EQ(type_of(f + "def @apply(%g, %x) { %g(%x) }\n"
                        "def @main(%x: Tensor[(n), float32], %y: Tensor[(3), float32]) { (@apply(@f, %y), "
                        "@apply(@f, %x)) }"),
            "fn(Tensor[(n), float32], Tensor[(3), float32]) -> (Tensor[(3), float32], Tensor[(n), float32])");
  // Inside a function its n is fixed; recursion with another one is possible where all
  // is written down.
  EXPECT_EQ(type_of("def @main(%x: Tensor[(n), float32], %c: bool) -> Tensor[(n), float32] "
                    "{ if (%c) { %x } else { let %y = @main(concatenate((%x, %x)), %c); %x } }"),
            "fn(Tensor[(n), float32], bool) -> Tensor[(n), float32]");
}

TEST(Infer, DimsThatMustAgree) {
  const std::string same = "def @f(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { %x }\n";
  EXPECT_EQ(slugs(same + "def @main(%x: Tensor[(3), float32], %y: Tensor[(4), float32]) { @f(%x, %y) }"),
            "wrong-argument-type");
  EXPECT_EQ(slugs(same + "def @main(%x: Tensor[(k), float32], %y: Tensor[(k + 1), float32]) { @f(%x, %y) }"),
            "wrong-argument-type");
  const Outcome out =
      run(same + "def @main(%x: Tensor[(k), float32], %y: Tensor[(4), float32]) { @f(%x, %y) }");
  ASSERT_TRUE(out.checked) << out.messages;
  ASSERT_EQ(out.checked->checks.size(), 1u);
  EXPECT_EQ(show(out.checked->checks[0].expected), "k");
  EXPECT_EQ(show(out.checked->checks[0].actual), "4");
  EXPECT_EQ(out.checked->checks[0].at, out.checked->module.function("main")->body);
}

TEST(Infer, UnknownDims) {
  const auto checks = [](const std::string& text) {
    const Outcome out = run(text);
    EXPECT_TRUE(out.checked) << out.messages;
    return out.checked ? out.checked->checks.size() : 0;
  };
  EXPECT_EQ(checks("def @main(%x: Tensor[(3), float32]) -> Tensor[(?), float32] { %x }"), 0u);
  EXPECT_EQ(checks("def @main(%x: Tensor[(?), float32]) -> Tensor[(3), float32] { %x }"), 1u);
  EXPECT_EQ(type_of("def @main(%c: bool, %x: Tensor[(3, 4), float32], %y: Tensor[(?, 4), float32]) "
                    "{ if (%c) { %x } else { %y } }"),
            "fn(bool, Tensor[(3, 4), float32], Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32]");
  EXPECT_EQ(slugs("def @main(%c: bool, %x: Tensor[(3), float32], %y: Tensor[(4), float32]) "
                  "{ if (%c) { %x } else { %y } }"),
            "branches-differ");
}

TEST(Errors, EachIsReportedOnce) {
  EXPECT_EQ(slugs("def @main() { add(1, 2f) }"), "dtypes-differ");
  EXPECT_EQ(slugs("def @f[A, A](%x: A) { 1 } def @main() { add(1, 2f) }"),
            "duplicate-type-parameter dtypes-differ");
  EXPECT_EQ(slugs("def @main() { let %x = add(1, 2f); add(%x, add(%x, %x)) }"), "dtypes-differ");
  EXPECT_EQ(slugs("def @main() { (add(1, 2f), 1(2), (1, 2).5) }"),
            "dtypes-differ not-a-function bad-projection");
  EXPECT_EQ(slugs("def @main() { (1).0 }"), "bad-projection");
  EXPECT_EQ(slugs("def @f() { add(1, 2f) } def @main() { add(@f(), 1) }"), "dtypes-differ");
}

TEST(Errors, Slugs) {
  EXPECT_EQ(slugs("def @f(%x: int32) { %x } def @main() { @f(1, 2) }"), "wrong-argument-count");
  EXPECT_EQ(slugs("def @main() { add(1) }"), "wrong-argument-count");
  EXPECT_EQ(slugs("def @main() -> int32 { 1f }"), "wrong-result-type");
  EXPECT_EQ(slugs("def @main() { let %x: int32 = 1f; %x }"), "wrong-value-type");
  EXPECT_EQ(slugs("def @main() { if (1) { 1 } else { 2 } }"), "condition-not-bool");
  EXPECT_EQ(slugs("def @main() { if (True) { 1 } else { 2f } }"), "branches-differ");
  EXPECT_EQ(slugs("def @main() { ref_read(1) }"), "not-a-reference");
  EXPECT_EQ(slugs("def @main() { ref_write(ref(1), 2f) }"), "wrong-contents-type");
  EXPECT_EQ(slugs("def @main() { let %f = fn(%x) { %x(%x) }; 1 }"), "endless-type");
  EXPECT_EQ(slugs(kList + "def @main() { let %x = Nil(); 1 }"), "ambiguous-type");
  EXPECT_EQ(slugs("def @main(%x) { add(%x, %x) }"), "ambiguous-type");
  EXPECT_EQ(slugs("def @main() { let %r = ref(()); fn(%x) { %x.0 } }"), "ambiguous-type");
  EXPECT_EQ(slugs("def @main() -> Tensor[(n), float32] { @main() }"), "unbound-shape-variable");
  EXPECT_EQ(slugs(kList + "def @main(%x: List) { 1 }"), "wrong-type-arity");
  EXPECT_EQ(slugs("def @main[A, A](%x: A) { 1 }"), "duplicate-type-parameter");
  EXPECT_EQ(slugs(kList + "def @main(%x: List[int32]) { match (%x) { Cons(_) => 1, _ => 2 } }"),
            "wrong-pattern-arity");
  EXPECT_EQ(slugs(kList + "def @main(%x: int32) { match (%x) { Cons(_, _) => 1, _ => 2 } }"),
            "wrong-pattern-type");
  EXPECT_EQ(slugs("def @main() { let %r = ref(fn(%z) { %z }); let %f = fn[A](%x: A) { ref_write(%r, fn(%y: "
                  "A) { %y }) }; 1 }"),
            "type-parameter-escapes");
}

// What the parser would not let through.
TEST(Errors, OfModulesThatNobodyWroteDown) {
  const auto slugs_of = [](const std::function<void(Module & m, Builder & b)>& make) {
    Module m;
    Builder b(m.context());
    make(m, b);
    Diagnostics diagnostics;
    EXPECT_FALSE(check(m, diagnostics));
    return join(diagnostics.all(), " ", [](const Diagnostic& d) { return d.slug().name(); });
  };
  const auto annotated = [](Module& m, Builder& b, Type t) {
    const Var* x = b.var("x", t);
    m.set_function("main", b.fn(std::vector<const Var*>{x}, x));
  };
  EXPECT_EQ(slugs_of([&](Module& m, Builder& b) { annotated(m, b, m.context().data_type("Nowhere", {})); }),
            "unknown-type");
  EXPECT_EQ(slugs_of([&](Module& m, Builder& b) { annotated(m, b, m.context().type_var("A")); }),
            "unbound-type-parameter");
  EXPECT_EQ(slugs_of([&](Module& m, Builder& b) { m.set_function("main", b.fn({}, b.var("x"))); }),
            "unbound-variable");
  EXPECT_EQ(slugs_of([&](Module& m, Builder& b) { m.set_function("main", b.fn({}, b.global("nowhere"))); }),
            "unknown-global");
  const auto ctor = [](Module& m, Type field) {
    Context& c = m.context();
    Constructor made{c.symbol("C"), c.symbol("D"), 0, {}, {}};
    made.fields = c.arena().list(std::vector<Type>{field});
    return c.arena().make<Constructor>(made);
  };
  EXPECT_EQ(slugs_of([&](Module& m, Builder& b) {
              m.set_function("main", b.fn({}, b.ctor(*ctor(m, m.context().scalar_type(kInt8)))));
            }),
            "unknown-constructor");
  EXPECT_EQ(slugs_of([&](Module& m, Builder&) {
              Context& c = m.context();
              DataTypeDef def{c.symbol("D"), {}, {}};
              def.ctors = c.arena().list(std::vector<const Constructor*>{ctor(m, c.hole_type())});
              m.set_data_type(c.arena().make<DataTypeDef>(def));
            }),
            "hole-in-data-type");
}

TEST(Match, Exhaustiveness) {
  const auto missing = [](const std::string& arms) {
    const Outcome out = run(kList + kNat + "type Pair { Pair(List[Nat], Nat) }\n" +
                            "def @main(%p: Pair, %l: List[Nat], %t: (Nat, (Nat, Nat))) { " + arms + " }");
    const size_t at = out.messages.find("does not cover `");
    if (at == std::string::npos) return join(out.slugs, " ");
    const std::string rest = out.messages.substr(at + 16);
    return rest.substr(0, rest.find('`'));
  };
  EXPECT_EQ(missing("match (%l) { Nil => 1, Cons(_, _) => 2 }"), "");
  EXPECT_EQ(missing("match (%l) { Nil => 1 }"), "Cons(_, _)");
  EXPECT_EQ(missing("match? (%l) { Nil => 1 }"), "");
  EXPECT_EQ(missing("match (%l) { Nil => 1, Cons(_, Nil) => 2 }"), "Cons(_, Cons(_, _))");
  EXPECT_EQ(missing("match (%l) { Nil => 1, Cons(Zero, _) => 2, Cons(_, Nil) => 3 }"),
            "Cons(Succ(_), Cons(_, _))");
  EXPECT_EQ(missing("match (%p) { Pair(Nil, Zero) => 1, Pair(Cons(_, _), _) => 2 }"), "Pair(Nil, Succ(_))");
  EXPECT_EQ(missing("match (%t) { (Zero, _) => 1, (Succ(_), (_, Zero)) => 2 }"), "(Succ(_), (_, Succ(_)))");
  EXPECT_EQ(missing("match (%t) { (%a, %b) => 1 }"), "");
  EXPECT_EQ(missing("match (%l) { _ => 1, Nil => 2 }"), "unreachable-arm");
  EXPECT_EQ(missing("match (%l) { Nil => 1, Cons(_, _) => 2, _ => 3 }"), "unreachable-arm");
  EXPECT_EQ(missing("match (%l) { Cons(Zero, _) => 1, Cons(_, %x) => 2, Cons(Succ(_), Nil) => 3, Nil => 4 }"),
            "unreachable-arm");
}

}  // namespace
}  // namespace relay::typecheck
