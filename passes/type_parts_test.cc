#include "ir/type_parts.h"

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

// Lets that pair %x with itself, and the pair with itself, and so on.
std::string paired() {
  std::string lets = "let %v0 = (%x, %x); ";
  for (int i = 1; i < kLevels; ++i) lets += cat("let %v", i, " = (%v", i - 1, ", %v", i - 1, "); ");
  return lets;
}
const std::string kLast = cat("%v", kLevels - 1);

// Passes take time by the parts of types, too.
TEST(TypeParts, PassesMeetThemOnce) {
  std::string path;
  for (int i = 0; i < kLevels; ++i) path += ".0";
  const Module m =
      analysis::testing::checked(cat("def @main(%x: float32) { ", paired(), "let %unused = (fn (%t) { %t })(",
                                     kLast, "); negative(", kLast, path, ") }"));
  for (const char* pass : {"to-graph-normal-form", "partial-evaluation", "gradient", "dead-code"}) {
    Diagnostics diagnostics;
    EXPECT_TRUE(run_pipeline(m, pass, {}, diagnostics).ok())
        << pass << diagnostics.render(m.context().sources());
  }
}

TEST(TypeParts, TheCheckerMeetsThemOnce) {
  const Module m =
      analysis::testing::checked(cat("def @main(%y: float32) { let %unused = grad(fn (%x: float32) { ",
                                     paired(), "annotation.checkpoint(", kLast, ") }); %y }"));
  EXPECT_EQ(show(m.function("main")->type, 80), "fn(float32) -> float32");
}

}  // namespace
}  // namespace relay::passes
