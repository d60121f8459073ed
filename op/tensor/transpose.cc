// transpose(x, axes)[i_0, ..., i_r] = x[j] where j[axes[d]] = i_d
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/tensor/transpose.h"

namespace relay::op {

std::vector<size_t> transposed_axes(const TransposeAttrs& a, size_t rank) {
  std::vector<size_t> out(rank);
  if (a.axes && !a.axes->empty()) {
    std::transform(a.axes->begin(), a.axes->end(), out.begin(),
                   [&](int64_t axis) { return from_front(axis, rank); });
  } else {
    std::iota(out.rbegin(), out.rend(), 0);
  }
  return out;
}

namespace {

// (Tensor[s, d]) -> Tensor[s in the order of axes, d]
// C1: axes are in [-rank, rank).   C2: each axis is there exactly once.
Type relate(Relation& r, const TransposeAttrs& a) {
  const TensorType& x = r.tensor(0);
  if (a.axes && !a.axes->empty()) {
    distinct_axes(r, *a.axes, x.rank());  // C1
    if (a.axes->size() != x.rank()) {
      r.fail(kAttributes,
             cat("axes must name each of the ", x.rank(), " axes once, and names ", a.axes->size()));  // C2
    }
  }
  std::vector<Dim> out;
  for (size_t axis : transposed_axes(a, x.rank())) out.push_back(x.dims[axis]);
  return r.tensor_of(out, x.dtype);
}

void evaluate(const TransposeAttrs& a, Args in, Results out) {
  const std::vector<size_t> axes = transposed_axes(a, in[0].rank());
  std::vector<int64_t> from(axes.size());
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    for (size_t d = 0; d < axes.size(); ++d) from[axes[d]] = i[d];
    return from;
  });
}

std::vector<Expr> differentiate(Builder& b, const TransposeAttrs& a, const Site& c) {
  const std::vector<size_t> axes = transposed_axes(a, c.tensor(0).rank());
  std::vector<int64_t> back(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) back[axes[d]] = static_cast<int64_t>(d);
  return {transposed(b, c.dy, back)};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const TransposeAttrs& a, const Lowering& c) {
  const std::vector<size_t> axes = transposed_axes(a, c.in[0].rank());
  return {k.compute("transpose", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from(axes.size());
    for (size_t d = 0; d < axes.size(); ++d) from[axes[d]] = i[d];
    return c.in[0].at(from);
  })};
}

}  // namespace

const OpDef kTranspose = define<TransposeAttrs>({
    .name = "transpose",
    .doc = "Permute the axes.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
