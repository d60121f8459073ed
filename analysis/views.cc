#include "analysis/views.h"

#include <utility>

#include "op/apply.h"
#include "op/nn/matmul.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/tensor/slice.h"

namespace relay::analysis {
namespace {

const TensorType* tensor_type(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

// A typed call of two tensors that gives one.
bool is_typed(const Call& call) {
  return call.args.size() == 2 && tensor_type(call.args[0]) && tensor_type(call.args[1]) &&
         tensor_type(&call);
}

}  // namespace

std::optional<ProductView> product_view(Expr e) {
  const auto* call = e->as<Call>();
  const op::OpDef* def = call ? op::callee(*call) : nullptr;
  if (!def || !is_typed(*call)) return std::nullopt;
  op::MatmulAttrs a;
  if (def == &op::kDense) {
    a = op::as_matmul(op::read_attrs<op::DenseAttrs>(call->attrs));
  } else if (def == &op::kMatmul) {
    a = op::read_attrs<op::MatmulAttrs>(call->attrs);
  } else if (def == &op::kBatchMatmul) {
    a = op::as_matmul(op::read_attrs<op::BatchMatmulAttrs>(call->attrs));
  } else {
    return std::nullopt;
  }
  return ProductView{.call = call,
                     .def = def,
                     .left = tensor_type(call->args[0]),
                     .right = tensor_type(call->args[1]),
                     .result = tensor_type(call),
                     .left_transposed = a.transpose_a,
                     .right_transposed = a.transpose_b,
                     .batched = def == &op::kBatchMatmul};
}

std::vector<AttrArg> ProductView::attrs_for_other_columns() const {
  return op::attr_args(call->attrs, "units");
}

namespace {

template <class Attrs, class TransposedAttrs>
std::optional<ConvolutionView> view_of(Expr e, const op::OpDef& plain, const op::OpDef& other) {
  const auto* call = e->as<Call>();
  const op::OpDef* def = call ? op::callee(*call) : nullptr;
  const bool transposed = def == &other;
  if ((def != &plain && !transposed) || !is_typed(*call)) return std::nullopt;
  const op::Convolution convolution = transposed
                                          ? op::read_convolution(op::read_attrs<TransposedAttrs>(call->attrs))
                                          : op::read_convolution(op::read_attrs<Attrs>(call->attrs));
  return ConvolutionView{
      call, tensor_type(call->args[0]), tensor_type(call->args[1]), tensor_type(e), transposed, convolution};
}

}  // namespace

std::optional<ConvolutionView> convolution_view(Expr e) {
  return view_of<op::ConvolutionAttrs, op::TransposedConvolutionAttrs>(e, op::kConv2d, op::kConv2dTranspose);
}

std::optional<ConvolutionView> volume_convolution_view(Expr e) {
  return view_of<op::Conv3dAttrs, op::Conv3dTransposeAttrs>(e, op::kConv3d, op::kConv3dTranspose);
}

bool ConvolutionView::has_plain_layouts() const {
  const auto a = transposed ? static_cast<op::ConvolutionAttrs>(op::TransposedConvolutionAttrs())
                            : op::ConvolutionAttrs();
  const op::Convolution plain = op::read_convolution(a);
  return convolution.data == plain.data && convolution.weight == plain.weight;
}

std::optional<SliceView> slice_view(Expr e) {
  const auto* call = e->as<Call>();
  if (!call || op::callee(*call) != &op::kStridedSlice) return std::nullopt;
  const TensorType *from = tensor_type(call->args[0]), *to = tensor_type(e);
  if (!from || !to || !from->is_static() || !to->is_static() || from->rank() == 0) return std::nullopt;
  SliceView out{call, from, to, from->rank() - 1, 0};
  bool found = false;
  const auto attrs = op::read_attrs<op::StridedSliceAttrs>(call->attrs);
  for (const op::SliceRange& r : op::slice_ranges(attrs, from->dims)) {
    if (!r.begin.is_const() || r.stride != 1) return std::nullopt;
    if (from->dims[r.axis] == to->dims[r.axis]) continue;
    if (std::exchange(found, true)) return std::nullopt;
    out.axis = r.axis;
    out.begin = r.begin.value();
  }
  return out;
}

}  // namespace relay::analysis
