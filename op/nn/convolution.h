// What the convolutions share: attributes, the reference arithmetic, the gradients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/nn/window.h"
#include "op/tensor/attributes.h"

namespace relay::op {

struct ConvolutionAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  std::optional<Dim> channels = {};
  std::optional<std::vector<Dim>> kernel_size = {};
  std::string data_layout = "NCHW", kernel_layout = "OIHW", out_layout = {};
  MaybeDType out_dtype = {};
  // All but the dtype of the result.
  static constexpr auto kShapeFields =
      fields(field("strides", &ConvolutionAttrs::strides,
                   "how far the window moves: one number, or height and width"),
             field("padding", &ConvolutionAttrs::padding,
                   "zeros around the image: one number, (height, width) or (top, left, bottom, right)"),
             field("dilation", &ConvolutionAttrs::dilation,
                   "the distance between the elements that a window covers"),
             field("groups", &ConvolutionAttrs::groups,
                   "each group of output channels sees one group of input channels"),
             field("channels", &ConvolutionAttrs::channels, "output channels; None: as the weight says"),
             field("kernel_size", &ConvolutionAttrs::kernel_size,
                   "height and width of the window; None: as the weight says"),
             field("data_layout", &ConvolutionAttrs::data_layout, "an order of the letters NCHW"),
             field("kernel_layout", &ConvolutionAttrs::kernel_layout, "an order of the letters OIHW"),
             field("out_layout", &ConvolutionAttrs::out_layout, "the data's layout, which \"\" stands for"));
  static constexpr auto kFields = std::tuple_cat(
      kShapeFields,
      fields(field("out_dtype", &ConvolutionAttrs::out_dtype, "of the result; None: the data's")));
};

struct TransposedConvolutionAttrs : ConvolutionAttrs {
  std::vector<int64_t> output_padding = {0, 0};
  TransposedConvolutionAttrs() { kernel_layout = "IOHW"; }
  static constexpr auto kOwnFields = fields(
      field("output_padding", &TransposedConvolutionAttrs::output_padding,
            "how many rows and columns more the result has: which of the sizes that a convolution would "
            "have taken to this one"));
  static constexpr auto kFields = std::tuple_cat(ConvolutionAttrs::kFields, kOwnFields);
};

// The attributes, understood.
struct Convolution {
  Layout data, weight;  // letters N, C, H, W and O, I, H, W
  Window window;
  int64_t groups = 1;
};
Convolution read_convolution(const ConvolutionAttrs& a);

// The parts of the relation that all convolutions have. In both, the weight's dims are in the
// order of its letters.
//
// Reads or determines the weight, whose first two dims are `given` where they are known.
std::array<Dim, 4> relate_weight(Relation& r, const ConvolutionAttrs& a, const Convolution& c,
                                 const std::array<std::optional<Dim>, 2>& given);
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

// Gradients, everything in the layouts NCHW and OIHW. Of y = conv2d(data, weight):
Expr data_gradient(Builder& b, Expr dy, Expr weight, const Window& w, int64_t groups, Dim height, Dim width);
Expr weight_gradient(Builder& b, Expr data, Expr dy, const Window& w, int64_t groups, Dim height, Dim width);

// x as NCHW (or a weight as OIHW), in the dtype.
Expr canonical(Builder& b, Expr x, const Layout& layout, DType dtype);
Expr from_canonical(Builder& b, Expr x, const Layout& layout, DType dtype);

// The attributes of a conv2d in canonical layouts.
std::vector<AttrArg> convolution_attrs(const Window& w, int64_t groups);

}  // namespace relay::op
