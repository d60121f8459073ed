// QAttention of ONNX Runtime: attention whose projections are products of integers.
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/quantised.h"

namespace relay::frontend {
namespace {

using namespace op;

// The inputs: data (batch, steps, inputs), weight (inputs, 3 * hidden), bias (3 * hidden), a scale
// each of data and weight, a mask, a zero point each, and what was before.
enum Input : size_t { kData, kWeight, kBias, kDataScale, kWeightScale, kMask, kDataZero, kWeightZero, kPast };

void refuse_what_is_not_supported(Node& n) {
  n.require(n.rank(kData) == 3 && n.rank(kWeight) == 2 && n.rank(kBias) == 1,
            "its data, weight and bias must have 3, 2 and 1 dimensions");
  for (const char* flag : {"unidirectional", "do_rotary", "past_present_share_buffer"}) {
    if (n.integer(flag, 0) != 0) n.unsupported(cat(flag, "=1 is not supported"));
  }
  if (n.has(kPast)) n.unsupported("its input `past` is not supported");
}

// (data - zero point) * (weight - zero point) * scales + bias: (batch, steps, 3 * hidden)
Expr project(Node& n) {
  const Expr x_scale = parameter_at(n, kDataScale), w_scale = parameter_at(n, kWeightScale);
  const auto difference = [&](size_t value, size_t zero, Expr scale) {
    return n.call(kSubtract, {n.cast(n.input(value), kInt32), zero_point_at(n, zero, scale)});
  };
  const Expr sums =
      n.call(kMatmul, {difference(kData, kDataZero, x_scale), difference(kWeight, kWeightZero, w_scale)},
             {{"out_dtype", kInt32}});
  const Expr real = n.call(kMultiply, {n.cast(sums, kFloat32), n.call(kMultiply, {x_scale, w_scale})});
  return n.call(kAdd, {real, n.input(kBias)});
}

// What is added to the scores, shaped to broadcast with (batch, heads, steps, steps). A mask says
// which steps count: by 1 and 0 for each, or by the number of them.
Expr mask_of(Node& n, Dim steps, double filter) {
  const Expr mask = n.input(kMask);
  const size_t rank = type_of(mask).rank();
  Expr counts;
  if (rank == 2) {
    counts = n.call(kGreater, {mask, n.scalar(type_of(mask).dtype, 0)});
  } else if (rank == 1 && type_of(mask).dims[0] == type_of(n.input(kData)).dims[0]) {
    const Expr places = n.places({steps}, 0, type_of(mask).dtype);
    counts = n.call(kLess, {places, n.expand_dims(mask, 1)});
  } else {
    n.unsupported("its mask must be (batch, steps) or (batch)");
  }
  const Expr added = n.call(kWhere, {counts, n.scalar(kFloat32, 0), n.scalar(kFloat32, filter)});
  return n.expand_dims(added, 1, 2);
}

Results attention(Node& n) {
  refuse_what_is_not_supported(n);
  const std::vector<Dim> data = dims_of(n.input(kData));
  const Dim width = type_of(n.input(kWeight)).dims[1];
  const int64_t heads = n.integer("num_heads");
  n.require(width.is_const() && heads > 0 && heads < (1 << 16) && width.value() % (3 * heads) == 0,
            "its weight must have three columns for each element of the heads");
  const int64_t hidden = width.value() / 3, size = hidden / heads;
  const Dim batch = data[0], steps = data[1];
  const Expr projected = project(n);
  const auto part = [&](int64_t i) {  // (batch * heads, steps, size)
    const Expr split =
        n.reshape(n.slice(projected, 2, i * hidden, (i + 1) * hidden), {batch, steps, Dim(heads), Dim(size)});
    return n.reshape(n.transpose(split, {0, 2, 1, 3}), {batch * Dim(heads), steps, Dim(size)});
  };
  const double given = n.real("scale", 0), masked_out = n.real("mask_filter_value", -10000);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(size));
  Expr scores = n.call(kBatchMatmul, {part(0), part(1)}, {{"transpose_b", true}});
  scores = n.call(kMultiply, {scores, n.scalar(kFloat32, scale)});
  if (n.has(kMask)) {
    const Expr by_head = n.reshape(scores, {batch, Dim(heads), steps, steps});
    const Expr masked = n.call(kAdd, {by_head, mask_of(n, steps, masked_out)});
    scores = n.reshape(masked, {batch * Dim(heads), steps, steps});
  }
  const Expr seen = n.call(kBatchMatmul, {n.call(kSoftmax, {scores}, {{"axis", int64_t{-1}}}), part(2)});
  const Expr by_head = n.reshape(seen, {batch, Dim(heads), steps, Dim(size)});
  return {n.reshape(n.transpose(by_head, {0, 2, 1, 3}), {batch, steps, Dim(hidden)})};
}

constexpr Row kRows[] = {
    {"com.microsoft.QAttention", 1, attention},
};

}  // namespace

std::span<const Row> quantised_attention_rows() { return kRows; }

}  // namespace relay::frontend
