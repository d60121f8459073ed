// For the tests of patterns: programs and patterns from texts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "pattern/match.h"
#include "pattern/text.h"

namespace relay::pattern::testing {

// A context with expressions over the variables %x, %y, %z, and patterns.
class Texts {
 public:
  Texts() = default;
  explicit Texts(const std::string& definitions) {
    Result<Module> m = relay::parse("definitions", definitions, diagnostics_, op::operators(), options_);
    EXPECT_TRUE(m.ok()) << errors();
    if (m) options_.into = *m;
  }

  Context& context() { return options_.into.context(); }
  const Module& module() const { return options_.into; }
  const ParseOptions& options() const { return options_; }

  // Without types; each text has variables of its own.
  Expr expr(const std::string& text) {
    const std::string whole = cat("free_var %x; free_var %y; free_var %z; ", text);
    const Result<Expr> e = parse_expr("program", whole, diagnostics_, op::operators(), options_);
    EXPECT_TRUE(e.ok()) << text << "\n" << errors();
    return e ? *e : Builder(context()).tuple({});
  }

  Pattern pattern(const std::string& text) {
    const Result<Pattern> p = parse("pattern", text, diagnostics_, options_);
    EXPECT_TRUE(p.ok()) << text << "\n" << errors();
    return p ? *p : wildcard();
  }

  bool matches(const std::string& pattern_text, const std::string& program) {
    return match(pattern(pattern_text), expr(program)).has_value();
  }

  std::string errors() { return diagnostics_.render(context().sources()); }

 private:
  ParseOptions options_;
  Diagnostics diagnostics_;
};

}  // namespace relay::pattern::testing
