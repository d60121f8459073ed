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
  std::mt19937_64 random(1);
  size_t at = 0;
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    const testing::LayerCase c = testing::random_numbers(l.layer, random);
    const std::vector<int8_t> wanted = testing::reference(c);
    EXPECT_EQ(testing::block_products(l.layer, {}), kProducts[at++]);
    for (const Params& params : testing::usual_params()) {
      SCOPED_TRACE(l.name + " " + write_params(params));
      const Layout layout = testing::layout_of(params);
      Diagnostics d;
      const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {}, d);
      ASSERT_TRUE(code.ok()) << d.render(SourceMap());
      SimulatorDriver driver(layout);
      const Result<std::vector<int8_t>> result = run_layer(driver, *code, c.input, c.tensors, d);
      ASSERT_TRUE(result.ok()) << d.render(SourceMap());
      EXPECT_TRUE(*result == wanted);
      EXPECT_EQ(driver.counters().gemm, testing::block_products(l.layer, params));
    }
  }
}

}  // namespace
}  // namespace relay::vta
