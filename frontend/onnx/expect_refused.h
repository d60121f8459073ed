// For tests of the importer: the smallest model, and models that are refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "frontend/onnx/testing.h"

namespace relay::frontend {

inline TestModel relu() { return TestModel().input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y"); }

// The import fails for this reason, with a message that has the text.
inline void expect_refused(const TestModel& m, ImportFailure failure, const std::string& expected,
                           const ImportOptions& options = {}) {
  const Imported i = import_model(m, options);
  EXPECT_FALSE(i.ok) << expected;
  EXPECT_EQ(i.failure, failure) << i.messages;
  EXPECT_NE(i.messages.find(expected), std::string::npos) << i.messages << " <- " << expected;
}

}  // namespace relay::frontend
