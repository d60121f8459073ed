#include "passes/in_place.h"

#include <algorithm>

#include "kernel/in_place.h"

namespace relay::passes {
namespace {

bool have_equal_bytes(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && prove_equal(product(a.dims), product(b.dims)) == kernel::Proof::kProved;
}

constexpr uint32_t kNoPort = UINT32_MAX;

// The numbers of the plan's inputs (or outputs) among these values; kNoPort for other values.
std::vector<uint32_t> ports_of(const Plan& plan, const std::vector<uint32_t>& values, Storage storage) {
  std::vector<uint32_t> out;
  for (uint32_t v : values) {
    const PlanValue& value = plan.values[v];
    out.push_back(value.storage == storage ? static_cast<uint32_t>(value.at) : kNoPort);
  }
  return out;
}

// Do the two lie in the same place of the workspace?
bool are_one(const Plan& plan, uint32_t a, uint32_t b) {
  const PlanValue &x = plan.values[a], &y = plan.values[b];
  return !plan.dynamic && x.storage == Storage::kWorkspace && y.storage == Storage::kWorkspace &&
         x.at == y.at && x.bytes > 0 && y.bytes > 0;
}

}  // namespace

bool Replacements::allow(const kernel::Kernel& k, std::span<const uint32_t> inputs, uint32_t value,
                         size_t output) {
  bool allowed = true;
  for (size_t i = 0; allowed && i < inputs.size(); ++i) {
    if (inputs[i] != value) continue;
    const auto [known, fresh] = known_.try_emplace({&k, i, output}, false);
    if (fresh) known->second = kernel::may_share(k, i, output);
    allowed = known->second;
  }
  return allowed;
}

std::vector<InPlacePair> find_in_place(const Plan& plan) {
  std::vector<size_t> last_read(plan.inputs.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (uint32_t input : ports_of(plan, plan.steps[s].inputs, Storage::kInput)) {
      if (input != kNoPort) last_read[input] = s;
    }
  }
  Replacements replacements;
  std::vector<InPlacePair> pairs;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const std::vector<uint32_t> inputs = ports_of(plan, step.inputs, Storage::kInput),
                                outputs = ports_of(plan, step.outputs, Storage::kOutput);
    for (uint32_t input : std::set<uint32_t>(inputs.begin(), inputs.end())) {
      if (input == kNoPort || last_read[input] != s) continue;
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o] == kNoPort ||
            !have_equal_bytes(*plan.inputs[input].type, *plan.outputs[outputs[o]].type))
          continue;
        // A copy to itself changes nothing.
        if (!step.kernel || replacements.allow(*step.kernel, inputs, input, o))
          pairs.push_back({outputs[o], input});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

SharedParameters shared_parameters(const Plan& plan, const std::vector<InPlacePair>& pairs) {
  SharedParameters out;
  for (const PlanStep& step : plan.steps) {
    if (!step.kernel) continue;
    const std::vector<uint32_t> inputs = ports_of(plan, step.inputs, Storage::kInput),
                                outputs = ports_of(plan, step.outputs, Storage::kOutput);
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!are_one(plan, step.inputs[i], step.outputs[o]) &&
            !std::binary_search(pairs.begin(), pairs.end(), InPlacePair{outputs[o], inputs[i]}))
          continue;
        out[step.kernel].insert({i, inputs.size() + o});
      }
    }
  }
  return out;
}

}  // namespace relay::passes
