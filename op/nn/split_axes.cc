#include "op/nn/split_axes.h"

#include "base/cat.h"
#include "op/apply.h"
#include "op/requirements.h"

namespace relay::op {
namespace {

// Reshapes by codes, with the axes before `axis` and all behind the codes as they are. The places
// in `extents` hold an extent, which may be 0.
Expr recoded(Builder& b, Expr x, size_t axis, std::initializer_list<Dim> codes,
             const std::vector<int64_t>& extents = {}) {
  std::vector<Dim> shape(axis, Dim(0));
  shape.insert(shape.end(), codes.begin(), codes.end());
  shape.push_back(Dim(-2));
  return call(b, kReshape, {x}, {{"newshape", shape}, {"extents", extents}});
}

}  // namespace

Expr split_axis(Builder& b, Expr x, size_t axis, Dim first, Dim second) {
  return recoded(b, x, axis, {Dim(-4), first, second});
}

Expr merge_axes(Builder& b, Expr x, size_t axis) { return recoded(b, x, axis, {Dim(-3)}); }

Expr with_extent(Builder& b, Expr x, size_t axis, Dim extent) {
  if (prove_equal(x->type->as<TensorType>()->dims[axis], extent) == kernel::Proof::kProved) return x;
  return recoded(b, x, axis, {extent}, {static_cast<int64_t>(axis)});
}

Dim divided(Relation& r, Dim extent, int64_t by, int arg, std::string_view what) {
  require_multiple(r, extent, by, arg, cat(what, ", ", relay::show(extent), ", cannot be divided by ", by));
  return by == 1 ? extent : floor_div(extent, by);
}

}  // namespace relay::op
