#include "aot/alternation.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace relay::aot {
namespace {

// Less than this stays in the second-level cache, beside all else, whichever way it is read.
uint64_t least_alternated_bytes(const target::Cpu& cpu) { return static_cast<uint64_t>(cpu.l2.bytes / 4); }

}  // namespace

std::vector<bool> backward_steps(const passes::Plan& plan, const target::Cpu& cpu) {
  std::vector<bool> out(plan.steps.size(), false);
  std::unordered_map<uint64_t, bool> last;  // by constant: whether its last reader went backwards
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kernel == nullptr) continue;
    const passes::PlanValue* largest = nullptr;
    for (uint32_t v : plan.steps[i].inputs) {
      const passes::PlanValue& value = plan.values[v];
      if (value.storage == passes::Storage::kConstant && value.bytes >= least_alternated_bytes(cpu) &&
          (largest == nullptr || value.bytes > largest->bytes))
        largest = &value;
    }
    if (largest == nullptr) continue;
    const auto [it, first] = last.emplace(largest->at, false);
    if (!first) it->second = !it->second;
    out[i] = it->second;
  }
  return out;
}

bool alternates(const kernel::Kernel& k, const target::Cpu& cpu) {
  return std::any_of(k.inputs.begin(), k.inputs.end(), [&](const kernel::Buffer* b) {
    const std::optional<int64_t> elements = kernel::memory_extent(*b);
    return elements && static_cast<uint64_t>(*elements) >= least_alternated_bytes(cpu) / b->dtype.bytes();
  });
}

}  // namespace relay::aot
