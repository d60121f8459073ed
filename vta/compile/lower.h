// From a layer and its schedule to its stream.
#pragma once

#include "vta/compile/code.h"

namespace relay::vta {

// The stream of a schedule that `assign_slots` (slots.h) accepts, without contents of buffers.
// Reports "vta-layer" if an instruction takes more micro-ops than there is room for.
Result<LayerCode> lower(const Layer& layer, const Schedule& schedule, const Params& params, Diagnostics& d);

}  // namespace relay::vta
