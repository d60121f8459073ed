// The attributes of the products of matrices.
#pragma once

#include <optional>
#include <string>

#include "op/define.h"
#include "op/tensor/attributes.h"

namespace relay::op {

struct DenseAttrs {
  std::optional<Dim> units = {};
  MaybeDType out_dtype = {};
  static constexpr auto kFields =
      fields(field("units", &DenseAttrs::units, "outputs; None: as the weight says"),
             field("out_dtype", &DenseAttrs::out_dtype, "of the result; None: the data's"));
};

struct DensePackAttrs {
  std::optional<Dim> units = {};
  MaybeDType out_dtype = {};
  std::string weight_layout = "NC";
  // All but the dtype of the result.
  static constexpr auto kShapeFields = fields(
      field("units", &DensePackAttrs::units, "outputs; None: all that the panels hold"),
      field("weight_layout", &DensePackAttrs::weight_layout, "NC32n: panels of 32 outputs").required());
  static constexpr auto kFields = std::tuple_cat(
      kShapeFields,
      fields(field("out_dtype", &DensePackAttrs::out_dtype, "of the result; None: the data's")));
};

struct MatmulAttrs {
  std::optional<Dim> units = {};
  MaybeDType out_dtype = {};
  bool transpose_a = false;
  bool transpose_b = false;
  static constexpr auto kFields =
      fields(field("units", &MatmulAttrs::units, "columns of the result; None: as tensor_b says"),
             field("out_dtype", &MatmulAttrs::out_dtype, "of the result; None: that of tensor_a"),
             field("transpose_a", &MatmulAttrs::transpose_a, "tensor_a is given transposed"),
             field("transpose_b", &MatmulAttrs::transpose_b, "tensor_b is given transposed"));
};

struct BatchMatmulAttrs {
  MaybeDType out_dtype = {};
  bool transpose_a = false;
  bool transpose_b = false;
  static constexpr auto kFields =
      fields(field("out_dtype", &BatchMatmulAttrs::out_dtype, "of the result; None: that of tensor_a"),
             field("transpose_a", &BatchMatmulAttrs::transpose_a, "tensor_a is given transposed"),
             field("transpose_b", &BatchMatmulAttrs::transpose_b, "tensor_b is given transposed"));
};

// What each of them says in the words of nn.matmul.
inline MatmulAttrs as_matmul(const MatmulAttrs& a) { return a; }
inline MatmulAttrs as_matmul(const DenseAttrs& a) { return {a.units, a.out_dtype, false, true}; }
inline MatmulAttrs as_matmul(const BatchMatmulAttrs& a) {
  return {{}, a.out_dtype, a.transpose_a, a.transpose_b};
}

}  // namespace relay::op
