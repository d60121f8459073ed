#include "passes/map_types.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

TEST(MapTypes, ShapeVariablesAreBoundInOneFunction) {
  Diagnostics diagnostics;
  const ParseOptions options;
  const Result<Module> m = parse("test.relay",
                                 "def @twice(%x: Tensor[(n), float32]) { concatenate((%x, %x)) }\n"
                                 "def @main(%x: Tensor[(n), float32]) { @twice(@twice(%x)) }\n",
                                 diagnostics, op::operators(), options);
  ASSERT_TRUE(m.ok());
  const Result<Module> bound = typecheck::check(bind_shape_variables(*m, "main", {{"n", 3}}), diagnostics);
  ASSERT_TRUE(bound.ok()) << diagnostics.render(options.into.context().sources());
  EXPECT_EQ(show(bound->function("main")->type), "fn(Tensor[(3), float32]) -> Tensor[(12), float32]");
  EXPECT_EQ(show(bound->function("twice")->type), "fn(Tensor[(n), float32]) -> Tensor[(2*n), float32]");
}

}  // namespace
}  // namespace relay::passes
