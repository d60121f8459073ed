#include "frontend/onnx/refused.h"

#include <algorithm>
#include <iterator>

namespace relay::frontend {
namespace {

constexpr std::string_view kText =
    "tensors of strings are not computed with: prepare texts before the model runs, and export the model "
    "from the first tensor of numbers on";

constexpr RefusedOperator kReasons[] = {
    {"ImageDecoder",
     "it reads files of images, such as JPEG: decode them before the model runs, and export the model with "
     "the pixels as its input"},
    {"RegexFullMatch", kText},
    {"StringConcat", kText},
    {"StringNormalizer", kText},
    {"StringSplit", kText},
    {"ai.onnx.preview.training.Gradient",
     "it names tensors of the model to differentiate: export the forward model, and let the exporter write "
     "out the gradient"},
};

}  // namespace

std::span<const RefusedOperator> refused_operators() { return kReasons; }

std::optional<std::string_view> reason_to_refuse(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kReasons), std::end(kReasons), [&](const auto& r) { return r.name == name; });
  if (found == std::end(kReasons)) return std::nullopt;
  return found->why;
}

}  // namespace relay::frontend
