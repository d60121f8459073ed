// What the generator must be for the laws to mean anything, and the shrinker.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/analysis.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "tests/property/generate.h"
#include "tests/property/laws.h"
#include "tests/property/run.h"
#include "tests/property/shrink.h"
#include "typecheck/check.h"

namespace relay::property {
namespace {

template <class... Form>
std::vector<ExprKind> kinds(TypeList<Form...>) {
  return {Form::kKind...};
}

TEST(Generator, MakesEveryFormPatternAndManyOperators) {
  std::map<ExprKind, int> forms;
  std::map<PatternKind, int> patterns;
  std::set<std::string_view> operators;
  int generic = 0, related = 0, symbolic = 0, open = 0, shared_cells = 0, compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Program p = generate(bytes_of_seed(seed));
    Diagnostics diagnostics;
    if (const auto typed = typecheck::infer(p.module, diagnostics)) compared += !typed->checks.empty();
    for (const auto& [name, fn] : p.module.functions()) {
      generic += !fn->type_params.empty();
      related += !fn->where.empty();
      const NodeMap<uint32_t> uses = scopes(fn).uses;
      for (Expr e : post_order(fn)) {
        ++forms[e->kind];
        shared_cells += e->kind == ExprKind::kRefNew && uses.get(e) > 1;
        if (const op::OpDef* def = op::callee(e)) operators.insert(def->name);
        if (const auto* let = e->as<Let>(); let && let->x->annotation)
          open += show(let->x->annotation).find('?') != std::string::npos;
        if (const auto* f = e->as<Fn>()) {
          for (const Var* x : f->params) symbolic += x->annotation && x->annotation->has_symbolic_dim;
        }
        if (const auto* match = e->as<Match>()) {
          for (const Arm& arm : match->arms) ++patterns[arm.pattern->kind];
        }
      }
    }
  }
  for (const ExprKind kind : kinds(AllExprs{}))
    EXPECT_GT(forms[kind], 50) << "form " << static_cast<int>(kind);
  for (int kind = 0; kind <= static_cast<int>(PatternKind::kTuple); ++kind)
    EXPECT_GT(patterns[static_cast<PatternKind>(kind)], 10) << "pattern " << kind;
  EXPECT_GT(generic, 50);
  EXPECT_GT(related, 50);
  EXPECT_GT(symbolic, 200);
  EXPECT_GT(open, 50);
  EXPECT_GT(shared_cells, 100);
  EXPECT_GT(compared, 30);
  EXPECT_GT(operators.size(), 45u);
}

TEST(Generator, MakesNetworks) {
  std::map<std::string_view, int> operators;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Program p = generate(bytes_of_seed(seed), {.sometimes_network = true});
    if (!p.smooth) continue;
    for (Expr e : post_order(p.module.function("main"))) {
      if (const op::OpDef* def = op::callee(e)) ++operators[def->name];
    }
  }
  for (const char* name :
       {"nn.conv2d", "nn.conv2d_transpose", "nn.max_pool2d", "nn.avg_pool2d", "nn.batch_norm",
        "nn.layer_norm", "nn.softmax", "nn.dense", "nn.batch_matmul", "exp", "tanh"})
    EXPECT_GT(operators[name], 3) << name;
}

TEST(Generator, TheSameBytesGiveTheSameProgram) {
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(show(generate(bytes_of_seed(seed))), show(generate(bytes_of_seed(seed))));
}

TEST(Generator, NoBytesGiveTheSmallestProgram) {
  EXPECT_EQ(show(generate({})), "#[version = \"0.0.5\"]\ndef @main() -> float32 {\n  0f\n}\n");
}

TEST(Shrinker, FindsTheSmallestBytesThatFail) {
  // Fails where a byte of at least 40 stands anywhere before one of at least 7.
  const auto fails = [](const Bytes& bytes) {
    const auto large = std::find_if(bytes.begin(), bytes.end(), [](uint8_t b) { return b >= 40; });
    return large != bytes.end() && std::any_of(large + 1, bytes.end(), [](uint8_t b) { return b >= 7; });
  };
  const Bytes start = bytes_of_seed(3);
  ASSERT_TRUE(fails(start));
  EXPECT_EQ(shrink(start, fails), (Bytes{40, 7}));
}

TEST(Shrinker, AsksNoMoreThanItMay) {
  size_t asked = 0;
  shrink(bytes_of_seed(3), [&](const Bytes&) { return ++asked, true; }, 10);
  EXPECT_LE(asked, 10u);
}

TEST(Laws, ADifferenceIsSeen) {
  const auto run_of = [](const char* text) {
    std::string wrong;
    const Result<Module> m = read_back(text, wrong);
    EXPECT_TRUE(m) << wrong;
    return interpret(*checked(*m, wrong), {});
  };
  const property::Run one = run_of("def @main() { (1f, True) }"),
                      other = run_of("def @main() { (1f, False) }");
  const property::Run trap = run_of("def @main() { divide(1, 0) }"), half = run_of("def @main() { 0.5f }");
  EXPECT_EQ(difference(one, one), "");
  EXPECT_NE(difference(one, other), "");
  EXPECT_NE(difference(trap, one), "");
  EXPECT_EQ(difference(trap, trap), "");
  EXPECT_TRUE(one.exact);
  EXPECT_FALSE(half.exact);
}

}  // namespace
}  // namespace relay::property
