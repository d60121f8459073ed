// pack-weights: constant weights of products are put into panels, as kernels read them.
//
// nn.dense and nn.matmul with a constant weight become nn.contrib_dense_pack. A panel is as wide
// as a register tile of the target (kernel/schedule/cost.h); weights with fewer outputs than a
// vector stay as they are. Products whose weight is no constant are packed by their kernel, if
// that is worth it.
#include <map>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// The weight of a product that can be packed, or null.
const Constant* packable(const Call& call, const op::OpDef* def) {
  if (def != &op::kDense && def != &op::kMatmul) return nullptr;
  const auto* weight = call.args[1]->as<Constant>();
  const auto* x = call.args[0]->type ? call.args[0]->type->as<TensorType>() : nullptr;
  const auto* y = call.type ? call.type->as<TensorType>() : nullptr;
  if (!weight || !x || !y || call.attrs.flag("transpose_a")) return nullptr;
  const bool floats = x->dtype == kFloat32 && y->dtype == kFloat32 && weight->value->dtype() == kFloat32;
  return floats && weight->value->rank() == 2 ? weight : nullptr;
}

Module run(const Module& m, const PassContext& pass) {
  const int64_t lanes = pass.target.cpu.lanes();
  std::map<std::pair<const Constant*, bool>, Expr> packed;  // a weight may be used several times
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    const Constant* weight = def ? packable(*call, def) : nullptr;
    if (!weight) return e;
    const bool transposed = def == &op::kDense || call->attrs.flag("transpose_b");
    const Shape& shape = weight->value->shape();
    const int64_t length = shape[transposed ? 1 : 0], columns = shape[transposed ? 0 : 1];
    if (columns < lanes || length == 0) return e;
    const std::string layout = cat("NC", kernel::schedule::kPanelVectors * lanes, "n");
    Expr& panels = packed[{weight, transposed}];
    SpanScope at(b, e->span);
    if (!panels) {
      panels = op::packed(b, op::kLayoutTransform, call->args[1],
                          {{"src_layout", transposed ? "NC" : "CN"}, {"dst_layout", layout}});
    }
    return op::call(b, op::kDensePack, {call->args[0], panels},
                    {{"units", columns}, {"weight_layout", layout}});
  });
}

}  // namespace

const Pass kPackWeights = {
    .name = "pack-weights",
    .doc = "put constant weights of products into panels, as kernels read them",
    .run = run,
};

}  // namespace relay::passes
