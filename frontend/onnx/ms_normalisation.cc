// com.microsoft: layer normalisation with what transformers do before it.
#include "frontend/onnx/contributed.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr double kEpsilon = 1e-12F;

// Over the last axis; the sums of short floats are float32.
struct LayerNorm {
  Expr y, mean, inverse;  // of the deviation
};

// Without a mean: by the root of the mean of squares.
LayerNorm normalised(Node& n, Expr e, bool centre, double epsilon, Expr gamma, Expr beta) {
  const DType own = type_of(e).dtype, wide = own.bits < 32 ? kFloat32 : own;
  const std::vector<AttrArg> last{{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}};
  Term x{n.builder(), n.cast(e, wide)};
  const Term mean = x.apply(kMean, {x}, last);
  if (centre) x = x - mean;
  const Term inverse = x.apply(kRsqrt, {x.apply(kMean, {x * x}, last) + epsilon});
  const Term scaled = x * inverse * Term{n.builder(), n.cast(gamma, wide)};
  const Expr y = beta ? n.call(kAdd, {scaled, n.cast(beta, wide)}) : scaled.e;
  return {n.cast(y, own), centre ? mean.e : n.call(kZerosLike, {mean}), inverse};
}

Results layer_normalisation(Node& n) { return n.convert_as("LayerNormalization", 17); }

// y = x * rsqrt(mean(x^2) + epsilon) * scale over the last axes from `axis` on.
Results simplified(Node& n) {
  n.without_effect({"stash_type"});  // sums are float32 at least
  const size_t rank = n.rank(0);
  if (n.axis(n.integer("axis", -1), rank) + 1 != rank)
    n.unsupported("several axes are not supported", "reshape its input to one");
  const LayerNorm l = normalised(n, n.input(0), false, n.real("epsilon", 1e-5F), n.input(1), nullptr);
  return {l.y, l.inverse};
}

// The sum of the input, the skip connection and a bias, which is a result too.
Results skipped(Node& n, bool centre, size_t beta, size_t bias) {
  Expr sum = n.call(kAdd, {n.input(0), n.input(1)});
  if (n.has(bias)) sum = n.call(kAdd, {sum, n.input(bias)});
  const Expr shift = centre && n.has(beta) ? n.input(beta) : nullptr;
  const LayerNorm l = normalised(n, sum, centre, n.real("epsilon", kEpsilon), n.input(2), shift);
  return {l.y, l.mean, l.inverse, sum};
}

Results skip_layer(Node& n) { return skipped(n, true, 3, 4); }
Results skip_simplified(Node& n) { return skipped(n, false, 0, 3); }

enum EmbedInput : size_t {
  kIds,
  kSegmentIds,
  kWords,
  kPositions,
  kSegments,
  kGamma,
  kBeta,
  kMask,
  kPositionIds
};

Expr rows_of_table(Node& n, Expr table, Expr ids) {
  return n.call(kTake, {table, ids}, {{"axis", int64_t{0}}, {"mode", std::string("fast")}});
}

// The embeddings of words, positions and segments, added up and normalised. The second result is
// how many steps the mask shows: 0 without a mask.
Results embed(Node& n) {
  if (n.integer("mask_index_type", 0) != 0) n.unsupported("mask_index_type other than 0 is not supported");
  const Expr ids = n.input(kIds);
  n.require(type_of(ids).rank() == 2, "its input_ids must have batch and steps");
  const std::vector<Dim> dims = dims_of(ids);
  Expr positions;
  if (n.has(kPositionIds)) {
    positions = rows_of_table(n, n.input(kPositions), n.input(kPositionIds));
  } else {
    if (dims[1].is_unknown()) n.unsupported("the number of its steps depends on the data");
    positions = rows_of_table(n, n.input(kPositions), n.places({dims[1]}));
  }
  Expr sum = n.call(kAdd, {rows_of_table(n, n.input(kWords), ids), positions});
  if (n.has(kSegmentIds))
    sum = n.call(kAdd, {sum, rows_of_table(n, n.input(kSegments), n.input(kSegmentIds))});
  const LayerNorm l = normalised(n, sum, true, n.real("epsilon", kEpsilon), n.input(kGamma), n.input(kBeta));
  const std::vector<AttrArg> steps{{"axis", std::vector<int64_t>{1}}};
  const Expr mask = n.cast(n.has(kMask) ? n.input(kMask) : n.call(kZerosLike, {ids}), kInt32);
  return {l.y, n.call(kSum, {mask}, steps), sum};
}

constexpr Row kRows[] = {
    {"LayerNormalization", 1, layer_normalisation},  // ONNX Runtime has it before version 17
    {"SimplifiedLayerNormalization", 1, simplified, "several axes"},
    {"com.microsoft.EmbedLayerNormalization", 1, embed, "mask_index_type other than 0"},
    {"com.microsoft.SkipLayerNormalization", 1, skip_layer},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, skip_simplified},
};

}  // namespace

std::span<const Row> ms_normalisation_rows() { return kRows; }

}  // namespace relay::frontend
