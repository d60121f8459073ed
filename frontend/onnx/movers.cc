#include "frontend/onnx/movers.h"

#include <algorithm>
#include <iterator>

namespace relay::frontend {
namespace {

constexpr uint32_t kAll = ~uint32_t{0};

constexpr Mover kMovers[] = {
    {"Concat", kAll},   {"DepthToSpace"},   {"Dropout"},          {"Expand"},   {"Flatten"},
    {"Gather"},         {"GatherElements"}, {"GatherND"},         {"Identity"}, {"Pad", 0b101},
    {"Reshape"},        {"Shape", 1, 0},    {"Size", 1, 0},       {"Slice"},    {"SpaceToDepth"},
    {"Split", 1, kAll}, {"Squeeze"},        {"TensorScatter", 3}, {"Tile"},     {"Transpose"},
    {"Unsqueeze"},      {"Where", 0b110},
};

}  // namespace

const Mover* find_mover(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kMovers), std::end(kMovers), [&](const Mover& m) { return m.name == name; });
  return found == std::end(kMovers) ? nullptr : found;
}

}  // namespace relay::frontend
