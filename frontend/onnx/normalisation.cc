// Normalisation.
#include <numeric>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Before version 7, an attribute said whether a node is used for inference.
void require_inference(Node& n) {
  if (n.opset() < 7 && n.integer("is_test", 0) == 0)
    n.unsupported("training (is_test=0) is not supported", "set its attribute is_test to 1");
}

// From version 14 on: the statistics of the batch, and those that are kept, moved towards them.
Results batch_normalisation_in_training(Node& n) {
  const DType dtype = n.dtype(0), wide = n.dtype(3).bits > dtype.bits ? n.dtype(3) : dtype;
  const size_t rank = n.rank(0);
  n.require(rank >= 2, "its input needs batch and channels");
  std::vector<int64_t> axes(rank - 1);
  std::iota(axes.begin(), axes.end(), 1);
  axes[0] = 0;
  const Expr x = n.cast(n.input(0), wide);
  const double momentum = n.real("momentum", 0.9f);
  const Expr mean = n.call(kMean, {x}, {{"axis", axes}, {"keepdims", true}});
  const Expr centred = n.call(kSubtract, {x, mean});
  const Expr variance =
      n.call(kMean, {n.call(kMultiply, {centred, centred})}, {{"axis", axes}, {"keepdims", true}});
  const auto flat = [&](Expr e) { return n.squeeze(e, axes); };
  const std::vector<Expr> args{x, n.cast(n.input(1), wide), n.cast(n.input(2), wide), flat(mean),
                               flat(variance)};
  const Expr all = n.call(kBatchNorm, args, {{"axis", int64_t{1}}, {"epsilon", n.real("epsilon", 1e-5f)}});
  const auto moved = [&](size_t i, Expr now) {
    return n.cast(n.call(kAdd, {n.call(kMultiply, {n.cast(n.input(i), wide), n.scalar(wide, momentum)}),
                                n.call(kMultiply, {now, n.scalar(wide, 1 - momentum)})}),
                  n.dtype(i));
  };
  return {n.cast(n.proj(all, 0), dtype), moved(3, args[3]), moved(4, args[4])};
}

Results batch_normalisation(Node& n) {
  require_inference(n);
  if (n.integer("training_mode", 0) != 0) return batch_normalisation_in_training(n);
  n.without_effect({"momentum"});
  for (size_t i = 1; i < n.outputs(); ++i) {
    if (n.wants(i)) n.unsupported("results of training are not supported", "export the model for inference");
  }
  // The statistics may be wider than the data; then so is the arithmetic.
  const DType dtype = n.dtype(0), wide = n.dtype(3).bits > dtype.bits ? n.dtype(3) : dtype;
  std::vector<Expr> args;
  for (size_t i = 0; i < 5; ++i) args.push_back(n.cast(n.input(i), wide));
  if (n.opset() < 9 && n.integer("spatial", 1) == 0) {
    // Each place of an example has its own statistics: they broadcast along the batch.
    const Expr variance = n.call(kAdd, {args[4], n.scalar(wide, n.real("epsilon", 1e-5f))});
    const Expr unit = n.call(kDivide, {n.call(kSubtract, {args[0], args[3]}), n.call(kSqrt, {variance})});
    return {n.cast(n.call(kAdd, {n.call(kMultiply, {unit, args[1]}), args[2]}), dtype)};
  }
  const Expr all = n.call(kBatchNorm, args, {{"axis", int64_t{1}}, {"epsilon", n.real("epsilon", 1e-5f)}});
  return {n.cast(n.proj(all, 0), dtype)};
}

Results instance_normalisation(Node& n) {
  return {n.call(kInstanceNorm, {n.input(0), n.input(1), n.input(2)},
                 {{"axis", int64_t{1}}, {"epsilon", n.real("epsilon", 1e-5f)}})};
}

// (x - mean) / sqrt(variance + epsilon) over some axes, in the dtype of the statistics.
struct Normalised {
  Expr y, mean, inverse;  // inverse of the standard deviation
};
Normalised normalise(Node& n, Expr x, const std::vector<int64_t>& axes, double epsilon) {
  const std::vector<AttrArg> over{{"axis", axes}, {"keepdims", true}};
  const DType dtype = type_of(x).dtype;
  const Expr mean = n.call(kMean, {x}, over), centred = n.call(kSubtract, {x, mean});
  const Expr variance = n.call(kMean, {n.call(kMultiply, {centred, centred})}, over);
  const Expr deviation = n.call(kSqrt, {n.call(kAdd, {variance, n.scalar(dtype, epsilon)})});
  const Expr inverse = n.call(kDivide, {n.scalar(dtype, 1), deviation});
  return {n.call(kMultiply, {centred, inverse}), mean, inverse};
}

// The dtype in which statistics are computed at least, and given.
DType stash_dtype(Node& n) {
  const auto dtype = data::dtype_of_onnx(n.integer("stash_type", 1));
  n.require(dtype && dtype->is_float(), "its attribute `stash_type` names no float");
  return *dtype;
}

DType wider(DType a, DType b) { return a.bits < b.bits ? b : a; }

Results layer_normalisation(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  const size_t first = n.axis(n.integer("axis", -1), t.rank());
  const double epsilon = n.real("epsilon", 1e-5f);
  n.require(n.has(1), "its scale is missing");
  n.without_effect({"stash_type"});  // at most, one operator is more precise
  if (!n.wants(1) && !n.wants(2) && first + 1 == t.rank() && n.has(2) && n.rank(1) == 1 && n.rank(2) == 1) {
    return {n.call(kLayerNorm, {x, n.input(1), n.input(2)}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}})};
  }
  std::vector<int64_t> axes(t.rank() - first);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
  const DType stash = stash_dtype(n);
  const Normalised parts = normalise(n, n.cast(x, wider(t.dtype, stash)), axes, epsilon);
  Expr y = n.call(kMultiply, {n.cast(parts.y, t.dtype), n.input(1)});
  if (n.has(2)) y = n.call(kAdd, {y, n.input(2)});
  // The statistics have the dtype that `stash_type` says, also where the data is wider.
  return {y, n.cast(parts.mean, stash), n.cast(parts.inverse, stash)};
}

// x / sqrt(mean(x^2) + epsilon) * scale, over the last axes.
Results rms_normalisation(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  std::vector<int64_t> axes(t.rank() - n.axis(n.integer("axis", -1), t.rank()));
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(t.rank() - axes.size()));
  n.require(n.rank(1) <= t.rank(), "its scale has more dimensions than its input");
  const Expr wide = n.cast(x, wider(t.dtype, stash_dtype(n)));
  const DType dtype = type_of(wide).dtype, scaled = n.dtype(1);
  const Expr mean = n.call(kMean, {n.call(kMultiply, {wide, wide})}, {{"axis", axes}, {"keepdims", true}});
  const Expr root = n.call(kSqrt, {n.call(kAdd, {mean, n.scalar(dtype, n.real("epsilon", 1e-5f))})});
  const Expr y = n.cast(n.cast(n.call(kDivide, {wide, root}), t.dtype), scaled);
  return {n.call(kMultiply, {y, n.input(1)})};
}

// Each group of channels of each example by itself.
Results group_normalisation(Node& n) {
  const Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() >= 2, "its input needs batch and channels");
  const int64_t groups = n.integer("num_groups");
  n.require(groups >= 1, "its attribute `num_groups` is out of range");
  if (dims[1].is_unknown()) n.unsupported("the number of its channels depends on the data");
  n.require(!dims[1].is_const() || dims[1].value() % groups == 0,
            "its channels cannot be divided among its groups");
  const Dim each = floor_div(dims[1], Dim(groups));
  std::vector<Dim> split{dims[0], Dim(groups), each};
  split.insert(split.end(), dims.begin() + 2, dims.end());
  std::vector<int64_t> axes(split.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const DType dtype = type_of(x).dtype;
  const Expr wide = n.reshape(n.cast(x, wider(dtype, stash_dtype(n))), split);
  const Expr y = n.cast(n.reshape(normalise(n, wide, axes, n.real("epsilon", 1e-5f)).y, dims), dtype);
  // Before version 21 there is one scale a group, from then on one a channel.
  const auto per_channel = [&](size_t i) {
    Expr e = n.input(i);
    n.require(type_of(e).rank() == 1, "its scale and bias must have one dimension");
    if (n.opset() < 21) {
      const Expr column = n.expand_dims(e, 1);
      e = n.reshape(n.call(kBroadcastTo, {column}, {{"shape", std::vector<Dim>{Dim(groups), each}}}),
                    {dims[1]});
    }
    return dims.size() > 2 ? n.expand_dims(e, 1, static_cast<int64_t>(dims.size()) - 2) : e;
  };
  return {n.call(kAdd, {n.call(kMultiply, {y, per_channel(1)}), per_channel(2)})};
}

Results local_response_normalisation(Node& n) {
  const int64_t size = n.integer("size");
  if (size % 2 == 0) n.unsupported("an even window is not supported");
  return {n.call(kLrn, {n.input(0)},
                 {{"size", size},
                  {"axis", int64_t{1}},
                  {"bias", n.real("bias", 1)},
                  {"alpha", n.real("alpha", 1e-4f)},
                  {"beta", n.real("beta", 0.75)}})};
}

Results mean_variance_normalisation(Node& n) {
  const std::vector<int64_t> axes = n.integers("axes", {0, 2, 3});
  const Expr x = n.input(0);
  const std::vector<AttrArg> over{{"axis", axes}, {"keepdims", true}};
  const DType dtype = type_of(x).dtype;
  const Expr centred = n.call(kSubtract, {x, n.call(kMean, {x}, over)});
  const Expr deviation = n.call(kSqrt, {n.call(kMean, {n.call(kMultiply, {centred, centred})}, over)});
  return {n.call(kDivide, {centred, n.call(kAdd, {deviation, n.scalar(dtype, 1e-9)})})};
}

// x / |x| along an axis, 0 where |x| is 0.
Results lp_normalisation(Node& n) {
  const int64_t p = n.integer("p", 2);
  n.require(p == 1 || p == 2, "its attribute `p` must be 1 or 2");
  const Expr x = n.input(0);
  const std::vector<AttrArg> over{{"axis", std::vector<int64_t>{n.integer("axis", -1)}}, {"keepdims", true}};
  const Expr norm = p == 1 ? n.call(kSum, {n.call(kAbs, {x})}, over)
                           : n.call(kSqrt, {n.call(kSum, {n.call(kMultiply, {x, x})}, over)});
  const Expr zero = n.scalar(type_of(x).dtype, 0);
  return {n.call(kWhere, {n.call(kEqual, {norm, zero}), zero, n.call(kDivide, {x, norm})})};
}

constexpr Row kRows[] = {
    {"BatchNormalization", 1, batch_normalisation, "training before version 14"},
    {"GroupNormalization", 18, group_normalisation},
    {"InstanceNormalization", 1, instance_normalisation},
    {"LRN", 1, local_response_normalisation, "an even size"},
    {"LayerNormalization", 17, layer_normalisation},
    {"LpNormalization", 1, lp_normalisation},
    {"MeanVarianceNormalization", 9, mean_variance_normalisation},
    {"RMSNormalization", 23, rms_normalisation},
};

}  // namespace

std::span<const Row> normalisation_rows() { return kRows; }

}  // namespace relay::frontend
