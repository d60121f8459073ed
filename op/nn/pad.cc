// nn.pad(data, pad_value): elements before and after each axis.
//
//   constant: pad_value
//   edge: the nearest element
//   reflect: the elements mirrored at the first and last one
//   symmetric: the elements mirrored at the ends, so that the first and last one come twice
//
//   (Tensor[s, d], Tensor[(), e]) -> Tensor[s + before + after, d]
//   C1: pad_width has a pair for each axis.   C2: no width is negative.
//   C3: pad_mode is "constant", "edge", "reflect" or "symmetric".
//   C4: pad_value is a scalar, which is converted to d.
//   C5: an axis that is padded has an element for edge, more elements than are added on a side
//       for reflect, and as many for symmetric.
#include "op/nn/pad.h"

#include "base/cat.h"
#include "op/nn/window.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

bool mirrors(const PadAttrs& a) { return a.pad_mode == "reflect" || a.pad_mode == "symmetric"; }

// Of a mode that mirrors: does the element at an end come again right behind it?
int64_t repeated(const PadAttrs& a) { return a.pad_mode == "symmetric" ? 1 : 0; }

Type relate(Relation& r, const PadAttrs& a) {
  const TensorType& x = r.tensor(0);
  if (a.pad_width.axes.size() != x.rank()) {
    r.fail(kAttributes,
           cat("pad_width must have ", x.rank(), " pairs, not ", a.pad_width.axes.size()));  // C1
  }
  const bool edge = a.pad_mode == "edge", mirror = mirrors(a);
  r.require(edge || mirror || a.pad_mode == "constant", kAttributes,
            cat("pad_mode must be constant, edge, reflect or symmetric, not `", a.pad_mode, "`"));  // C3
  r.require_rank(1, 0);                                                                             // C4
  std::vector<Dim> out;
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto& [before, after] = a.pad_width.axes[d];
    for (const Dim width : {before, after}) {
      r.require(!width.is_unknown(), kAttributes, "pad_width must not contain `?`");
      if (!width.is_const()) continue;
      r.require(width.value() >= 0, kAttributes, "pad_width must not be negative");  // C2
      if (!x.dims[d].is_const() || width.value() == 0) continue;
      const int64_t more = mirror && width.value() < INT64_MAX ? width.value() + 1 - repeated(a) : 0;
      const int64_t needed = edge ? 1 : more;
      r.require(x.dims[d].value() >= needed, 0,
                cat("axis ", d, " has too few elements to be padded by ", width.value()));  // C5
    }
    out.push_back(x.dims[d] + before + after);
  }
  return r.tensor_of(out, x.dtype);
}

void evaluate(const PadAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const Tensor fill = in[1].converted(x.dtype());
  std::vector<int64_t> before, at(x.rank());
  for (const auto& pair : a.pad_width.axes) before.push_back(extent_of(pair.first, "pad_width"));
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t last = x.shape()[d] - 1;
      at[d] = i[d] - before[d];
      if (at[d] >= 0 && at[d] <= last) continue;
      if (a.pad_mode == "constant") {
        inside = false;
      } else if (a.pad_mode == "edge") {
        at[d] = at[d] < 0 ? 0 : last;
      } else {
        at[d] = at[d] < 0 ? -at[d] - repeated(a) : 2 * last + repeated(a) - at[d];
      }
    }
    copy_element(inside ? x : fill, inside ? offset_of(x.shape(), at) : 0, out[0], number++);
  });
}

// Where an element was copied to, its adjoint is the sum of theirs. Axes are independent: one
// after the other.
std::vector<Expr> differentiate(Builder& b, const PadAttrs& a, const Site& c) {
  const TensorType& x = c.tensor(0);
  Expr dx = c.dy;
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto [before, after] = a.pad_width.axes[d];
    const auto axis = static_cast<int64_t>(d);
    const Dim extent = x.dims[d], end = before + extent;
    if (before == Dim(0) && after == Dim(0)) continue;
    const Expr padded = dx;
    dx = sliced(b, padded, axis, before, end);
    // Adds something to the elements that stand after the first `place` ones.
    const auto add = [&](Expr part, Dim place) {
      std::vector<std::pair<Dim, Dim>> around(x.rank(), {Dim(0), Dim(0)});
      around[d] = {place, extent - place - tensor_type_of(part).dims[d]};
      dx = call(b, kAdd, {dx, zero_padded(b, part, around)});
    };
    for (const bool front : {true, false}) {
      if (a.pad_mode == "constant" || (front ? before : after) == Dim(0)) continue;
      const Expr part =
          front ? sliced(b, padded, axis, 0, before) : sliced(b, padded, axis, end, end + after);
      if (a.pad_mode == "edge") {
        add(call(b, kSum, {part}, {{"axis", axis}, {"keepdims", true}}), front ? Dim(0) : extent - 1);
      } else {
        const Dim kept = 1 - repeated(a);  // at an end, which are not mirrored
        add(call(b, kReverse, {part}, {{"axis", axis}}), front ? kept : extent - kept - after);
      }
    }
  }
  Expr dvalue = nullptr;
  const DType d = x.dtype, value = c.tensor(1).dtype;
  if (a.pad_mode == "constant" && value.is_float()) {
    const Term all(b, call(b, kSum, {c.dy}));
    dvalue = all - all.apply(kSum, {dx});
    if (value != d) dvalue = call(b, kCast, {dvalue}, {{"dtype", value}});
  }
  return {dx, dvalue};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const PadAttrs& a, const Lowering& c) {
  const kernel::Tensor& x = c.in[0];
  const bool mirror = mirrors(a);
  return {k.compute("pad", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> at(i.begin(), i.end());
    kernel::Expr inside = k.constant(kBool, 1);
    const kernel::Expr zero = k.index(0);
    for (size_t d = 0; d < x.rank(); ++d) {
      const auto& [first, second] = a.pad_width.axes[d];
      if (first == Dim(0) && second == Dim(0)) continue;
      const kernel::Expr before = first.expr(c.pool), after = second.expr(c.pool), extent = x.dim(d);
      at[d] = i[d] - before;
      if (a.pad_mode == "constant") {
        inside = logical_and(inside, logical_and(less_equal(zero, at[d]), less(at[d], extent)));
        continue;
      }
      if (extent->kind != kernel::ExprKind::kInt || !first.is_const() || !second.is_const()) {
        const kernel::Expr most = mirror ? max(before, after) - repeated(a) : zero;  // C5
        k.require_shape(less(most, extent), "an axis has too few elements to be padded");
      }
      const kernel::Expr last = extent - 1;
      at[d] = mirror ? min(max(at[d], -at[d] - repeated(a)), last * 2 + repeated(a) - at[d])
                     : min(max(at[d], zero), last);
    }
    if (a.pad_mode != "constant") return x.at(at);
    return select(inside, x.at(at), cast(c.dtype(), c.in[1]()));
  })};
}

}  // namespace

const OpDef kPad = define<PadAttrs>({
    .name = "nn.pad",
    .doc = "Add elements before and after each axis.",
    .params = {{"data", "any tensor"}, {"pad_value", "the added elements, if pad_mode is constant"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
