// What an operator call computes, whichever operator and attributes say it.
//
// A view is given for calls that are typed; a pass asks it instead of reading attributes.
// Attributes are the structs that op/ publishes, so that a default is written once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/expr.h"
#include "op/nn/convolution.h"
#include "op/op_def.h"

namespace relay::analysis {

// A product of matrices: nn.dense, nn.matmul, nn.batch_matmul.
//
//   result[.., m, n] = sum over k of left[.., m, k] * right[.., k, n]
//
// where an operand that is transposed has its last two axes exchanged.
struct ProductView {
  const Call* call;
  const op::OpDef* def;
  const TensorType *left, *right, *result;
  bool left_transposed, right_transposed;
  bool batched;  // each matrix of the left operand has one of the right operand

  // The right operand, where it is known; else null.
  const Constant* weight() const { return call->args[1]->as<Constant>(); }
  // The axes of the right operand along which n and k run.
  size_t column_axis() const { return right->rank() - (right_transposed ? 2 : 1); }
  size_t term_axis() const { return right->rank() - (right_transposed ? 1 : 2); }
  // The attributes of the same product by a right operand with another number of columns.
  std::vector<AttrArg> attrs_for_other_columns() const;
  // All operands and the result have the dtype.
  bool is_of(DType d) const { return left->dtype == d && right->dtype == d && result->dtype == d; }
};
std::optional<ProductView> product_view(Expr e);

// nn.conv2d or, `transposed`, nn.conv2d_transpose; or the same over volumes.
struct ConvolutionView {
  const Call* call;
  const TensorType *data, *weights, *result;
  bool transposed;
  op::Convolution convolution;  // layouts, window and groups

  const Constant* weight() const { return call->args[1]->as<Constant>(); }
  // In the layouts that the operators over images have by default.
  bool has_plain_layouts() const;
};
std::optional<ConvolutionView> convolution_view(Expr e);  // over images
// nn.conv3d or nn.conv3d_transpose.
std::optional<ConvolutionView> volume_convolution_view(Expr e);

// Neighbours along one axis, the others whole: a strided_slice whose shapes are constant.
struct SliceView {
  const Call* call;
  const TensorType *of, *result;
  size_t axis;
  int64_t begin;  // of as many as the result has
};
// Of a slice that takes everything, the last axis counts as the one that it is along.
std::optional<SliceView> slice_view(Expr e);

}  // namespace relay::analysis
