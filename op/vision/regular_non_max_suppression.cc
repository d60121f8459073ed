// vision.regular_non_max_suppression(boxes, scores) = (boxes, classes, scores, count): of each batch the
//     max_detections boxes with the best scores that no better box of their class overlaps
//
//   (Tensor[(b, n, 4), d], Tensor[(b, n, c), e]) -> (Tensor[(b, m, 4), float32], Tensor[(b, m), float32],
//       Tensor[(b, m), float32], Tensor[(b), int32]), where m is max_detections
//   C1: boxes and scores have rank 3 and are floating-point; a box has four sides.
//   C2: both have the same batch and number of boxes.
//   C3: max_detections_per_class, max_detections and num_classes are in [0, 65536].
//   C4: the scores have num_classes classes or more, and their number is known.
//
// The detection of TensorFlow Lite. A box is a candidate of a class if its score is at least
// score_threshold. It is left out if it overlaps a better one of its class that is left itself: if
// what they share is more than iou_threshold of what they cover together. Of each class at most
// max_detections_per_class are left, and of all of them the best; of equal scores the one of the
// first class, and then the first box. Classes count without those before the last num_classes.
// Behind what is left, all is 0.
#include <algorithm>
#include <array>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

struct RegularNmsAttrs {
  int64_t max_detections_per_class = 0, max_detections = 0, num_classes = 0;
  double iou_threshold = 0, score_threshold = 0;
  static constexpr auto kFields = fields(
      field("max_detections_per_class", &RegularNmsAttrs::max_detections_per_class,
            "boxes of a class at most")
          .required(),
      field("max_detections", &RegularNmsAttrs::max_detections, "boxes of a batch").required(),
      field("num_classes", &RegularNmsAttrs::num_classes, "without the background").required(),
      field("iou_threshold", &RegularNmsAttrs::iou_threshold, "boxes that share more suppress").required(),
      field("score_threshold", &RegularNmsAttrs::score_threshold, "the least score of a candidate")
          .required());
};

Type relate(Relation& r, const RegularNmsAttrs& a) {
  for (int i = 0; i < 2; ++i) {
    r.require_rank(i, 3);           // C1
    require(r, i, Domain::kFloat);  // C1
  }
  const TensorType &boxes = r.tensor(0), &scores = r.tensor(1);
  r.same(boxes.dims[2], Dim(4), 0, "number of sides");                     // C1
  const Dim batch = r.same(scores.dims[0], boxes.dims[0], 1, "batch", 0);  // C2
  r.same(scores.dims[1], boxes.dims[1], 1, "number of boxes", 0);          // C2
  for (const auto& [name, value] :
       {std::pair{"max_detections_per_class", a.max_detections_per_class},
        std::pair{"max_detections", a.max_detections}, std::pair{"num_classes", a.num_classes}}) {
    r.require(value >= 0 && value <= 65536, kAttributes,
              cat(name, " must be in [0, 65536], not ", value));  // C3
  }
  r.require(scores.dims[2].is_const(), 1, "the number of classes must be known");  // C4
  r.require(scores.dims[2].value() >= a.num_classes, 1,
            cat("scores of ", scores.dims[2].value(), " classes, but num_classes is ", a.num_classes));  // C4
  const Dim most(a.max_detections);
  return r.tuple_of({r.tensor_of({batch, most, Dim(4)}, kFloat32), r.tensor_of({batch, most}, kFloat32),
                     r.tensor_of({batch, most}, kFloat32), r.tensor_of({batch}, kInt32)});
}

// Thresholds are numbers of float32.
Real threshold(double value) { return rounded(kFloat32, value); }

struct Detection {
  int64_t box, label;
  double score;
};

void evaluate(const RegularNmsAttrs& a, Args in, Results out) {
  const Tensor &boxes = in[0], &scores = in[1];
  const int64_t batches = scores.shape()[0], count = scores.shape()[1], classes = scores.shape()[2];
  const int64_t first = classes - a.num_classes;
  for (int64_t b = 0; b < batches; ++b) {
    const auto side = [&](int64_t i, int64_t n) { return boxes.get((b * count + i) * 4 + n); };
    const auto box = [&](int64_t i) {
      const auto of = [&](int64_t n) { return Real{side(i, n), accumulator(boxes.dtype())}; };
      return Box<Real>{of(0), of(1), of(2), of(3)};
    };
    std::vector<Detection> all;
    for (int64_t label = 0; label < a.num_classes; ++label) {
      const auto score = [&](int64_t i) { return scores.get((b * count + i) * classes + first + label); };
      const std::vector<int64_t> left = survivors(
          ranked(
              count, [&](int64_t i) { return score(i) >= threshold(a.score_threshold).value; }, score),
          [&](int64_t better, int64_t worse) {
            return overlap(box(better), box(worse)).value > threshold(a.iou_threshold).value;
          });
      for (size_t i = 0; i < left.size() && static_cast<int64_t>(i) < a.max_detections_per_class; ++i)
        all.push_back({left[i], label, score(left[i])});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Detection& p, const Detection& q) { return p.score > q.score; });
    const int64_t found = std::min(static_cast<int64_t>(all.size()), a.max_detections);
    for (int64_t i = 0; i < found; ++i) {
      const Detection& d = all[static_cast<size_t>(i)];
      const int64_t to = b * a.max_detections + i;
      for (int64_t n = 0; n < 4; ++n) out[0].set(to * 4 + n, side(d.box, n));
      out[1].set(to, static_cast<double>(d.label));
      out[2].set(to, d.score);
    }
    out[3].set_int(b, found);
  }
}

// [batch, class, m]: the boxes that are left of each class; -1 behind them.
kernel::Tensor left_of_classes(
    kernel::Builder& k, const RegularNmsAttrs& a, const Lowering& c,
    const std::function<kernel::Expr(kernel::Indices row, kernel::Expr box)>& score) {
  using kernel::Expr;
  const kernel::Tensor &boxes = c.in[0], &scores = c.in[1];
  const DType computed = accumulator(boxes.dtype());
  const Expr least = k.constant(kFloat64, threshold(a.score_threshold).value),
             most = k.constant(kFloat64, threshold(a.iou_threshold).value);
  const Candidates candidates{
      {scores.dim(0), k.index(a.num_classes)},
      scores.dim(1),
      [&](kernel::Indices row, Expr box) { return less_equal(least, wider(score(row, box))); },
      score};
  const kernel::Tensor order = order_of(k, candidates);
  const auto box = [&](kernel::Indices row, Expr i) {
    const auto side = [&](int64_t n) { return cast(computed, boxes(row[0], i, k.index(n))); };
    return Box<Expr>{side(0), side(1), side(2), side(3)};
  };
  const kernel::Tensor survives =
      survivors_of(k, candidates, order, [&](kernel::Indices row, Expr better, Expr worse) {
        return less(most, wider(overlap(box(row, better), box(row, worse))));
      });
  const kernel::Tensor before = counted_before(k, survives);
  const Expr limit = k.index(a.max_detections_per_class);
  const auto fits = [&](kernel::Indices r) {
    return logical_and(survives.at(r), less(cast(kInt64, before.at(r)), limit));
  };
  const auto where = [&](kernel::Indices r) {
    return std::vector<Expr>{r[0], r[1], safe(cast(kInt64, before.at(r)), limit)};
  };
  return k.update(
      "left", kInt32, {scores.dim(0), k.index(a.num_classes), limit},
      [&](kernel::Indices) { return k.pool().integer(-1, kInt32); },
      {scores.dim(0), k.index(a.num_classes),
       k.index(a.max_detections_per_class > 0 ? 1 : 0) * scores.dim(1)},
      where,
      [&](kernel::Tensor self, kernel::Indices r) {
        return select(fits(r), order.at(r), self.at(where(r)));
      });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const RegularNmsAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor &boxes = c.in[0], &scores = c.in[1];
  const Expr first = scores.dim(2) - a.num_classes, per_class = k.index(a.max_detections_per_class);
  const auto score = [&](kernel::Indices row, Expr box) { return scores(row[0], box, first + row[1]); };
  const kernel::Tensor left = left_of_classes(k, a, c, score);
  // All classes of a batch as one row, of which the best are taken.
  const Expr all = k.index(a.num_classes * a.max_detections_per_class);
  const auto class_of = [&](Expr i) { return floor_div(i, max(per_class, k.index(1))); };
  const auto box_of = [&](Expr b, Expr i) {
    return cast(kInt64, left(b, class_of(i), i - class_of(i) * per_class));
  };
  const auto score_of = [&](kernel::Indices row, Expr i) {
    const Expr box = safe(box_of(row[0], i), boxes.dim(1));
    return score(std::vector<Expr>{row[0], class_of(i)}, box);
  };
  const Candidates detections{
      {scores.dim(0)},
      all,
      [&](kernel::Indices row, Expr i) { return less_equal(k.index(0), box_of(row[0], i)); },
      score_of};
  const kernel::Tensor order = order_of(k, detections);
  // The detection at a place of the result, and whether there is one.
  const auto detection = [&](Expr b, Expr i) { return cast(kInt64, order(b, safe(i, all))); };
  const auto found = [&](Expr b, Expr i) {
    return logical_and(less(i, all), less_equal(k.index(0), detection(b, i)));
  };
  const auto result = [&](const char* name, size_t n, const auto& value) {
    return k.compute(name, kFloat32, c.shape(n), [&](kernel::Indices i) {
      const Expr at = safe(detection(i[0], i[1]), all);
      return a.num_classes * a.max_detections_per_class == 0
                 ? k.constant(kFloat32, 0)
                 : select(found(i[0], i[1]), cast(kFloat32, value(i, at)), k.constant(kFloat32, 0));
    });
  };
  const kernel::Tensor sides = result("boxes", 0, [&](kernel::Indices i, Expr at) {
    return boxes(i[0], safe(box_of(i[0], at), boxes.dim(1)), i[2]);
  });
  const kernel::Tensor labels = result("classes", 1, [&](kernel::Indices, Expr at) { return class_of(at); });
  const kernel::Tensor best =
      result("scores", 2, [&](kernel::Indices i, Expr at) { return score_of(i.first(1), at); });
  const kernel::Tensor number = k.reduce(
      "count", kInt32, {scores.dim(0)}, {all}, k.sum(kInt32), [&](kernel::Indices i, kernel::Indices r) {
        return cast(kInt32, logical_and(less(r[0], k.index(a.max_detections)), found(i[0], r[0])));
      });
  return {sides, labels, best, number};
}

}  // namespace

const OpDef kRegularNonMaxSuppression = define<RegularNmsAttrs>({
    .name = "vision.regular_non_max_suppression",
    .doc = "The best boxes of all classes that no better box of their class overlaps.",
    .params = {{"boxes", "of each batch, as two opposite corners"}, {"scores", "of each box and class"}},
    .not_differentiable = "which boxes are left is a step of their scores and sides",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
