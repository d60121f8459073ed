// vision.all_class_non_max_suppression(boxes, scores, most, iou_threshold, score_threshold) =
//     for each batch and class the boxes that no better one overlaps, the best first
//
//   onnx: -> (Tensor[(b * c * n, 3), int64], Tensor[(1), int64]); the triples (batch, class, box)
//   that are left, class after class, and their number
//
//   tensorflow: -> (Tensor[(b, c * n, 2), int64], Tensor[(b, c * n), float32], Tensor[(b), int64]);
//   of each batch the pairs (class, box), their scores, and their number
//
//   (Tensor[(b, n, 4), d], Tensor[(b, c, n), e], Tensor[(), m], Tensor[(), f], Tensor[(), g]) -> a tuple
//   C1: boxes and scores have rank 3 and are floating-point; a box has four sides.
//   C2: both have the same batch and number of boxes.
//   C3: the third argument is an integer, the thresholds are floating-point, all of rank 0.
//   C4: output_format is onnx or tensorflow.
//
// A box is a candidate if its score is above score_threshold. It is left out if it overlaps a
// better one of its class that is left itself: if what they share is more than iou_threshold of
// what they cover together. Of each class at most so many are left, unless the limit is negative.
// Behind what is left, all is 0.
#include <algorithm>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

struct AllClassNmsAttrs {
  std::string output_format = "onnx";
  static constexpr auto kFields =
      fields(field("output_format", &AllClassNmsAttrs::output_format, "onnx or tensorflow"));
};

Type relate(Relation& r, const AllClassNmsAttrs& a) {
  for (int i = 0; i < 2; ++i) {
    r.require_rank(i, 3);           // C1
    require(r, i, Domain::kFloat);  // C1
  }
  for (int i = 2; i < 5; ++i) {
    r.require_rank(i, 0);                                       // C3
    require(r, i, i == 2 ? Domain::kInteger : Domain::kFloat);  // C3
  }
  const TensorType &boxes = r.tensor(0), &scores = r.tensor(1);
  r.same(boxes.dims[2], Dim(4), 0, "number of sides");                               // C1
  const Dim batch = r.same(scores.dims[0], boxes.dims[0], 1, "batch", 0);            // C2
  const Dim count = r.same(scores.dims[2], boxes.dims[1], 1, "number of boxes", 0);  // C2
  const Dim all = scores.dims[1] * count;
  if (a.output_format == "onnx") {
    return r.tuple_of({r.tensor_of({batch * all, Dim(3)}, kInt64), r.tensor_of({Dim(1)}, kInt64)});
  }
  r.require(a.output_format == "tensorflow", kAttributes,
            cat("output_format must be onnx or tensorflow, not `", a.output_format, "`"));  // C4
  return r.tuple_of({r.tensor_of({batch, all, Dim(2)}, kInt64), r.tensor_of({batch, all}, kFloat32),
                     r.tensor_of({batch}, kInt64)});
}

// The boxes of a batch and class that are left.
std::vector<int64_t> left_of(Args in, int64_t b, int64_t c) {
  const Tensor &boxes = in[0], &scores = in[1];
  const int64_t classes = scores.shape()[1], count = scores.shape()[2];
  const auto score = [&](int64_t i) { return scores.get((b * classes + c) * count + i); };
  const auto box = [&](int64_t i) {
    const auto side = [&](int64_t n) {
      return Real{boxes.get((b * count + i) * 4 + n), accumulator(boxes.dtype())};
    };
    return Box<Real>{side(0), side(1), side(2), side(3)};
  };
  const std::vector<int64_t> candidates =
      ranked(count, [&](int64_t i) { return score(i) > in[4].get(0); }, score);
  std::vector<int64_t> left = survivors(candidates, [&](int64_t better, int64_t worse) {
    return overlap(box(better), box(worse)).value > in[3].get(0);
  });
  const int64_t most = index_of(in[2], 0);
  if (most >= 0 && most < static_cast<int64_t>(left.size())) left.resize(static_cast<size_t>(most));
  return left;
}

void evaluate(const AllClassNmsAttrs& a, Args in, Results out) {
  const int64_t batches = in[1].shape()[0], classes = in[1].shape()[1], count = in[1].shape()[2];
  int64_t total = 0;
  for (int64_t b = 0; b < batches; ++b) {
    int64_t of_batch = 0;
    for (int64_t c = 0; c < classes; ++c) {
      for (const int64_t box : left_of(in, b, c)) {
        if (a.output_format == "onnx") {
          const int64_t triple[] = {b, c, box};
          for (int64_t k = 0; k < 3; ++k) out[0].set_int(total * 3 + k, triple[k]);
        } else {
          const int64_t to = b * classes * count + of_batch;
          out[0].set_int(to * 2, c);
          out[0].set_int(to * 2 + 1, box);
          out[1].set(to, in[1].get((b * classes + c) * count + box));
        }
        ++total, ++of_batch;
      }
    }
    if (a.output_format != "onnx") out[2].set_int(b, of_batch);
  }
  if (a.output_format == "onnx") out[1].set_int(0, total);
}

// What is left: [batch, class, place].
struct Left {
  kernel::Tensor order, holds, before;
};

Left left_of(kernel::Builder& k, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor &boxes = c.in[0], &scores = c.in[1];
  const DType computed = accumulator(boxes.dtype());
  const auto score = [&](kernel::Indices row, Expr box) { return scores(row[0], row[1], box); };
  const Expr least = wider(c.in[4]()), threshold = wider(c.in[3]());
  const Candidates candidates{
      {scores.dim(0), scores.dim(1)},
      scores.dim(2),
      [&](kernel::Indices row, Expr box) { return less(least, wider(score(row, box))); },
      score};
  Left left;
  left.order = order_of(k, candidates);
  const auto box = [&](kernel::Indices row, Expr i) {
    const auto side = [&](int64_t n) { return cast(computed, boxes(row[0], i, k.index(n))); };
    return Box<Expr>{side(0), side(1), side(2), side(3)};
  };
  const kernel::Tensor survives =
      survivors_of(k, candidates, left.order, [&](kernel::Indices row, Expr better, Expr worse) {
        return less(threshold, wider(overlap(box(row, better), box(row, worse))));
      });
  left.before = counted_before(k, survives);
  const Expr limit = index_at(c.in[2], {});
  left.holds = k.compute("left", kBool, survives.shape(), [&](kernel::Indices i) {
    const Expr fits = logical_or(less(limit, k.index(0)), less(cast(kInt64, left.before.at(i)), limit));
    return logical_and(survives.at(i), fits);
  });
  return left;
}

// [batch, class]: how many boxes are left of the classes before, and, with `across`, of
// the batches before.
kernel::Tensor offsets(kernel::Builder& k, const kernel::Tensor& number, bool across) {
  using kernel::Expr;
  const Expr zero = k.index(0);
  return k.update(
      "offset", kInt64, number.shape(), [&](kernel::Indices) { return zero; }, number.shape(),
      [](kernel::Indices r) { return std::vector<Expr>(r.begin(), r.end()); },
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr first = equal(r[1], zero), last = max(number.dim(1) - 1, zero);
        const std::vector<Expr> previous{select(first, max(r[0] - 1, zero), r[0]),
                                         select(first, last, max(r[1] - 1, zero))};
        const Expr sum = self.at(previous) + cast(kInt64, number.at(previous));
        const Expr begins = across ? logical_and(first, equal(r[0], zero)) : first;
        return select(begins, zero, sum);
      });
}

// The sum of a tensor [batch, class] over its classes, or over both.
kernel::Tensor total(kernel::Builder& k, const kernel::Tensor& number, bool across) {
  using Result = std::vector<kernel::Expr>;
  const Result shape{across ? k.index(1) : number.dim(0)};
  const Result over = across ? number.shape() : Result{number.dim(1)};
  return k.reduce("total", kInt64, shape, over, k.sum(kInt64), [&](kernel::Indices i, kernel::Indices r) {
    return cast(kInt64, across ? number(r[0], r[1]) : number(i[0], r[0]));
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const AllClassNmsAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const bool across = a.output_format == "onnx";
  const kernel::Tensor& scores = c.in[1];
  const Left left = left_of(k, c);
  const kernel::Tensor number = counted(k, left.holds), offset = offsets(k, number, across);
  const std::vector<Expr> shape = c.shape();
  const Expr places = across ? shape[0] : shape[1];
  const auto place = [&](kernel::Indices r) {
    return safe(offset(r[0], r[1]) + cast(kInt64, left.before(r[0], r[1], r[2])), places);
  };
  const auto box_at = [&](kernel::Indices r) {
    return safe(cast(kInt64, left.order(r[0], r[1], r[2])), scores.dim(2));
  };
  std::vector<Expr> extents = left.holds.shape();
  extents.push_back(shape.back());
  const auto where = [&](kernel::Indices r) {
    return across ? std::vector<Expr>{place(r), r[3]} : std::vector<Expr>{r[0], place(r), r[3]};
  };
  const kernel::Tensor found = k.update(
      "selected", kInt64, shape, [&](kernel::Indices) { return k.index(0); }, extents, where,
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr box = box_at(r), zero = k.index(0), one = k.index(1);
        const Expr name = across ? select(equal(r[3], zero), r[0], select(equal(r[3], one), r[1], box))
                                 : select(equal(r[3], zero), r[1], box);
        return select(left.holds(r[0], r[1], r[2]), name, self.at(where(r)));
      });
  if (across) return {found, total(k, number, across)};
  const auto to = [&](kernel::Indices r) { return std::vector<Expr>{r[0], place(r)}; };
  const kernel::Tensor best = k.update(
      "scores", kFloat32, c.shape(1), [&](kernel::Indices) { return k.constant(kFloat32, 0); },
      left.holds.shape(), to,
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr score = cast(kFloat32, scores(r[0], r[1], box_at(r)));
        return select(left.holds(r[0], r[1], r[2]), score, self.at(to(r)));
      });
  return {found, best, total(k, number, across)};
}

}  // namespace

const OpDef kAllClassNonMaxSuppression = define<AllClassNmsAttrs>({
    .name = "vision.all_class_non_max_suppression",
    .doc = "For each class the boxes that no better box of it overlaps.",
    .params = {{"boxes", "of each batch, as two opposite corners"},
               {"scores", "of each class and box"},
               {"max_output_boxes_per_class", "of rank 0; negative: all"},
               {"iou_threshold", "of rank 0"},
               {"score_threshold", "of rank 0"}},
    .not_differentiable = "which boxes are left is a step of their scores and sides",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
