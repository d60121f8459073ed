// vision.multibox_transform_loc(cls_prob, loc_pred, anchor) = (rows, count): of each batch the
//     rows (class, score, x1, y1, x2, y2) of the anchors that show something, in order, and their number
//
//   The box around an anchor with the centre (x, y), the width w and the height h:
//   x1, x2 = px * variances[0] * w + x -+ exp(pw * variances[2]) * w / 2
//   y1, y2 = py * variances[1] * h + y -+ exp(ph * variances[3]) * h / 2
//
//   (Tensor[(b, c, n), d], Tensor[(b, 4 * n), d], Tensor[(1, n, 4), d]) -> (Tensor[(b, n, 6), d],
//       Tensor[(b), int32])
//   C1: all are floating-point of one dtype; cls_prob and anchor have rank 3, loc_pred rank 2.
//   C2: loc_pred has the batch of cls_prob, and four numbers for each anchor; an anchor has four
//     sides; there is a class.
//   C3: variances are four finite numbers.
//
// The class is the one with the best probability, the first one of equal ones, but for the
// background, class 0. An anchor shows it if its probability is positive and not below the
// threshold. Classes are counted without the background. With keep_background every anchor has a
// row, and one that shows nothing the class -1. Behind the last row, all is -1. With clip the sides
// are brought into [0, 1].
#include <algorithm>
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/real.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoClass = "there must be a class for the background";

struct TransformLocAttrs {
  bool clip = true;
  double threshold = 0.01;
  std::vector<double> variances = {0.1, 0.1, 0.2, 0.2};
  bool keep_background = false;
  static constexpr auto kFields =
      fields(field("clip", &TransformLocAttrs::clip, "bring the sides into [0, 1]"),
             field("threshold", &TransformLocAttrs::threshold, "the least probability of what is shown"),
             field("variances", &TransformLocAttrs::variances, "of x, y, width and height"),
             field("keep_background", &TransformLocAttrs::keep_background, "every anchor has a row"));
};

Type relate(Relation& r, const TransformLocAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  for (int i = 0; i < 3; ++i) {
    r.require_rank(i, i == 1 ? 2 : 3);  // C1
    r.require_same_dtype(i, 0);         // C1
  }
  const TensorType &scores = r.tensor(0), &places = r.tensor(1), &anchors = r.tensor(2);
  const Dim batch = r.same(places.dims[0], scores.dims[0], 1, "batch", 0);               // C2
  const Dim count = r.same(anchors.dims[1], scores.dims[2], 2, "number of anchors", 0);  // C2
  r.same(places.dims[1], count * Dim(4), 1, "four numbers for each anchor", 0);          // C2
  r.require(scores.dims[1] != Dim(0), 0, kNoClass);                                      // C2
  r.same(anchors.dims[0], Dim(1), 2, "batch of the anchors");                            // C2
  r.same(anchors.dims[2], Dim(4), 2, "number of sides");                                 // C2
  const bool finite =
      std::all_of(a.variances.begin(), a.variances.end(), [](double v) { return std::isfinite(v); });
  r.require(a.variances.size() == 4 && finite, kAttributes, "variances must be four finite numbers");  // C3
  return r.tuple_of({r.tensor_of({batch, count, Dim(6)}, scores.dtype), r.tensor_of({batch}, kInt32)});
}

// With the sides, or, for the magnitude of their terms, with sums of magnitudes.
enum class Signs { kExact, kDropped };

struct Shown {
  int64_t label = 0;  // 0: nothing
  double score = -1;
};

Shown shown(const TransformLocAttrs& a, const Tensor& scores, int64_t b, int64_t anchor) {
  const int64_t classes = scores.shape()[1], count = scores.shape()[2];
  Shown out;
  for (int64_t label = 1; label < classes; ++label) {
    const double score = scores.get((b * classes + label) * count + anchor);
    if (score > std::max(out.score, 0.0)) out = {label, score};
  }
  // The threshold is a number of the scores' dtype.
  if (out.label > 0 && out.score < kernel::scalar::round_to(scores.dtype(), a.threshold)) out.label = 0;
  return out;
}

void transform(const TransformLocAttrs& a, Args in, Results out, Signs signs) {
  const Tensor &scores = in[0], &places = in[1], &anchors = in[2];
  const int64_t batches = scores.shape()[0], count = scores.shape()[2];
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, signs == Signs::kExact ? -1 : 1);
  for (int64_t b = 0; b < batches; ++b) {
    int64_t rows = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Shown s = shown(a, scores, b, i);
      if (s.label == 0 && !a.keep_background) continue;
      const int64_t to = (b * count + rows++) * 6;
      const double label = static_cast<double>(s.label - 1);
      out[0].set(to, signs == Signs::kExact ? label : std::fabs(label));
      out[0].set(to + 1, signs == Signs::kExact ? s.score : std::fabs(s.score));
      for (int64_t axis = 0; axis < 2; ++axis) {  // x, then y
        const double low = anchors.get(i * 4 + axis), high = anchors.get(i * 4 + 2 + axis), size = high - low;
        const auto predicted = [&](int64_t n) {
          return places.get(b * count * 4 + i * 4 + n) * a.variances[static_cast<size_t>(n)];
        };
        const double moved = predicted(axis) * size, centre = (low + high) / 2,
                     half = std::exp(predicted(2 + axis)) * size / 2;
        for (const int64_t sign : {-1, 1}) {
          double side = moved + centre + static_cast<double>(sign) * half;
          if (signs == Signs::kDropped) {
            // exp multiplies the roundings of its argument.
            const double sides = std::fabs(low) + std::fabs(high);
            side = std::fabs(predicted(axis)) * sides + sides +
                   (1 + std::fabs(predicted(2 + axis))) * std::exp(predicted(2 + axis)) * sides;
          } else if (a.clip) {
            side = std::isnan(side) ? side : std::clamp(side, 0.0, 1.0);
          }
          out[0].set(to + (sign < 0 ? 2 : 4) + axis, side);
        }
      }
    }
    out[1].set_int(b, rows);
  }
}

void evaluate(const TransformLocAttrs& a, Args in, Results out) { transform(a, in, out, Signs::kExact); }

void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  transform(read_attrs<TransformLocAttrs>(attrs), in, out, Signs::kDropped);
}

int64_t some_roundings(std::span<const Type>, const Attrs&) { return 16; }

std::vector<kernel::Tensor> lower(kernel::Builder& k, const TransformLocAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor &scores = c.in[0], &places = c.in[1], &anchors = c.in[2];
  const DType dtype = scores.dtype(), wide = accumulator(dtype);
  const Expr zero = k.constant(dtype, 0), none = k.index(0);
  const std::vector<Expr> shape{scores.dim(0), scores.dim(2)};
  const auto score = [&](Expr b, Expr i, Expr label) { return scores(b, max(label, none), i); };
  // The best class so far, 0 while there is none.
  const kernel::Tensor best = k.update(
      "best", kInt64, shape, [&](kernel::Indices) { return none; }, {shape[0], shape[1], scores.dim(1)},
      [](kernel::Indices r) { return std::vector<Expr>{r[0], r[1]}; },
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr so_far = self(r[0], r[1]);
        const Expr most = select(equal(so_far, none), zero, score(r[0], r[1], so_far));
        const Expr better = logical_and(less(none, r[2]), less(most, scores(r[0], r[2], r[1])));
        return select(better, r[2], so_far);
      });
  const auto shows = [&](Expr b, Expr i) {
    const Expr label = best(b, i);
    const Expr enough =
        less_equal(k.constant(dtype, kernel::scalar::round_to(dtype, a.threshold)), score(b, i, label));
    return logical_and(less(none, label), enough);
  };
  const auto has_row = [&](kernel::Indices row, Expr i) {
    return a.keep_background ? k.constant(kBool, 1) : shows(row[0], i);
  };
  const kernel::Tensor order = gathered(k, {{shape[0]}, shape[1], has_row, {}});
  const kernel::Tensor count =
      k.reduce("count", kInt32, {shape[0]}, {shape[1]}, k.sum(kInt32),
               [&](kernel::Indices i, kernel::Indices r) { return cast(kInt32, has_row(i, r[0])); });
  const kernel::Tensor rows = k.compute("rows", dtype, c.shape(), [&](kernel::Indices n) {
    k.require_shape(less(none, scores.dim(1)), kNoClass);
    const Expr from = cast(kInt64, order(n[0], n[1])), i = safe(from, shape[1]), b = n[0], label = best(b, i);
    // What stands in the row, but for class and score: which side, and of which axis.
    const Expr field = max(n[2] - 2, none), axis = floor_mod(field, 2);
    const Expr low = cast(wide, anchors(none, i, axis)), high = cast(wide, anchors(none, i, axis + 2)),
               size = high - low, half = k.constant(wide, 0.5);
    const auto predicted = [&](int64_t first, Expr number) {
      const Expr variance =
          select(equal(axis, none), k.constant(wide, a.variances[static_cast<size_t>(first)]),
                 k.constant(wide, a.variances[static_cast<size_t>(first + 1)]));
      return cast(wide, places(b, i * 4 + number)) * variance;
    };
    const Expr centre = predicted(0, axis) * size + (low + high) * half,
               reach = exp(predicted(2, axis + 2)) * size * half;
    Expr side = select(less(field, k.index(2)), centre - reach, centre + reach);
    if (a.clip) side = min(max(side, k.constant(wide, 0)), k.constant(wide, 1));
    const Expr label_of_row = select(shows(b, i), cast(dtype, label - 1), k.constant(dtype, -1));
    const Expr score_of_row = select(less(none, label), score(b, i, label), k.constant(dtype, -1));
    const Expr value = select(equal(n[2], none), label_of_row,
                              select(equal(n[2], k.index(1)), score_of_row, cast(dtype, side)));
    return select(less(from, none), k.constant(dtype, -1), value);
  });
  return {rows, count};
}

}  // namespace

const OpDef kMultiboxTransformLoc = define<TransformLocAttrs>({
    .name = "vision.multibox_transform_loc",
    .doc = "What a single-shot detector shows: the best class of each anchor, and its box.",
    .params = {{"cls_prob", "the probability of each class and anchor"},
               {"loc_pred", "how each box differs from its anchor: x, y, width and height"},
               {"anchor", "boxes: x1, y1, x2 and y2"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = some_roundings, .terms = terms},
    .not_differentiable = "which anchors show something is a step of their scores",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
