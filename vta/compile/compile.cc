#include "vta/compile/compile.h"

#include "base/cat.h"
#include "vta/compile/lower.h"
#include "vta/compile/pack.h"
#include "vta/compile/start.h"
#include "vta/isa/encode.h"

namespace relay::vta {
namespace {

// Shifts by 32 bits or more have no result.
bool shifts_in_range(const LayerStep& step, const std::vector<int32_t>& amounts, Diagnostics& d) {
  if (step.op != AluOp::kShr) return true;
  for (size_t k = 0; k < amounts.size(); k++) {
    if (amounts[k] >= -31 && amounts[k] <= 31) continue;
    d.error(step.origin.span, "vta-layer",
            cat("channel ", k, " is shifted by ", amounts[k], ", and amounts are -31 to 31"));
    return false;
  }
  return true;
}

}  // namespace

Result<LayerCode> compile_layer(const Layer& layer, const LayerConstants& constants, const Layout& layout,
                                const ScheduleOptions& options, Diagnostics& d) {
  const Params& params = layout.params();
  if (!check_layer(layer, params, d)) return kReported;
  CHECK(constants.channels.size() == layer.steps.size() || constants.channels.empty(),
        "constants are those of another layer");
  for (size_t k = 0; k < layer.steps.size(); k++) {
    if (layer.steps[k].operand != OperandKind::kChannel) continue;
    CHECK(std::ssize(constants.channels.at(k)) == layer.out_channels,
          "a step has constants for other channels");
    if (!shifts_in_range(layer.steps[k], constants.channels[k], d)) return kReported;
  }
  const std::optional<Start> start = start_at_constants(layer, constants.channels);
  const Layer& started = start ? start->layer : layer;
  const std::vector<std::vector<int32_t>>& channels = start ? start->channels : constants.channels;
  const Result<Schedule> schedule = choose_schedule(started, params, options, d);
  if (!schedule) return kReported;
  Result<LayerCode> code = lower(started, *schedule, params, d);
  if (!code) return kReported;
  code->contents.resize(buffers::kSteps + layer.steps.size());
  const Result<std::vector<uint8_t>> micro_ops = encode(layout, std::span<const MicroOp>(code->micro_ops), d);
  if (!micro_ops) return kReported;
  code->contents[buffers::kMicroOps] = *micro_ops;
  if (layer.multiplies()) code->contents[buffers::kWeights] = pack_weights(layer, constants.weights, params);
  for (size_t k = 0; k < layer.steps.size(); k++) {
    if (layer.steps[k].operand == OperandKind::kChannel)
      code->contents[buffers::kSteps + k] = pack_channels(channels[k], params);
  }
  return code;
}

}  // namespace relay::vta
