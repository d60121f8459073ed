// nn.contrib_dense_pack(data, weight)[.., u] = sum over k of data[.., k] * weight[u / c, k, u % c]
//
// nn.dense with the weight in panels of c outputs, as kernels read it; `weight_layout` says c:
// "NC32n" is 32. Where c does not divide the outputs the last panel is filled up, and what is in
// there means nothing.
//
//   (Tensor[(.., k), d], Tensor[(p, k, c), d]) -> Tensor[(.., units), out_dtype]
//   C1: data is a numeric tensor of rank 1 or more.   C2: out_dtype is floating if the data is.
//   C3: weight_layout is NC, a positive number, n.
//   C4: the weight has rank 3, the data's dtype (or both are integers and out_dtype is given), and
//       panels of c outputs.
//   C5: the lengths of the sums agree.
//   C6: `units` outputs fill p panels, the last one perhaps in part.
#include "base/cat.h"
#include "op/domain.h"
#include "op/layout.h"
#include "op/nn/convolution.h"
#include "op/nn/matmul.h"
#include "op/requirements.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// The layout of the weight: outputs N in panels, inputs C.
Layout panels_of(const DensePackAttrs& a) {
  const Layout layout = read_layout("weight_layout", a.weight_layout, "NC");
  if (layout != kernel::panel_layout(layout.block(kernel::kPanelColumns)))
    throw RelationError{kAttributes, cat("weight_layout must be like NC32n, not ", a.weight_layout)};
  return layout;
}

Type relate(Relation& r, const DensePackAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  r.require_no_scalar(0);                             // C1
  const DType result = result_dtype(r, a.out_dtype);  // C2
  const Layout panels = panels_of(a);                 // C3
  const Dim c(panels.block(kernel::kPanelColumns));
  r.require_rank(1, panels.rank());         // C4
  require_weight_dtype(r, a.out_dtype, 1);  // C4
  const TensorType& w = r.tensor(1);
  r.same(w.dims[panels.block_place(kernel::kPanelColumns)], c, 1, "outputs in a panel");            // C4
  r.same(w.dims[panels.place(kernel::kPanelRows)], x.dims.back(), 1, "the length of the sums", 0);  // C5
  const Dim count = w.dims[panels.place(kernel::kPanelColumns)], held = count * c;
  r.require_fits(held, 1, "outputs");
  Dim units = held;
  if (a.units) {
    units = *a.units;
    const std::string reason =
        cat(relay::show(units), " outputs do not fill ", relay::show(count), " panels of ", relay::show(c));
    if (units.is_const() && count.is_const() && !(ceil_div(units, c) == count))
      r.fail(1, reason, "dims-differ");
    require_extent_is(r, ceil_div(units, c), count, 1, reason);  // C6
  }
  std::vector<Dim> out = dims_of(x);
  out.back() = units;
  return r.tensor_of(out, result);
}

template <class T>
std::vector<T> multiply(int64_t rows, int64_t units, int64_t length, const Layout& panels, const Shape& shape,
                        const std::vector<T>& x, const std::vector<T>& w) {
  std::vector<T> y;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t u = 0; u < units; ++u) {
      T sum = 0;
      int64_t at = offset_of(shape, panels.index(std::array{u, int64_t{0}}));
      for (int64_t k = 0; k < length; ++k, at += panels.block(kernel::kPanelColumns))
        sum += x[static_cast<size_t>(m * length + k)] * w[static_cast<size_t>(at)];
      y.push_back(sum);
    }
  }
  return y;
}

void evaluate(const DensePackAttrs& a, Args in, Results out, Sums sums) {
  const int64_t length = in[0].shape().back(), units = out[0].shape().back();
  const Layout panels = panels_of(a);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < in[0].rank(); ++d) rows *= in[0].shape()[d];
  evaluate_products(in, out, sums, [&](const auto& x, const auto& w) {
    return multiply(rows, units, length, panels, in[1].shape(), x, w);
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const DensePackAttrs& a, const Lowering& l) {
  const kernel::Tensor &x = l.in[0], &w = l.in[1];
  const Layout panels = panels_of(a);
  const DType sum = sum_dtype(x.dtype(), l.dtype());
  const kernel::Tensor y = k.reduce(
      "dense", sum, l.shape(), {x.dim(x.rank() - 1)}, k.sum(sum), [&](kernel::Indices i, kernel::Indices r) {
        std::vector<kernel::Expr> at(i.begin(), i.end() - 1);
        at.push_back(r[0]);
        return cast(sum, x.at(at)) * cast(sum, w.at(panels.index(std::array{i.back(), r[0]})));
      });
  if (sum == l.dtype()) return {y};
  return {k.compute("dense_end", l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

int64_t length(std::span<const Type> args, const Attrs&) {
  const Dim k = args[0]->as<TensorType>()->dims.back();
  return k.is_const() ? k.value() : 1;
}

}  // namespace

const OpDef kDensePack = define<DensePackAttrs>({
    .name = "nn.contrib_dense_pack",
    .doc = "nn.dense with a weight whose outputs are grouped in panels.",
    .params = {{"data", "vectors along the last axis"}, {"weight", "(panels, inputs, outputs of a panel)"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .not_differentiable = "its weight is laid out for kernels; differentiate nn.dense, and pack afterwards",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
