// Layers C2 to C11 of ResNet-18.
#include <gtest/gtest.h>

#include "vta/compile/run_layer.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"
#include "vta/simulator_driver.h"

namespace relay::vta {
namespace {

TEST(ResNet18, LayersEqualTheReferenceAndCountItsProducts) {
  // Multiply-adds / 256, as published shapes give them.
  constexpr uint64_t kProducts[] = {451584, 225792, 25088,  451584, 225792,
                                    25088,  451584, 225792, 25088,  451584};
  const Layout layout = testing::layout_of({});
  std::mt19937_64 random(1);
  size_t at = 0;
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    SCOPED_TRACE(l.name);
    const testing::LayerCase c = testing::random_numbers(l.layer, random);
    Diagnostics d;
    const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {}, d);
    ASSERT_TRUE(code.ok()) << d.render(SourceMap());
    SimulatorDriver driver(layout);
    const Result<std::vector<int8_t>> result = run_layer(driver, *code, c.input, c.tensors, d);
    ASSERT_TRUE(result.ok()) << d.render(SourceMap());
    EXPECT_TRUE(*result == testing::reference(c));
    EXPECT_EQ(driver.counters().gemm, kProducts[at]);
    EXPECT_EQ(testing::block_products(l.layer, layout.params()), kProducts[at]);
    at++;
  }
}

}  // namespace
}  // namespace relay::vta
