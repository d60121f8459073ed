#include <gtest/gtest.h>

#include "passes/rules/rule.h"

namespace relay::passes::rules {
namespace {

std::string error_of(const std::string& text) {
  Diagnostics diagnostics;
  const Result<std::vector<Rule>> rules = read_rules("test.rules", text, diagnostics);
  EXPECT_FALSE(rules.ok()) << text;
  return diagnostics.render(SourceMap());
}

void expect_error(const std::string& text, const std::string& part) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Read, ARuleOverSeveralLines) {
  Diagnostics diagnostics;
  const Result<std::vector<Rule>> rules = read_rules("test.rules",
                                                     "# A comment.\n"
                                                     "rule first exact: add(%x, const as %c)\n"
                                                     "  => %x when integer(%x), all(%c, 0)\n"
                                                     "  yes int: (%x: Tensor[(n), T])\n"
                                                     "    { add(%x, 0T) }\n"
                                                     "\n"
                                                     "  no all int8: (%x: Tensor[(n), T]) { add(%x, 1T) }\n"
                                                     "rule second bounded 2.5: log(exp(%x)) => %x\n",
                                                     diagnostics);
  ASSERT_TRUE(rules.ok()) << diagnostics.render(SourceMap());
  ASSERT_EQ(rules->size(), 2u);
  const Rule& first = (*rules)[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.kind, Class::kExact);
  ASSERT_EQ(first.conditions.size(), 2u);
  EXPECT_EQ(first.conditions[1].name, "all");
  ASSERT_EQ(first.examples.size(), 2u);
  EXPECT_EQ(first.examples[0].program, "(%x: Tensor[(n), T]) { add(%x, 0T) }");
  EXPECT_EQ(first.examples[1].broken, "all");
  EXPECT_EQ((*rules)[1].kind, Class::kBounded);
  EXPECT_EQ((*rules)[1].bound, 2.5);
}

TEST(Read, WhatIsWrongIsSaid) {
  expect_error("rule a exact: exp(%x)\n", "test.rules:1: expected `rule NAME CLASS: PATTERN => EXPRESSION`");
  expect_error("\n\nexp(%x) => %x\n", "test.rules:3: expected `rule NAME CLASS");
  expect_error("rule a sure: exp(%x) => %x\n", "expected `proved`, `exact` or `bounded N`");
  expect_error("rule a bounded much: exp(%x) => %x\n", "expected the bound after `bounded`");
  expect_error("rule a exact: exp(%x => %x\n", "expected");
  expect_error("rule a exact: exp(%x) => %y\n", "the pattern has no part `%y`");
  expect_error("rule a exact: exp(%x) => expo(%x)\n", "there is no operator `expo`");
  expect_error("rule a exact: exp(%x) => %x when odd(%x)\n", "there is no condition `odd`");
  expect_error("rule a exact: exp(%x) => reshape(%x, newshape=size(%x))\n", "there is no value `size`");
  expect_error("rule a exact: %x => exp(%x)\n", "a rule is of calls of one operator");
  expect_error("rule a exact: exp(_) | log(_) => %x\n", "a rule is of calls of one operator");
  expect_error("rule a exact: dominates(exp(_), _, log(_)) => exp(_)\n",
               "a rule is of calls of one operator");
  expect_error("rule a exact: exp(%x) => %x and more\n", "expected the end of the rule");
}

}  // namespace
}  // namespace relay::passes::rules
