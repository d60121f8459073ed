// From a layer and its constants to code that `run_layer` runs.
#pragma once

#include "vta/compile/code.h"

namespace relay::vta {

// What is known when a layer is compiled.
struct LayerConstants {
  std::vector<int8_t> weights;                 // of the shape `weight_shape(layer)`; else empty
  std::vector<std::vector<int32_t>> channels;  // of each step; empty where it has no channel operand
};

// Reports "vta-layer" with the reason why there is no stream (layer.h, schedule.h). Constants have
// the sizes that the layer says.
Result<LayerCode> compile_layer(const Layer& layer, const LayerConstants& constants, const Layout& layout,
                                const ScheduleOptions& options, Diagnostics& d);

}  // namespace relay::vta
