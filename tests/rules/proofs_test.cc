// Every rule of integers, booleans and shapes is proved by Z3, at each width of its examples. Rules
// of floating point are proved where they only move elements; else a test compares their sides
// (examples_test.cc). A counter-example is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/cat.h"
#include "base/diagnostics.h"
#include "ir/traverse.h"
#include "tests/rules/prover.h"

namespace relay::passes::rules::testing {
namespace {

// Is a proof asked for, or is a comparison enough? Only arithmetic of floating point is compared.
bool must_be_proved(const Rule& rule, DType d) { return rule.kind == Class::kProved || !d.is_float(); }

TEST(Proofs, EveryRule) {
  size_t proved = 0;
  unsigned most_steps = 0;
  std::string longest;
  for (const Rule& rule : all_rules()) {
    for (const Example& example : rule.examples) {
      if (!example.broken.empty()) continue;
      for (const Instance& i : instances_of(rule, example)) {
        if (!must_be_proved(rule, i.dtype)) continue;
        const std::optional<Module> right = applied(i, false);
        ASSERT_TRUE(right) << rule.name << " does not apply to " << i.text;
        const Proof proof = prove(i, *right);
        EXPECT_EQ(proof.kind, Proof::Kind::kProved) << rule.name << ": " << i.text << "\n" << proof.reason;
        proved += proof.kind == Proof::Kind::kProved;
        if (proof.steps > most_steps) longest = i.text;
        most_steps = std::max(most_steps, proof.steps);
      }
    }
  }
  std::printf("%zu instances were proved; the longest proof took %u steps: %s\n", proved, most_steps,
              longest.c_str());
}

// The widths of the integers in the expressions of an instance.
std::set<int> widths_of(const Instance& i) {
  std::set<int> out;
  for (Expr e : post_order(i.left)) {
    const auto* t = e->type ? e->type->as<TensorType>() : nullptr;
    if (t && t->dtype.is_int()) out.insert(t->dtype.bits);
  }
  return out;
}

// A rule that is about integers at all is proved for narrow ones and for wide ones. A rule about
// casts has both where it casts from one to the other.
TEST(Proofs, WidthsAreThere) {
  size_t rules = 0;
  for (const Rule& rule : all_rules()) {
    std::set<int> widths;
    for (const Example& example : rule.examples) {
      const std::vector<DType> dtypes = dtypes_of(example.dtypes);
      const bool integers = std::any_of(dtypes.begin(), dtypes.end(), [](DType d) { return d.is_int(); });
      if (!example.broken.empty() || !integers) continue;
      for (const Instance& i : instances_of(rule, example)) {
        if (i.dtype.is_int()) widths.merge(widths_of(i));
      }
    }
    if (widths.empty()) continue;
    ++rules;
    EXPECT_TRUE(widths.contains(8) && widths.contains(64)) << rule.name << " is not proved from 8 to 64 bits";
  }
  EXPECT_GT(rules, 150u);
}

// What is wrong is refuted, not only not proved.
Proof proof_of(const std::string& text) {
  Diagnostics diagnostics;
  const Result<std::vector<Rule>> rules = read_rules("wrong", text, diagnostics);
  EXPECT_TRUE(rules.ok()) << diagnostics.render(SourceMap());
  if (!rules) return {};
  const Rule& rule = rules->front();
  const std::vector<Instance> instances = instances_of(rule, rule.examples.front());
  const std::optional<Module> right = applied(instances.front(), false);
  EXPECT_TRUE(right) << text;
  return right ? prove(instances.front(), *right) : Proof{};
}

TEST(Proofs, WrongRulesAreRefuted) {
  const char* const wrong[] = {
      "rule w exact: abs(negative(%x)) => %x\n  yes int8: (%x: Tensor[(n), T]) { abs(negative(%x)) }\n",
      // It traps for the least number.
      "rule w exact: divide(%x, const as %c) => negative(%x) when all(%c, -1)\n"
      "  yes int8: (%x: Tensor[(n), T]) { divide(%x, -1T) }\n",
      // The condition is missing.
      "rule w exact: add(%x, const as %c) => %x\n  yes int64: (%x: Tensor[(n), T]) { add(%x, 0T) }\n",
      // Square matrices have the right type both ways.
      "rule w proved: transpose(%x) => %x\n  yes float32: (%x: Tensor[(n, n), T]) { transpose(%x) }\n",
      "rule w proved: strided_slice(concatenate((%x, %y))) => %y\n"
      "  yes int8: (%x: Tensor[(4), T], %y: Tensor[(4), T])"
      " { strided_slice(concatenate((%x, %y)), begin=[0], end=[4]) }\n",
      "rule w proved: reverse(%x) => %x\n  yes bool: (%x: Tensor[(n), T]) { reverse(%x, axis=0) }\n",
      "rule w proved: nn.relu(exp(%x)) => nn.relu(%x)\n"
      "  yes float32: (%x: Tensor[(n), T]) { nn.relu(exp(%x)) }\n",
  };
  for (const char* text : wrong) {
    const Proof proof = proof_of(text);
    EXPECT_EQ(proof.kind, Proof::Kind::kRefuted) << text << proof.reason;
    EXPECT_NE(proof.reason.find("counter-example"), std::string::npos) << proof.reason;
  }
}

}  // namespace
}  // namespace relay::passes::rules::testing
