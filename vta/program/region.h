// A region of a program as a layer.
//
// The region is a chain of calls: one that begins a layer, then steps, each of which takes the
// result of the one before it. What a step reads besides is a constant, or a tensor of int8 that
// may be widened.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "vta/compile/compile.h"

namespace relay::vta {

using Inside = std::function<bool(Expr)>;

// The calls from the one that begins the layer to `root`. Arguments outside of the region end it.
std::vector<const Call*> chain_of(Expr root, const Inside& inside);

struct RegionLayer {
  Layer layer;
  LayerConstants constants;
  Expr input;
  std::vector<Expr> tensors;  // of each step; null: none
  std::vector<size_t> axes;   // as DeviceLayer has them
  std::string name;           // "qnn.conv2d + add + nn.relu"
};

// The layer that computes what the chain does, bit for bit, but for what is above the low 8 bits of
// the result. Reports "vta-layer" with the reason if there is none.
Result<RegionLayer> layer_of(const std::vector<const Call*>& chain, const Inside& inside, Diagnostics& d);

}  // namespace relay::vta
