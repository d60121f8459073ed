#include "passes/map_types.h"

#include <gtest/gtest.h>

#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
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

// Kernels compute in the dtypes of the program around them: constants, casts and temporaries too.
TEST(MapTypes, KernelsAreWidenedWithTheProgram) {
  Diagnostics diagnostics;
  const ParseOptions options;
  const Result<Module> m =
      parse("test.relay",
            "kernel @third(x: float32[n], i: int32[n]) -> (y: float32[n]) {\n"
            "  temporary t: float32[n];\n"
            "  for k in n { block t { spatial v in n = k; reads x[v]; writes t[v];\n"
            "    t[v] = x[v] / 3f; } }\n"
            "  for k in n { block y { spatial v in n = k; reads t[v], i[v]; writes y[v];\n"
            "    y[v] = t[v] + float32(i[v]); } }\n"
            "}\n"
            "kernel @same(i: int32[n]) -> (y: int32[n]) {\n"
            "  for k in n { block y { spatial v in n = k; reads i[v]; writes y[v]; y[v] = i[v]; } }\n"
            "}\n"
            "def @main(%x: Tensor[(1), float32], %i: Tensor[(1), int32]) { @third(%x, @same(%i)) }\n",
            diagnostics, op::operators(), options);
  ASSERT_TRUE(m.ok()) << diagnostics.render(options.into.context().sources());
  const Result<Module> wide =
      run_pipeline(*typecheck::check(*m, diagnostics), "widen-floats", {}, diagnostics);
  ASSERT_TRUE(wide.ok()) << diagnostics.render(options.into.context().sources());
  EXPECT_EQ(show(wide->function("main")->type),
            "fn(Tensor[(1), float64], Tensor[(1), int32]) -> Tensor[(1), float64]");
  EXPECT_EQ(wide->kernel("same"), m->kernel("same"));
  Tensor x(kFloat64, {1}), i(kInt32, {1});
  x.set(0, 1);
  i.set_int(0, 2);
  EXPECT_EQ(interp::Machine(*wide).call("main", {Value(x), Value(i)}).tensor().get(0), 1.0 / 3 + 2);
}

}  // namespace
}  // namespace relay::passes
