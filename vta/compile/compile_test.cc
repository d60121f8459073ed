// Streams of layers give what plain loops over integers give.
#include "vta/compile/compile.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "vta/compile/run_layer.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"
#include "vta/simulator_driver.h"

namespace relay::vta {
namespace {

using testing::LayerCase;
using testing::layout_of;

constexpr LayerKind kKinds[] = {LayerKind::kProduct, LayerKind::kTransposed, LayerKind::kMaxPool,
                                LayerKind::kSumPool, LayerKind::kElementwise};

std::string describe(const Layer& l) {
  const auto axis = [](const Axis& a) {
    return cat(a.size, " window ", a.window, " stride ", a.stride, " dilation ", a.dilation, " pads ",
               a.pad_before, " ", a.pad_after, " ", a.out_pad);
  };
  std::string out =
      cat("kind ", static_cast<int>(l.kind), " batch ", l.batch, " channels ", l.in_channels, " ",
          l.out_channels, " groups ", l.groups, "; rows ", axis(l.rows), "; columns ", axis(l.columns));
  for (const LayerStep& s : l.steps)
    out += cat("; ", name_of(s.op), " ", static_cast<int>(s.operand), " ", s.immediate);
  return out;
}

// Compiles and runs it, and compares with the reference.
Counters expect_reference(const LayerCase& c, const Layout& layout, const ScheduleOptions& options) {
  SCOPED_TRACE(describe(c.layer));
  Diagnostics d;
  const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, options, d);
  EXPECT_TRUE(code.ok()) << d.render(SourceMap());
  if (!code) return {};
  SCOPED_TRACE(text_of(code->schedule));
  SimulatorDriver driver(layout);
  const Result<std::vector<int8_t>> result = run_layer(driver, *code, c.input, c.tensors, d);
  EXPECT_TRUE(result.ok()) << d.render(SourceMap());
  EXPECT_TRUE(result && *result == testing::reference(c));
  return driver.counters();
}

TEST(CompileLayer, RandomLayersOfEveryKindEqualTheReference) {
  std::mt19937_64 random(1);
  for (const Params& params : testing::usual_params()) {
    const Layout layout = layout_of(params);
    for (const LayerKind kind : kKinds) {
      for (int n = 0; n < 30; n++) {
        const LayerCase c = testing::random_numbers(testing::random_layer(kind, params, random), random);
        expect_reference(c, layout, {.threads = 1 + n % 2});
        if (HasFailure()) return;
      }
    }
  }
}

// Lists of micro-ops come and go, and tiles are such that each list fits.
TEST(CompileLayer, AFewMicroOpsAreEnough) {
  std::mt19937_64 random(2);
  const Params params = {.log_uop_buff_size = 7};
  const Layout layout = layout_of(params);
  for (const LayerKind kind : kKinds) {
    for (int n = 0; n < 20; n++) {
      const LayerCase c = testing::random_numbers(testing::random_layer(kind, params, random), random);
      expect_reference(c, layout, {});
      if (HasFailure()) return;
    }
  }
}

// There are more inputs than accumulators, and micro-ops have one field for both.
TEST(CompileLayer, InputsLieWhereMicroOpsReachThem) {
  std::mt19937_64 random(3);
  const Params params = {.log_inp_buff_size = 11, .log_acc_buff_size = 12};
  const Layout layout = layout_of(params);
  for (int n = 0; n < 20; n++) {
    const Layer layer = testing::random_layer(LayerKind::kProduct, params, random);
    expect_reference(testing::random_numbers(layer, random), layout, {});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace relay::vta
