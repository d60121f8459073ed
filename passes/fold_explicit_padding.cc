// fold-explicit-padding: nn.pad before a convolution or pooling becomes their own padding.
//
//   nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), w)
//     becomes   nn.conv2d(%x, w, padding=[1, 1, 1, 1])
//
// The added elements have to be what the operator reads outside of its data: zeros for nn.conv2d,
// nn.conv3d and averages, the least number of the dtype for maxima. Only spatial
// axes may be padded.
//
// A convolution of floating point needs weights that are known and finite: an infinite one times an
// explicit zero is a NaN. An average counts the added zeros, so it counts its own padding then. It
// stays if it has padding that it does not count. Pooling by `ceil_mode` stays, as it tells data
// and padding apart.
//
// Before: nothing is asked for. After: no such operator of two or three axes reads such an nn.pad.
#include <cmath>
#include <optional>

#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/nn/convolution.h"
#include "op/nn/pad.h"
#include "op/nn/pooling.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "runtime/extremes.h"

namespace relay::passes {
namespace {

// What an nn.pad of known widths adds before and after each axis, all of one value.
struct Padding {
  Expr data;
  std::vector<int64_t> before, after;
  Tensor value;  // a scalar of the data's dtype
};

std::optional<Padding> padding_of(Expr e) {
  if (op::callee(e) != &op::kPad) return std::nullopt;
  const auto& call = *e->as<Call>();
  const auto* value = call.args[1]->as<Constant>();
  const auto* type = e->type ? e->type->as<TensorType>() : nullptr;
  const auto attrs = op::read_attrs<op::PadAttrs>(call.attrs);
  if (!value || !type || attrs.pad_mode != "constant") return std::nullopt;
  Padding out{call.args[0], {}, {}, value->value->converted(type->dtype)};
  for (const auto& [before, after] : attrs.pad_width.axes) {
    if (!before.is_const() || !after.is_const()) return std::nullopt;
    out.before.push_back(before.value());
    out.after.push_back(after.value());
  }
  return out;
}

bool all_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (!std::isfinite(t.get(i))) return false;
  }
  return true;
}

// The attribute `padding` of a window that pads by this, too. Nothing if other axes than the
// spatial ones are padded, or by more than can be counted.
std::optional<std::vector<int64_t>> joined(const op::Layout& layout, op::Window window, const Padding& p) {
  const std::vector<int64_t> before = layout.extents(p.before), after = layout.extents(p.after);
  if (before[0] != 0 || before[1] != 0 || after[0] != 0 || after[1] != 0) return std::nullopt;
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    if (__builtin_add_overflow(window.before[axis], before[2 + axis], &window.before[axis]) ||
        __builtin_add_overflow(window.after[axis], after[2 + axis], &window.after[axis]))
      return std::nullopt;
  }
  return window.padding();
}

using Joined = std::optional<std::vector<int64_t>>;

Joined of_convolution(const Call& call, const op::Convolution& c, const Padding& p) {
  const auto* weight = call.args[1]->as<Constant>();
  const bool exact = p.value.dtype().is_int() || (weight && all_finite(*weight->value));
  return exact && p.value.get(0) == 0 ? joined(c.data, c.window, p) : std::nullopt;
}

Joined of_maximum(const op::Pool& pool, const Padding& p) {
  const DType d = p.value.dtype();
  const bool least = d.is_float() ? p.value.get(0) == least_real(d)
                     : d.is_int() ? p.value.get_int(0) == (d.is_signed_int() ? INT64_MIN >> (64 - d.bits) : 0)
                                  : false;
  return least && !pool.ceil ? joined(pool.layout, pool.window, p) : std::nullopt;
}

Joined of_average(const op::Pool& pool, const Padding& p) {
  const bool counts = pool.include_pad || !pool.window.pads();
  return counts && !pool.ceil && p.value.get(0) == 0 ? joined(pool.layout, pool.window, p) : std::nullopt;
}

bool is_average(const op::OpDef* def) { return def == &op::kAvgPool2d || def == &op::kAvgPool3d; }

// The attribute `padding` of the call on what is padded; nothing if the padding stays.
Joined joined_padding(const Call& call, const Padding& p) {
  const op::OpDef* def = op::callee(call);
  const auto convolution = [&](const op::ConvolutionAttrs& a) {
    return of_convolution(call, op::read_convolution(a), p);
  };
  if (def == &op::kConv2d) return convolution(op::read_attrs<op::ConvolutionAttrs>(call.attrs));
  if (def == &op::kConv3d) return convolution(op::read_attrs<op::Conv3dAttrs>(call.attrs));
  if (def == &op::kMaxPool2d)
    return of_maximum(op::read_pool(op::read_attrs<op::MaxPoolAttrs>(call.attrs)), p);
  if (def == &op::kMaxPool3d)
    return of_maximum(op::read_pool(op::read_attrs<op::MaxPool3dAttrs>(call.attrs)), p);
  if (def == &op::kAvgPool2d)
    return of_average(op::read_pool(op::read_attrs<op::AvgPoolAttrs>(call.attrs)), p);
  return of_average(op::read_pool(op::read_attrs<op::AvgPool3dAttrs>(call.attrs)), p);
}

bool may_pad(const op::OpDef* def) {
  return def == &op::kConv2d || def == &op::kConv3d || def == &op::kMaxPool2d || def == &op::kMaxPool3d ||
         is_average(def);
}

// The call on what is padded; null if the padding stays.
Expr without_padding(relay::Builder& b, const Call& call) {
  const op::OpDef* def = op::callee(call);
  if (!call.type || !may_pad(def)) return nullptr;
  const std::optional<Padding> p = padding_of(call.args[0]);
  const Joined padding = p ? joined_padding(call, *p) : std::nullopt;
  if (!padding) return nullptr;
  std::vector<Expr> args(call.args.begin(), call.args.end());
  args[0] = p->data;
  std::vector<AttrArg> attrs;
  for (AttrArg& a : op::attr_args(call.attrs, "padding")) {
    if (a.name != "count_include_pad") attrs.push_back(std::move(a));
  }
  attrs.push_back({"padding", *padding});
  if (is_average(def)) attrs.push_back({"count_include_pad", true});
  const SpanScope at(b, call.span);
  try {
    const Expr now = op::call(b, *def, args, attrs);
    return now->type == call.type ? now : nullptr;
  } catch (const op::RelationError&) {
    return nullptr;  // the data alone have no shape that the operator takes
  }
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [](relay::Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    while (const Expr now = call ? without_padding(b, *call) : nullptr) {
      e = now;
      call = e->as<Call>();
    }
    return e;
  });
}

}  // namespace

const Pass kFoldExplicitPadding = {
    .name = "fold-explicit-padding",
    .doc = "let convolutions and pooling pad by themselves what nn.pad does before them",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
