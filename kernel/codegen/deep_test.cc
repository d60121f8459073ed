// Code generators recurse over kernels within the limits (kernel/limits.h), and refuse others.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/codegen/working_copy.h"
#include "kernel/limits.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

class DeepCode : public ::testing::Test {
 protected:
  Kernel nested(int loops) {
    Builder k(pool_);
    const Tensor x = k.input("x", kFloat32, {k.index(4)});
    Kernel out =
        k.finish("k", "", {k.compute("y", kFloat32, {k.index(4)}, [&](Indices i) { return exp(x.at(i)); })});
    for (int l = 0; l < loops; ++l)
      out.body = make_for(arena_, pool_.variable("l"), pool_.shape_variable("n"), ForKind::kSerial, out.body);
    return out;
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
};

TEST_F(DeepCode, IsRefusedBeyondTheLimits) {
  EXPECT_EQ(cannot_compile(nested(100'000)),
            cat("kernel k cannot be compiled: statements are nested more than ", kDeepestNest, " deep"));
}

TEST_F(DeepCode, IsExpandedAtTheLimits) {
  const Kernel k = nested(kDeepestNest - 3);
  ASSERT_EQ(cannot_compile(k), "");
  const WorkingCopy copy(k);
  int loops = 0;
  visit(copy.body(), [&](Stmt s) { loops += s->as<For>() != nullptr; });
  EXPECT_EQ(loops, static_cast<int>(kDeepestNest) - 2);
}

}  // namespace
}  // namespace relay::kernel::codegen
