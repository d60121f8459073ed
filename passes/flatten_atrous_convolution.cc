// flatten-atrous-convolution: a convolution of data in blocks becomes one with dilation.
//
//   nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x, block_shape=[2, 2], ..), w), ..)
//     becomes   nn.conv2d(%x, w, dilation=[2, 2], padding=..)
//
// Frameworks without dilation write it so: each place in a block is an example of its own. Every
// element stays the sum of the same terms in the same order.
//
// The convolution must have strides of 1 and no padding, and its layout the spatial axes right
// behind the batch. What the blocks pad beyond what is cut off becomes padding of the convolution.
// Padding of floats needs weights that are known and finite: an infinite one times an explicit zero
// is a NaN. Extents are known, so that no check is lost.
//
// Before: nothing is asked for; `inline-lets` goes before, as lets are not looked through.
// After: no such three calls are left.
#include <cmath>
#include <optional>

#include "analysis/effects.h"
#include "analysis/views.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/nn/batch_space.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

bool is_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (!std::isfinite(t.get(i))) return false;
  }
  return true;
}

// The call of the operator, if its shapes cannot be wrong.
const Call* call_of(Context& context, Expr e, const op::OpDef& def) {
  if (op::callee(e) != &def || !e->type) return nullptr;
  const auto* call = e->as<Call>();
  return analysis::fit_of(context, *call, def) == analysis::Fit::kProved ? call : nullptr;
}

// The attribute `padding` of the convolution: what the blocks pad beyond what is cut off. Nothing
// if more is cut off.
std::optional<std::vector<int64_t>> padding_of(const op::PadWidth& paddings, const op::PadWidth& crops) {
  std::vector<int64_t> before, after;
  for (size_t axis = 0; axis < paddings.axes.size(); ++axis) {
    before.push_back(paddings.axes[axis].first.value() - crops.axes[axis].first.value());
    after.push_back(paddings.axes[axis].second.value() - crops.axes[axis].second.value());
    if (before.back() < 0 || after.back() < 0) return std::nullopt;
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

// Strides of 1, no padding, and the spatial axes where blocks have them.
bool fits_blocks(const op::Convolution& c) {
  const bool plain =
      std::all_of(c.window.stride.begin(), c.window.stride.end(), [](int64_t stride) { return stride == 1; });
  return plain && !c.window.pads() && c.data.place(0) == 0 && c.data.place(2) == 1 && c.data.place(3) == 2;
}

// The one convolution; null if it is another program.
Expr flattened(relay::Builder& b, const Call& out) {
  const auto* inner = call_of(b.context(), out.args[0], op::kConv2d);
  const auto view = inner ? analysis::convolution_view(inner) : std::nullopt;
  if (!view || !fits_blocks(view->convolution)) return nullptr;
  const auto* in = call_of(b.context(), inner->args[0], op::kSpaceToBatchNd);
  if (!in) return nullptr;
  const auto blocks = op::read_attrs<op::SpaceToBatchAttrs>(in->attrs);
  const auto spaces = op::read_attrs<op::BatchToSpaceAttrs>(out.attrs);
  if (blocks.block_shape != spaces.block_shape || blocks.block_shape.size() != 2) return nullptr;
  const auto padding = padding_of(blocks.paddings, spaces.crops);
  if (!padding) return nullptr;
  const bool pads = std::any_of(padding->begin(), padding->end(), [](int64_t p) { return p > 0; });
  const bool exact = view->data->dtype.is_int() || (view->weight() && is_finite(*view->weight()->value));
  if (pads && (blocks.pad_value != 0 || !exact)) return nullptr;
  std::vector<int64_t> dilation = view->convolution.window.dilation;
  for (size_t axis = 0; axis < dilation.size(); ++axis) {
    if (__builtin_mul_overflow(dilation[axis], blocks.block_shape[axis], &dilation[axis])) return nullptr;
  }
  std::vector<AttrArg> attrs;
  for (const AttrArg& a : op::attr_args(inner->attrs, "padding")) {
    if (a.name != "dilation") attrs.push_back(a);
  }
  attrs.push_back({"padding", *padding});
  attrs.push_back({"dilation", dilation});
  const SpanScope at(b, inner->span);
  try {
    const Expr now = op::call(b, op::kConv2d, {in->args[0], inner->args[1]}, attrs);
    return now->type == out.type ? now : nullptr;
  } catch (const op::RelationError&) {
    return nullptr;  // the window is larger than what is left
  }
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [](relay::Builder& b, Expr e) -> Expr {
    const auto* out = call_of(b.context(), e, op::kBatchToSpaceNd);
    const Expr now = out ? flattened(b, *out) : nullptr;
    return now ? now : e;
  });
}

}  // namespace

const Pass kFlattenAtrousConvolution = {
    .name = "flatten-atrous-convolution",
    .doc = "write convolutions of data in blocks as convolutions with dilation",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
