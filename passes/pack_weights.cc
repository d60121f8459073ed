// pack-weights: constant weights of products are put into panels, as kernels read them.
//
// nn.dense and nn.matmul with a constant weight become nn.contrib_dense_pack. A panel is as wide
// as a register tile of the target (kernel/schedule/cost.h); weights with fewer outputs than a
// vector stay as they are. Products whose weight is no constant are packed by their kernel, if
// that is worth it.
//
// Before: weights are constants that stand where they are used. After: no nn.dense or nn.matmul
// with a weight that is worth panels is left.
#include <map>

#include "analysis/views.h"
#include "base/cat.h"
#include "ir/rewrite.h"
#include "kernel/layout.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Can the weight of the product be packed?
bool is_packable(const analysis::ProductView& product) {
  return product.weight() && !product.batched && !product.left_transposed && product.is_of(kFloat32);
}

Module run(const Module& m, const PassContext& pass) {
  const int64_t lanes = pass.target.cpu.lanes();
  const std::string layout = kernel::panel_layout(kernel::schedule::kPanelVectors * lanes).text();
  std::map<std::pair<const Constant*, bool>, Expr> packed;  // a weight may be used several times
  Module out = rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const auto product = analysis::product_view(e);
    if (!product || !is_packable(*product)) return e;
    const Call* call = product->call;
    const Constant* weight = product->weight();
    const bool transposed = product->right_transposed;
    const Shape& shape = weight->value->shape();
    const int64_t length = shape[product->term_axis()], columns = shape[product->column_axis()];
    if (columns < lanes || length == 0) return e;
    Expr& panels = packed[{weight, transposed}];
    SpanScope at(b, e->span);
    if (!panels) {
      panels = op::packed(b, op::kLayoutTransform, call->args[1],
                          {{"src_layout", transposed ? "NC" : "CN"}, {"dst_layout", layout}});
    }
    return op::call(b, op::kDensePack, {call->args[0], panels},
                    {{"units", columns}, {"weight_layout", layout}});
  });
  if (out.same(m)) {
    pass.stays(cat("no product of float32 has a constant weight with ", lanes, " outputs, a vector of ",
                   pass.target.text, ", or more"));
  }
  return out;
}

}  // namespace

const Pass kPackWeights = {
    .name = "pack-weights",
    .doc = "put constant weights of products into panels, as kernels read them",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
