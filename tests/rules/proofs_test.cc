// Every rule of integers, booleans and shapes is proved by Z3, at each width of its examples. Rules
// of floating point are proved where they only move elements; else a test compares their sides
// (examples_test.cc). A counter-example is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/cat.h"
#include "base/diagnostics.h"
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

// A rule of an integer width is proved at all of them.
TEST(Proofs, WidthsAreThere) {
  for (const Rule& rule : all_rules()) {
    bool narrow = false, wide = false, integers = false;
    for (const Example& example : rule.examples) {
      if (!example.broken.empty()) continue;
      for (DType d : dtypes_of(example.dtypes)) {
        integers |= d.is_int();
        narrow |= d.is_int() && d.bits == 8;
        wide |= d.is_int() && d.bits == 64;
      }
    }
    if (integers && rule.kind == Class::kExact && rule.conditions.empty()) {
      EXPECT_TRUE(narrow && wide) << rule.name << " is not proved from 8 to 64 bits";
    }
  }
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
