#include "frontend/onnx/wrap.h"

#include <algorithm>

#include "frontend/onnx/heads.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr int64_t kMostPlaces = 1 << 24;  // in a table that is made while the model is imported

bool is_small(Dim d) { return d.is_const() && d.value() <= kMostPlaces; }

}  // namespace

Expr wrapped(Node& n, Expr x, size_t axis, Expr before, Expr after) {
  const Expr extent = extent_of(n, x, axis), one = n.builder().constant(Tensor::scalar_int(kInt64, 1));
  const Expr numbers =
      n.call(kArange, {n.call(kNegative, {before}), n.call(kAdd, {extent, after}), one}, {{"dtype", kInt64}});
  return n.call(kTake, {x, n.call(kFloorMod, {numbers, extent})},
                {{"axis", static_cast<int64_t>(axis)}, {"mode", "fast"}});
}

Expr wrapped(Node& n, Expr x, const std::vector<std::pair<Dim, Dim>>& width) {
  for (size_t axis = 0; axis < width.size(); ++axis) {
    const auto [before, after] = width[axis];
    if (before == Dim(0) && after == Dim(0)) continue;
    const Dim extent = type_of(x).dims[axis];
    if (!is_small(extent) || !is_small(before) || !is_small(after)) {
      x = wrapped(n, x, axis, n.importer().materialise(before), n.importer().materialise(after));
      std::vector<Dim> wanted(type_of(x).rank(), Dim::unknown());
      wanted[axis] = extent + before + after;
      x = n.importer().match_extents(x, wanted, n.proto().output(0));
      continue;
    }
    n.require(extent.value() >= 1, "there is nothing to wrap around");
    std::vector<int64_t> places;
    for (int64_t i = -before.value(); i < extent.value() + after.value(); ++i)
      places.push_back((i % extent.value() + extent.value()) % extent.value());
    x = n.call(kTake, {x, n.ints(places)},
               {{"axis", static_cast<int64_t>(axis)}, {"mode", std::string("clip")}});
  }
  return x;
}

}  // namespace relay::frontend
