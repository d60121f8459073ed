#include "passes/type_parts.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

constexpr int kLevels = 64;  // a tree of them would have 2^64 leaves

TEST(TypeParts, SharedPartsAreMetOnce) {
  Context c;
  Type type = c.scalar_type(kFloat32);
  for (int i = 0; i < kLevels; ++i) {
    const std::vector<Type> fields{type, type};
    type = c.tuple_type(fields);
  }
  int met = 0;
  for_each_type_in(type, [&](Type) {
    ++met;
    return true;
  });
  EXPECT_EQ(met, kLevels + 1);
  EXPECT_TRUE(is_of_tensors(type));
  EXPECT_FALSE(is_of_tensors(c.ref_type(type)));
  EXPECT_FALSE(is_of_tensors(nullptr));
}

// Passes take time by the parts of types, too.
TEST(TypeParts, PassesMeetThemOnce) {
  std::string program = "def @main(%x: float32) { let %v0 = (%x, %x); ", path;
  for (int i = 1; i < kLevels; ++i) program += cat("let %v", i, " = (%v", i - 1, ", %v", i - 1, "); ");
  for (int i = 0; i < kLevels; ++i) path += ".0";
  const Module m = analysis::testing::checked(cat(program, "negative(%v", kLevels - 1, path, ") }"));
  for (const char* pass : {"to-graph-normal-form", "partial-evaluation", "gradient"}) {
    Diagnostics diagnostics;
    EXPECT_TRUE(run_pipeline(m, pass, {}, diagnostics).ok())
        << pass << diagnostics.render(m.context().sources());
  }
}

}  // namespace
}  // namespace relay::passes
