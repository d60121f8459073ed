// nn.fifo_buffer(data, buffer) = the last elements of (buffer, data) along the axis, as many as buffer has
//
//   (Tensor[s but m along the axis, d], Tensor[s, d]) -> Tensor[s, d]
//   C1: axis is in [-rank, rank).
//   C2: data and buffer have one rank and dtype, and the same extents along the other axes.
//   C3: the extents along the axis are known, if only as names.
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct FifoBufferAttrs {
  int64_t axis = 0;
  static constexpr auto kFields =
      fields(field("axis", &FifoBufferAttrs::axis, "along which elements move, from the end if negative"));
};

Type relate(Relation& r, const FifoBufferAttrs& a) {
  const TensorType &x = r.tensor(0), &buffer = r.tensor(1);
  const size_t axis = r.axis(a.axis, x.rank());  // C1
  r.require_rank(1, x.rank());                   // C2
  r.require_same_dtype(1, 0);                    // C2
  r.require(!x.dims[axis].is_unknown() && !buffer.dims[axis].is_unknown(), 0,
            "the extents along the axis must be known");  // C3
  std::vector<Dim> dims = dims_of(buffer);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != axis) dims[d] = r.same(buffer.dims[d], x.dims[d], 1, "extents beside the axis", 0);  // C2
  }
  return r.tensor_of(dims, x.dtype);
}

Expr expand(Builder& b, const FifoBufferAttrs& a, const Site& c) {
  const Expr data = c.args[0], buffer = c.args[1];
  const auto axis = static_cast<int64_t>(from_front(a.axis, c.tensor(0).rank()));
  const auto at = static_cast<size_t>(axis);
  const Dim added = c.tensor(0).dims[at], kept = c.tensor(1).dims[at];
  const Expr all = call(b, kConcatenate, {b.tuple(std::vector<Expr>{buffer, data})}, {{"axis", axis}});
  return sliced(b, all, axis, added, added + kept);
}

}  // namespace

const OpDef kFifoBuffer = define<FifoBufferAttrs>({
    .name = "nn.fifo_buffer",
    .doc = "A queue of fixed length: new elements come in at the end, and the oldest ones leave.",
    .params = {{"data", "the new elements"}, {"buffer", "those that are there, the oldest first"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
