#include "op/registry.h"

#include <algorithm>

#include "base/nearest.h"
#include "op/grad.h"
#include "op/ops.h"

namespace relay::op {
namespace {

// "conv2d" of "nn.conv2d".
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::string_view name(const OpDef& op) { return op.name; }

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> sorted = [] {
    std::vector<const OpDef*> all(std::begin(kAllOps), std::end(kAllOps));
    std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return all;
  }();
  return sorted;
}

const OpDef* find(std::string_view name) {
  if (name == grad().name) return &grad();
  const std::span<const OpDef* const> all = all_ops();
  const auto at =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return at != all.end() && (*at)->name == name ? *at : nullptr;
}

bool is_relation_of(const OpDef& op, std::string_view name) { return op.name == name || op.relation == name; }

const OpDef* find_relation(std::string_view name) {
  for (const OpDef* op : all_ops()) {
    if (!name.empty() && is_relation_of(*op, name)) return op;
  }
  return nullptr;
}

std::vector<std::string> nearest(std::string_view name, size_t most) {
  if (name.size() > kLongestNearName) return {};
  std::vector<std::pair<size_t, const OpDef*>> found;
  for (const OpDef* op : all_ops()) {
    // A forgotten or a wrong family is the likeliest mistake.
    const size_t d =
        std::min(edit_distance(name, op->name), edit_distance(last_part(name), last_part(op->name)) + 1);
    if (d <= 1 + name.size() / 4) found.emplace_back(d, op);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) out.push_back(found[i].second->name);
  return out;
}

}  // namespace relay::op
