// One-dimensional convolution and pooling: nn.conv1d, nn.conv1d_transpose, nn.max_pool1d,
// nn.avg_pool1d. A line is an image of height 1.
//
//   nn.conv1d(data, weight)[n, o, x] = sum over i, v of data[n, g*I + i, x*s + v*d - p] * weight[o, i, v]
//   (Tensor[(n, c, w), d], Tensor[(o, c / groups, kw), e]) -> Tensor[(n, o, w'), out_dtype]
//
//   nn.conv1d_transpose(data, weight)[n, g*O + o, x*s + v*d - p] += data[n, i, x] * weight[i, o, v]
//   for all i, x, v
//   (Tensor[(n, c, w), d], Tensor[(c, o, kw), e]) -> Tensor[(n, o * groups, w'), out_dtype]
//   where w' = (w - 1) * stride - padding + (kw - 1) * dilation + 1 + output_padding
//
//   nn.max_pool1d(data)[n, c, x] = max over v of data[n, c, x*s + v*d - p]
//   (Tensor[(n, c, w), d]) -> Tensor[(n, c, w'), d]
//
//   nn.avg_pool1d(data)[n, c, x] = mean over v of data[n, c, x*s + v*d - p]
//   (Tensor[(n, c, w), d]) -> Tensor[(n, c, w'), d]
//
//   C1: data (and the weight) have rank 3.   C2: the layouts are orders of NCW and OIW.
//   C3: strides, dilation, pool_size and output_padding are one number, padding is one or two.
//   C4: what nn.conv2d, nn.conv2d_transpose, nn.max_pool2d and nn.avg_pool2d require.
#include "base/cat.h"
#include "op/nn/convolution.h"
#include "op/nn/pooling.h"

namespace relay::op {
namespace {

struct Conv1dAttrs : ConvolutionAttrs {
  Conv1dAttrs() : ConvolutionAttrs("W") { padding = {0, 0}; }
};

struct Conv1dTransposeAttrs : TransposedConvolutionAttrs {
  Conv1dTransposeAttrs() : TransposedConvolutionAttrs("W") {}
};

struct MaxPool1dAttrs : MaxPoolAttrs {
  MaxPool1dAttrs() : MaxPoolAttrs("W") {}
};

struct AvgPool1dAttrs : AvgPoolAttrs {
  AvgPool1dAttrs() : AvgPoolAttrs("W") {}
};

// Where the height goes: before the width. The letters are checked here, so that a layout with a
// height is refused.
size_t place_of_height(std::string_view attribute, std::string_view layout, std::string_view letters) {
  bool good = layout.size() == letters.size();
  for (const char letter : letters) good = good && layout.find(letter) != std::string_view::npos;
  if (!good)
    throw RelationError{kAttributes, cat(attribute, " must be an order of the letters of ", letters,
                                         ", not `", layout, "`")};  // C2
  return layout.find('W');
}
std::string with_height(std::string layout) {
  const size_t w = layout.find('W');
  return w == std::string::npos ? layout : layout.insert(w, "H");
}

std::vector<int64_t> two(std::string_view attribute, const std::vector<int64_t>& values, int64_t height) {
  if (values.size() != 1)
    throw RelationError{kAttributes, cat(attribute, " must be one number, not ", values.size())};  // C3
  return {height, values[0]};
}
std::vector<int64_t> padding(const std::vector<int64_t>& values) {
  if (values.size() != 1 && values.size() != 2) {
    throw RelationError{kAttributes, cat("padding must be 1 or 2 numbers, not ", values.size())};  // C3
  }
  return {0, values.front(), 0, values.back()};
}

// The same call for images: its attributes, and where the height is inserted into each
// argument and the result.
struct Image {
  std::vector<AttrArg> attrs;
  std::vector<size_t> height;  // of each argument; the result is like the first
};

Image image(const ConvolutionAttrs& a) {
  Image out;
  out.height = {place_of_height("data_layout", a.data_layout, "NCW"),
                place_of_height("kernel_layout", a.kernel_layout, "OIW")};
  out.attrs = {{"strides", two("strides", a.strides, 1)},    {"padding", padding(a.padding)},
               {"dilation", two("dilation", a.dilation, 1)}, {"groups", a.groups},
               {"data_layout", with_height(a.data_layout)},  {"kernel_layout", with_height(a.kernel_layout)},
               {"out_layout", with_height(a.out_layout)}};
  if (a.channels) out.attrs.push_back({"channels", *a.channels});
  if (a.kernel_size) {
    if (a.kernel_size->size() != 1) throw RelationError{kAttributes, "kernel_size must be one extent"};  // C3
    out.attrs.push_back({"kernel_size", std::vector<Dim>{Dim(1), a.kernel_size->front()}});
  }
  if (a.out_dtype.given) out.attrs.push_back({"out_dtype", *a.out_dtype.given});
  return out;
}

Image image(const TransposedConvolutionAttrs& a) {
  Image out = image(static_cast<const ConvolutionAttrs&>(a));
  out.attrs.push_back({"output_padding", two("output_padding", a.output_padding, 0)});
  return out;
}

Image image(const MaxPoolAttrs& a) {
  Image out;
  out.height = {place_of_height("layout", a.layout, "NCW")};
  out.attrs = {{"pool_size", two("pool_size", a.pool_size, 1)},
               {"strides", two("strides", a.strides, 1)},
               {"dilation", two("dilation", a.dilation, 1)},
               {"padding", padding(a.padding)},
               {"layout", with_height(a.layout)},
               {"out_layout", with_height(a.out_layout)},
               {"ceil_mode", a.ceil_mode}};
  return out;
}

Image image(const AvgPoolAttrs& a) {
  Image out = image(static_cast<const MaxPoolAttrs&>(a));
  out.attrs.push_back({"count_include_pad", a.count_include_pad});
  return out;
}

Type without_height(Context& context, Type type, size_t height) {
  const TensorType& t = *type->as<TensorType>();
  std::vector<Dim> dims = dims_of(t);
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(height));
  return context.tensor_type(dims, t.dtype);
}

// The relation of the operator on images, asked about lines.
template <class A, const OpDef& op>
Type relate(Relation& r, const A& a) {
  const Image im = image(a);
  std::vector<Type> types;
  for (size_t i = 0; i < im.height.size(); ++i) {
    const int arg = static_cast<int>(i);
    if (!r.known(arg)) {
      types.push_back(nullptr);
      continue;
    }
    r.require_rank(arg, 3);  // C1
    std::vector<Dim> dims = dims_of(r.tensor(arg));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(im.height[i]), Dim(1));
    types.push_back(r.tensor_of(dims, r.tensor(arg).dtype));
  }
  Relation inner(r.context(), types);
  const Type result = op.relate(inner, r.context().attrs(im.attrs));  // C4
  for (const auto& [arg, type] : inner.assigned()) {
    r.assign(arg, without_height(r.context(), type, im.height[static_cast<size_t>(arg)]));
  }
  for (const DimCheck& check : inner.checks()) r.same(check.a, check.b, check.arg, "extents");
  return without_height(r.context(), result, im.height[0]);
}

template <class A, const OpDef& op>
Expr expand(Builder& b, const A& a, const Site& c) {
  const Image im = image(a);
  std::vector<Expr> args;
  for (size_t i = 0; i < im.height.size(); ++i) {
    args.push_back(call(b, kExpandDims, {c.args[i]}, {{"axis", static_cast<int64_t>(im.height[i])}}));
  }
  const std::vector<int64_t> height{static_cast<int64_t>(im.height[0])};
  return call(b, kSqueeze, {call(b, op, args, im.attrs)}, {{"axis", height}});
}

int64_t convolution_length(std::span<const Type> args, const Attrs&) {
  return constant_part(args[1]->as<TensorType>()->dims);  // no more products than the weight has elements
}

int64_t pool_length(std::span<const Type>, const Attrs& attrs) {
  return read_attrs<AvgPool1dAttrs>(attrs).pool_size.at(0);
}

}  // namespace

const OpDef kConv1d = define<Conv1dAttrs>({
    .name = "nn.conv1d",
    .doc = "Convolution along lines: each output channel weighs the neighbourhoods of the input channels.",
    .params = {{"data", "a batch of lines"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = convolution_length},
    .refines = {1},
    .relate = relate<Conv1dAttrs, kConv2d>,
    .expand = expand<Conv1dAttrs, kConv2d>,
});

const OpDef kConv1dTranspose = define<Conv1dTransposeAttrs>({
    .name = "nn.conv1d_transpose",
    .doc = "The transpose of a convolution along lines: from short lines to long ones.",
    .params = {{"data", "a batch of lines"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = convolution_length},
    .refines = {1},
    .relate = relate<Conv1dTransposeAttrs, kConv2dTranspose>,
    .expand = expand<Conv1dTransposeAttrs, kConv2dTranspose>,
});

const OpDef kMaxPool1d = define<MaxPool1dAttrs>({
    .name = "nn.max_pool1d",
    .doc = "The largest element of each window of a line.",
    .params = {{"data", "a batch of lines"}},
    .fusion = Fusion::kOutputFusable,
    .relate = relate<MaxPool1dAttrs, kMaxPool2d>,
    .expand = expand<MaxPool1dAttrs, kMaxPool2d>,
});

const OpDef kAvgPool1d = define<AvgPool1dAttrs>({
    .name = "nn.avg_pool1d",
    .doc = "The mean of each window of a line.",
    .params = {{"data", "a batch of lines"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = pool_length},
    .relate = relate<AvgPool1dAttrs, kAvgPool2d>,
    .expand = expand<AvgPool1dAttrs, kAvgPool2d>,
});

}  // namespace relay::op
