// Products of small integers, summed in wide ones.
//
//   qnn.dense(q, w, zq, zw, sq, sw) = nn.dense(q - zq, w - zw)
//   qnn.contrib_dense_pack(q, w, zq, zw, sq, sw) = nn.contrib_dense_pack(q - zq, w - zw)
//   qnn.batch_matmul(q, w, zq, zw, sq, sw) = nn.batch_matmul(q - zq, w - zw)
//   qnn.conv2d(q, w, zq, zw, sq, sw) = nn.conv2d(q - zq, w - zw)
//   qnn.conv2d_transpose(q, w, zq, zw, sq, sw) = nn.conv2d_transpose(q - zq, w - zw)
//
//   (Tensor[s, d], Tensor[t, e], i, Tensor[u, j], f, Tensor[v, g]) -> Tensor[r, out_dtype]
//   C1: d and e are int8, uint8, int16 or uint16.   C2: zero points are integers.
//   C3: scales are floating.
//   C4: the data's zero point and scale are scalars. The weight's are scalars, or have an element
//       for each output channel. They are scalars of a transposed convolution in groups, of
//       qnn.batch_matmul and of a packed weight.
//   C5: out_dtype is int16 or int32.
//   C6: data, weight and attributes are as the operator without `qnn.` wants them.
//
// The result stands for sq * sw * q: scales are there for readers and passes, and compute nothing.
// Differences, products and sums wrap in out_dtype. Around an image are zeros, which
// are zero points.
#include <algorithm>
#include <optional>

#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/nn/matmul.h"
#include "op/qnn/common.h"

namespace relay::op {
namespace {

constexpr auto kSumsDoc = "of the differences, products and sums: int32, int16, or None for int32";

struct QnnDenseAttrs : DenseAttrs {
  QnnDenseAttrs() { out_dtype.given = kInt32; }
  static constexpr auto kFields =
      fields(field("units", &QnnDenseAttrs::units, "outputs; None: as the weight says"),
             field("out_dtype", &QnnDenseAttrs::out_dtype, kSumsDoc));
};

struct QnnDensePackAttrs : DensePackAttrs {
  QnnDensePackAttrs() { out_dtype.given = kInt32; }
  static constexpr auto kFields =
      std::tuple_cat(kShapeFields, fields(field("out_dtype", &QnnDensePackAttrs::out_dtype, kSumsDoc)));
};

struct QnnBatchMatmulAttrs : BatchMatmulAttrs {
  QnnBatchMatmulAttrs() { out_dtype.given = kInt32; }
  static constexpr auto kFields =
      fields(field("out_dtype", &QnnBatchMatmulAttrs::out_dtype, kSumsDoc),
             field("transpose_a", &QnnBatchMatmulAttrs::transpose_a, "x is given transposed"),
             field("transpose_b", &QnnBatchMatmulAttrs::transpose_b, "y is given transposed"));
};

struct QnnConvolutionAttrs : ConvolutionAttrs {
  QnnConvolutionAttrs() { out_dtype.given = kInt32; }
  static constexpr auto kFields =
      std::tuple_cat(kShapeFields, fields(field("out_dtype", &QnnConvolutionAttrs::out_dtype, kSumsDoc)));
};

struct QnnTransposedConvolutionAttrs : TransposedConvolutionAttrs {
  QnnTransposedConvolutionAttrs() { out_dtype.given = kInt32; }
  static constexpr auto kFields = std::tuple_cat(
      kShapeFields, fields(field("out_dtype", &QnnTransposedConvolutionAttrs::out_dtype, kSumsDoc)),
      kOwnFields);
};

// --- the operator without `qnn.` -----------------------------------------------------------------

template <class A>
DType sums_of(const A& a) {
  return a.out_dtype.value_or(kInt32);
}

const OpDef& plain(const QnnDenseAttrs&) { return kDense; }
const OpDef& plain(const QnnDensePackAttrs&) { return kDensePack; }
const OpDef& plain(const QnnBatchMatmulAttrs&) { return kBatchMatmul; }
const OpDef& plain(const QnnConvolutionAttrs&) { return kConv2d; }
const OpDef& plain(const QnnTransposedConvolutionAttrs&) { return kConv2dTranspose; }

std::vector<AttrArg> plain_attrs(const QnnDenseAttrs& a) {
  std::vector<AttrArg> out{{"out_dtype", sums_of(a)}};
  if (a.units) out.push_back({"units", *a.units});
  return out;
}
std::vector<AttrArg> plain_attrs(const QnnDensePackAttrs& a) {
  std::vector<AttrArg> out{{"out_dtype", sums_of(a)}, {"weight_layout", a.weight_layout}};
  if (a.units) out.push_back({"units", *a.units});
  return out;
}
std::vector<AttrArg> plain_attrs(const QnnBatchMatmulAttrs& a) {
  return {{"out_dtype", sums_of(a)}, {"transpose_a", a.transpose_a}, {"transpose_b", a.transpose_b}};
}
std::vector<AttrArg> shape_attrs(const ConvolutionAttrs& a) {
  std::vector<AttrArg> out{{"strides", a.strides},         {"padding", a.padding},
                           {"dilation", a.dilation},       {"groups", a.groups},
                           {"data_layout", a.data_layout}, {"kernel_layout", a.kernel_layout},
                           {"out_layout", a.out_layout},   {"out_dtype", sums_of(a)}};
  if (a.channels) out.push_back({"channels", *a.channels});
  if (a.kernel_size) out.push_back({"kernel_size", *a.kernel_size});
  return out;
}
std::vector<AttrArg> plain_attrs(const QnnConvolutionAttrs& a) { return shape_attrs(a); }
std::vector<AttrArg> plain_attrs(const QnnTransposedConvolutionAttrs& a) {
  std::vector<AttrArg> out = shape_attrs(a);
  out.push_back({"output_padding", a.output_padding});
  return out;
}

// The weight's axis of output channels; nothing if no axis of it counts them all.
std::optional<size_t> channel_axis(const QnnDenseAttrs&) { return 0; }
std::optional<size_t> channel_axis(const QnnDensePackAttrs&) { return std::nullopt; }
std::optional<size_t> channel_axis(const QnnBatchMatmulAttrs&) { return std::nullopt; }
std::optional<size_t> channel_axis(const QnnConvolutionAttrs& a) {
  return read_convolution(a).weight.place(0);
}
std::optional<size_t> channel_axis(const QnnTransposedConvolutionAttrs& a) {
  const Convolution c = read_convolution(a);
  return c.groups == 1 ? std::optional(c.weight.place(0)) : std::nullopt;
}

template <class A>
std::string_view why_scalar(const A&) {
  return "expected a scalar";
}
std::string_view why_scalar(const QnnTransposedConvolutionAttrs&) {
  return "expected a scalar, as there are groups";
}

// --- rules ---------------------------------------------------------------------------------------

template <class A>
Type relate(Relation& r, const A& a) {
  for (const int arg : {0, 1}) require_narrow_integer(r, arg);       // C1
  for (const int zero : {2, 3}) require(r, zero, Domain::kInteger);  // C2
  for (const int scale : {4, 5}) require(r, scale, Domain::kFloat);  // C3
  for (const int scalar : {2, 4}) r.require_rank(scalar, 0);         // C4
  const DType sums = sums_of(a);
  r.require(sums == kInt16 || sums == kInt32, kAttributes, "out_dtype must be int16 or int32");  // C5
  const Type result = plain(a).relate(r, r.context().attrs(plain_attrs(a)));                     // C6
  const std::optional<size_t> axis = channel_axis(a);
  for (const int arg : {3, 5}) {
    const TensorType& parameter = r.tensor(arg);
    if (parameter.rank() == 0) continue;
    r.require(axis && parameter.rank() == 1, arg,
              axis ? "expected a scalar or a vector" : why_scalar(a));  // C4
    r.same(parameter.dims[0], r.tensor(1).dims[*axis], arg, "the number of output channels of weight",
           1);  // C4
  }
  return result;
}

bool is_zero(Expr e) {
  const auto* constant = e->as<Constant>();
  if (!constant) return false;
  const std::vector<int64_t> values = constant->value->ints();
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

// q - zero, where the zero point may go along an axis; q itself, still narrow, if that is 0.
Expr without_zero_point(Builder& b, Expr q, Expr zero, std::optional<size_t> axis, DType sums) {
  if (is_zero(zero)) return q;
  const int64_t along_axis = axis ? static_cast<int64_t>(*axis) : -1;
  return to(sums, Term(b, q)) - to(sums, along(b, zero, q, along_axis));
}

template <class A>
Expr expand(Builder& b, const A& a, const Site& c) {
  const Expr data = without_zero_point(b, c.args[0], c.args[2], {}, sums_of(a));
  const Expr weight = without_zero_point(b, c.args[1], c.args[3], channel_axis(a), sums_of(a));
  return call(b, plain(a), {data, weight}, plain_attrs(a));
}

std::vector<Param> params(std::string_view data, std::string_view weight) {
  return {{"data", data},
          {"weight", weight},
          {"input_zero_point", "the integer of the data that stands for 0"},
          {"kernel_zero_point", "the integer of the weight that stands for 0"},
          {"input_scale", "the distance of neighbouring integers of the data"},
          {"kernel_scale", "the distance of neighbouring integers of the weight"}};
}

}  // namespace

const OpDef kQnnDense = define<QnnDenseAttrs>({
    .name = "qnn.dense",
    .doc = "Weighted sums of small integers: data times the transposed weight, without their zero points.",
    .params = params("vectors of small integers along the last axis", "(units, inputs)"),
    .relate = relate<QnnDenseAttrs>,
    .expand = expand<QnnDenseAttrs>,
});

const OpDef kQnnContribDensePack = define<QnnDensePackAttrs>({
    .name = "qnn.contrib_dense_pack",
    .doc = "qnn.dense with a weight whose outputs are grouped in panels.",
    .params = params("vectors of small integers along the last axis", "(panels, inputs, outputs of a panel)"),
    .relate = relate<QnnDensePackAttrs>,
    .expand = expand<QnnDensePackAttrs>,
});

const OpDef kQnnBatchMatmul = define<QnnBatchMatmulAttrs>({
    .name = "qnn.batch_matmul",
    .doc = "The products of two batches of matrices of small integers, without their zero points.",
    .params = {{"x", "(batch, rows, inner); inner and rows exchanged with transpose_a"},
               {"y", "(batch, inner, columns); columns and inner exchanged with transpose_b"},
               {"x_zero_point", "the integer of x that stands for 0"},
               {"y_zero_point", "the integer of y that stands for 0"},
               {"x_scale", "the distance of neighbouring integers of x"},
               {"y_scale", "the distance of neighbouring integers of y"}},
    .relate = relate<QnnBatchMatmulAttrs>,
    .expand = expand<QnnBatchMatmulAttrs>,
});

const OpDef kQnnConv2d = define<QnnConvolutionAttrs>({
    .name = "qnn.conv2d",
    .doc = "Convolution over images of small integers, without their zero points.",
    .params = params("a batch of images", "the windows' weights"),
    .relate = relate<QnnConvolutionAttrs>,
    .expand = expand<QnnConvolutionAttrs>,
});

const OpDef kQnnConv2dTranspose = define<QnnTransposedConvolutionAttrs>({
    .name = "qnn.conv2d_transpose",
    .doc = "The transpose of a convolution over images of small integers, without their zero points.",
    .params = params("a batch of images", "the windows' weights"),
    .relate = relate<QnnTransposedConvolutionAttrs>,
    .expand = expand<QnnTransposedConvolutionAttrs>,
});

}  // namespace relay::op
