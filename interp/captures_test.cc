#include "interp/captures.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "base/cat.h"
#include "base/diagnostics.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "ir/traverse.h"
#include "op/op_def.h"
#include "op/operators.h"

namespace relay::interp {
namespace {

// Of the functions inside of @main that have a parameter, by its name: the names of the variables
// that they take from around them. "shared" is a node.
std::map<std::string, std::set<std::string>> captures_of(const std::string& text) {
  Diagnostics diagnostics;
  const Result<Module> m = parse("p.relay", text, diagnostics, op::operators(), {});
  if (!m) throw std::runtime_error(diagnostics.all().front().message());
  const Expr body = m->function("main")->body;
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [fn, captured] : captures_in(body, scopes(body))) {
    std::set<std::string>& names = out[fn->params[0]->name.str()];
    for (Expr e : captured) {
      const auto* v = e->as<Var>();
      EXPECT_TRUE(names.insert(v ? v->name.str() : "shared").second) << "it stands there twice";
    }
  }
  return out;
}
using Names = std::map<std::string, std::set<std::string>>;

TEST(Captures, AreBoundOutside) {
  EXPECT_EQ(
      captures_of(
          "def @main(%a: int32, %b: int32) { let %c = %b; fn (%x: int32) { let %d = %x; (%a, %c, %d) } }"),
      (Names{{"x", {"a", "c"}}}));
}

TEST(Captures, OfFunctionsInside) {
  EXPECT_EQ(captures_of(
                "def @main(%a: int32) { fn (%x: int32) { fn (%y: int32) { fn (%z: int32) { (%a, %x) } } } }"),
            (Names{{"x", {"a"}}, {"y", {"a", "x"}}, {"z", {"a", "x"}}}));
}

TEST(Captures, AFunctionsOwnNameIsNone) {
  EXPECT_EQ(captures_of("def @main(%a: int32) {"
                        "  let %f = fn (%x: int32) -> int32 { let %g = fn (%y: int32) { %f(%y) }; %g(%a) };"
                        "  let %h = fn (%z: int32) { %f(%z) };"
                        "  %h(%a) }"),
            (Names{{"x", {"a"}}, {"y", {"f"}}, {"z", {"f"}}}));
}

TEST(Captures, OfPatterns) {
  EXPECT_EQ(
      captures_of(
          "def @main(%a: (int32, int32)) {"
          "  match (%a) { (%p, %q) => fn (%x: int32) { match ((%x, %p)) { (%r, %s) => (%r, %q) } } } }"),
      (Names{{"x", {"p", "q"}}}));
}

TEST(Captures, OfSharedNodes) {
  EXPECT_EQ(
      captures_of("def @main(%a: int32) { %0 = add(%a, %a); (%0, fn (%x: int32) { multiply(%0, %x) }) }"),
      (Names{{"x", {"shared"}}}));
  // Bound inside: what it is made of is captured.
  EXPECT_EQ(captures_of("def @main(%a: int32) { fn (%x: int32) { %0 = add(%a, %x); (%0, %0) } }"),
            (Names{{"x", {"a"}}}));
}

TEST(Captures, OfManyNestedFunctions) {
  Module m;
  Builder b(m.context());
  const Var* a = b.var("a");
  Expr e = a;
  for (int i = 0; i < 100'000; ++i) {
    const Var* f = b.var("f");
    e = b.let(f, b.fn({}, e), b.call(f, {}));
  }
  const auto all = captures_in(e, scopes(e));
  EXPECT_EQ(all.size(), 100'000u);
  for (const auto& [fn, captured] : all) ASSERT_EQ(captured, std::vector<Expr>{a});
}

}  // namespace
}  // namespace relay::interp
