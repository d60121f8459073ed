// Typed programs for tests of analyses.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::analysis {

class AnalysisTest : public ::testing::Test {
 protected:
  const Module& typed(const std::string& text) {
    Diagnostics diagnostics;
    const Result<Module> parsed = parse("m.relay", text, diagnostics, op::operators(), options_);
    const Result<Module> checked = parsed ? typecheck::check(*parsed, diagnostics) : kReported;
    EXPECT_TRUE(checked) << diagnostics.render(options_.into.context().sources());
    return module_ = *checked;
  }
  // The body of @main.
  Expr body(const std::string& parameters, const std::string& expression) {
    return typed("def @main(" + parameters + ") { " + expression + " }").function("main")->body;
  }

 private:
  ParseOptions options_;
  Module module_;
};

}  // namespace relay::analysis
