// How a layer begins: the sums that a product, a pooling window or a cast makes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/expr.h"
#include "op/op_def.h"
#include "vta/program/steps.h"

namespace relay::vta {

// A layer without steps.
struct Beginning {
  Layer layer;
  std::vector<int8_t> weights;  // as LayerConstants has them
  Expr input;
  Range sums;                      // what they can be
  std::optional<size_t> channels;  // the axis of the result that counts channels; none: it has no axes
  std::vector<size_t> axes;        // as DeviceLayer has them
};

// Does this call look like the beginning of a layer? It may yet be none.
bool may_begin(const Call& call);

// Reports "vta-layer" with the reason if no layer begins with this call, which is typed.
// `by_channel` is an axis of the result along which later operands differ, which an elementwise
// layer should have as its channels.
Result<Beginning> begin_layer(const Call& call, std::optional<size_t> by_channel, Diagnostics& d);

// Where an operator stands in the program.
Origin origin_of(const Call& call);
// The type of a tensor whose extents are all known and positive; null if it is something else.
const TensorType* known_tensor(Expr e);

}  // namespace relay::vta
