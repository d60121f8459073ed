// For tests of whole programs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::analysis::testing {

// The program of a text that is right.
inline Module checked(std::string_view text) {
  Diagnostics diagnostics;
  ParseOptions options;
  Result<Module> m = parse("m.relay", std::string(text), diagnostics, op::operators(), options);
  Result<Module> out = m ? typecheck::check(*m, diagnostics) : Result<Module>(kReported);
  EXPECT_TRUE(out.ok()) << diagnostics.render(options.into.context().sources());
  return *out;
}

}  // namespace relay::analysis::testing
