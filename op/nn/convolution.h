// What the convolutions share: attributes, the reference arithmetic, the gradients.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "op/nn/window.h"
#include "op/tensor/attributes.h"

namespace relay::op {

// Of a convolution over images; others derive from it and say how many spatial axes there are.
struct ConvolutionAttrs {
  std::string spatial;  // the letters of the spatial axes: no attribute, but what the operator is about
  std::vector<int64_t> strides, padding, dilation;
  int64_t groups = 1;
  std::optional<Dim> channels = {};
  std::optional<std::vector<Dim>> kernel_size = {};
  std::string data_layout, kernel_layout, out_layout = {};
  MaybeDType out_dtype = {};

  ConvolutionAttrs() : ConvolutionAttrs("HW") {}
  explicit ConvolutionAttrs(const std::string& letters)
      : spatial(letters),
        strides(letters.size(), 1),
        padding(letters.size(), 0),
        dilation(letters.size(), 1),
        data_layout("NC" + letters),
        kernel_layout("OI" + letters) {}

  // All but the dtype of the result.
  static constexpr auto kShapeFields = fields(
      field("strides", &ConvolutionAttrs::strides,
            "how far the window moves: one number, or one for each spatial axis"),
      field("padding", &ConvolutionAttrs::padding,
            "zeros around the data: one number, one for each spatial axis, or twice as many: before "
            "each axis, then behind each"),
      field("dilation", &ConvolutionAttrs::dilation,
            "the distance between the elements that a window covers"),
      field("groups", &ConvolutionAttrs::groups,
            "each group of output channels sees one group of input channels"),
      field("channels", &ConvolutionAttrs::channels, "output channels; None: as the weight says"),
      field("kernel_size", &ConvolutionAttrs::kernel_size, "extents of the window; None: as the weight says"),
      field("data_layout", &ConvolutionAttrs::data_layout, "an order of the letters of the default"),
      field("kernel_layout", &ConvolutionAttrs::kernel_layout, "an order of the letters of the default"),
      field("out_layout", &ConvolutionAttrs::out_layout, "the data's layout, which \"\" stands for"));
  static constexpr auto kFields = std::tuple_cat(
      kShapeFields,
      fields(field("out_dtype", &ConvolutionAttrs::out_dtype, "of the result; None: the data's")));
};

struct Conv3dAttrs : ConvolutionAttrs {
  Conv3dAttrs() : ConvolutionAttrs("DHW") {}
};

struct TransposedConvolutionAttrs : ConvolutionAttrs {
  std::vector<int64_t> output_padding;

  TransposedConvolutionAttrs() : TransposedConvolutionAttrs("HW") {}
  explicit TransposedConvolutionAttrs(const std::string& letters)
      : ConvolutionAttrs(letters), output_padding(letters.size(), 0) {
    kernel_layout = "IO" + letters;
  }

  static constexpr auto kOwnFields =
      fields(field("output_padding", &TransposedConvolutionAttrs::output_padding,
                   "how much longer the result is along each spatial axis: which of the sizes that a "
                   "convolution would have taken to this one"));
  static constexpr auto kFields = std::tuple_cat(ConvolutionAttrs::kFields, kOwnFields);
};

struct Conv3dTransposeAttrs : TransposedConvolutionAttrs {
  Conv3dTransposeAttrs() : TransposedConvolutionAttrs("DHW") {}
};

// The attributes, understood.
struct Convolution {
  Layout data, weight;  // axes N, C and O, I, each before the spatial ones
  Window window;
  int64_t groups = 1;

  size_t axes() const { return window.axes(); }
};
Convolution read_convolution(const ConvolutionAttrs& a);

// The parts of the relation that all convolutions have. The weight's dims are in the
// plain order of its axes.
//
// Reads or determines the weight, which is argument `arg`, and whose first two dims are `given`
// where they are known.
std::vector<Dim> relate_weight(Relation& r, const ConvolutionAttrs& a, const Convolution& c,
                               const std::array<std::optional<Dim>, 2>& given, int arg = 1);
// d divided by the groups; fails if they do not divide it.
Dim per_group(Dim d, int64_t groups, int arg, std::string_view what);
// out_dtype, which must be floating or not as the data is; and the weight's dtype, which
// must be the data's.
DType result_dtype(Relation& r, const MaybeDType& wanted);
void require_weight_dtype(Relation& r, const MaybeDType& wanted, int arg);

// The dtype of the sums: at least float32 for floating point, that of the result for integers.
DType sum_dtype(DType data, DType result);

// Evaluates `sum(data, weight)`, two flat arrays, with one rounding at the end, or modulo
// 2^64 for integers.
template <class Sum>
void evaluate_products(Args in, Results out, Sums sums, Sum&& sum) {
  if (in[0].dtype().is_float()) {
    with_zero(sums, in[0].dtype(), [&](auto zero) {
      const auto terms = [&](const Tensor& t) {
        const std::vector<double> values = t.doubles();
        return std::vector<decltype(zero)>(values.begin(), values.end());
      };
      const auto y = sum(terms(in[0]), terms(in[1]));
      for (size_t i = 0; i < y.size(); ++i) out[0].set(static_cast<int64_t>(i), y[i]);
    });
  } else {
    const auto bits = [](const Tensor& t) {
      const std::vector<int64_t> values = t.ints();
      return std::vector<uint64_t>(values.begin(), values.end());
    };
    const std::vector<uint64_t> y = sum(bits(in[0]), bits(in[1]));
    for (size_t i = 0; i < y.size(); ++i) out[0].set_int(static_cast<int64_t>(i), static_cast<int64_t>(y[i]));
  }
}

// For `evaluate`: the indices of a shape in row-major order.
std::vector<std::vector<int64_t>> indices_of(const Shape& shape);

// Gradients, everything in the default layouts of a convolution: NCHW and OIHW, if it has two
// spatial axes. Of y = convolution(data, weight), where `extents` are those of the data's or the
// weight's spatial axes:
Expr data_gradient(Builder& b, Expr dy, Expr weight, const Window& w, int64_t groups,
                   std::span<const Dim> extents);
Expr weight_gradient(Builder& b, Expr data, Expr dy, const Window& w, int64_t groups,
                     std::span<const Dim> extents);

// x in the plain order of its layout's axes, in the dtype; and back.
Expr canonical(Builder& b, Expr x, const Layout& layout, DType dtype);
Expr from_canonical(Builder& b, Expr x, const Layout& layout, DType dtype);

// The attributes of a convolution in default layouts, and the operator that has so many spatial
// axes.
std::vector<AttrArg> convolution_attrs(const Window& w, int64_t groups);
const OpDef& convolution_over(size_t axes);

}  // namespace relay::op
