// vision.non_max_suppression(data, valid_count, indices, max_output_size, iou_threshold) = of the first
//     valid_count[b] boxes of a batch those that no better one overlaps, the best first
//
//   (Tensor[(b, n, k), d], Tensor[(b), i], Tensor[(b, n), j], Tensor[(), m], Tensor[(), e]) -> (Tensor[
//       (b, n), int32], Tensor[(b, 1), int32]), or Tensor[(b, n, k), d]
//   C1: data has rank 3 and is floating-point.
//   C2: valid_count and indices are integers, with the batch of data, and as many indices as boxes.
//   C3: max_output_size is an integer and iou_threshold floating-point, both of rank 0.
//   C4: the extent of a row is known, and has score_index, the four sides from coord_start on, and
//       id_index, which may be negative for none.
//
// A box with a score that is not positive is left out. So is one that overlaps a better one that is
// left itself: if what they share is at least iou_threshold of what they cover together, and both
// have one class that is not negative, or force_suppress. Only the top_k best are looked at, if
// top_k is positive, and at most max_output_size are left, if it is not negative. With an
// iou_threshold that is not positive all valid boxes are left, in their order.
//
// The results with return_indices: indices[b, box] of the boxes that are left, behind them -1; and
// how many. Else: the rows of the boxes, those that are left out as -1, at the end with
// invalid_to_bottom.
#include <algorithm>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

struct NmsAttrs {
  bool force_suppress = false;
  int64_t top_k = -1;
  int64_t coord_start = 2, score_index = 1, id_index = 0;
  bool return_indices = true, invalid_to_bottom = false;
  static constexpr auto kFields = fields(
      field("force_suppress", &NmsAttrs::force_suppress, "boxes of other classes suppress, too"),
      field("top_k", &NmsAttrs::top_k, "how many of the best boxes are looked at; not positive: all"),
      field("coord_start", &NmsAttrs::coord_start, "of the first of four sides in a row"),
      field("score_index", &NmsAttrs::score_index, "of the score in a row"),
      field("id_index", &NmsAttrs::id_index, "of the class in a row; negative: there is none"),
      field("return_indices", &NmsAttrs::return_indices, "results are indices and their count, and not rows"),
      field("invalid_to_bottom", &NmsAttrs::invalid_to_bottom, "rows that are left stand before all others"));
};

Type relate(Relation& r, const NmsAttrs& a) {
  r.require_rank(0, 3);             // C1
  require(r, 0, Domain::kFloat);    // C1
  r.require_rank(1, 1);             // C2
  require(r, 1, Domain::kInteger);  // C2
  r.require_rank(2, 2);             // C2
  require(r, 2, Domain::kInteger);  // C2
  r.require_rank(3, 0);             // C3
  require(r, 3, Domain::kInteger);  // C3
  r.require_rank(4, 0);             // C3
  require(r, 4, Domain::kFloat);    // C3
  const TensorType& x = r.tensor(0);
  const Dim batch = r.same(r.tensor(1).dims[0], x.dims[0], 1, "batch", 0);            // C2
  r.same(r.tensor(2).dims[0], x.dims[0], 2, "batch", 0);                              // C2
  const Dim boxes = r.same(r.tensor(2).dims[1], x.dims[1], 2, "number of boxes", 0);  // C2
  r.require(x.dims[2].is_const(), 0, "the extent of a row must be known");            // C4
  const int64_t row = x.dims[2].value();
  const auto in_row = [&](std::string_view name, int64_t index, int64_t count) {
    r.require(index >= 0 && index <= row - count, kAttributes,
              cat(name, " must be in [0, ", row - count, "], not ", index));
  };
  in_row("score_index", a.score_index, 1);                 // C4
  in_row("coord_start", a.coord_start, 4);                 // C4
  if (a.id_index >= 0) in_row("id_index", a.id_index, 1);  // C4
  if (!a.return_indices) return r.tensor_of({batch, boxes, x.dims[2]}, x.dtype);
  return r.tuple_of({r.tensor_of({batch, boxes}, kInt32), r.tensor_of({batch, Dim(1)}, kInt32)});
}

// What stays of a batch: in order, where -1 is a box that is left out.
std::vector<int64_t> left_of(const NmsAttrs& a, Args in, int64_t b) {
  const Tensor& x = in[0];
  const int64_t boxes = x.shape()[1], row = x.shape()[2];
  const double threshold = in[4].get(0);
  const auto at = [&](int64_t box, int64_t k) { return x.get((b * boxes + box) * row + k); };
  const int64_t valid = std::clamp<int64_t>(index_of(in[1], b), 0, boxes);
  if (!(threshold > 0)) return ranked(valid, [](int64_t) { return true; }, [](int64_t) { return 0.0; });
  std::vector<int64_t> candidates = ranked(
      valid, [&](int64_t i) { return at(i, a.score_index) > 0; },
      [&](int64_t i) { return at(i, a.score_index); });
  if (a.top_k > 0 && a.top_k < static_cast<int64_t>(candidates.size()))
    candidates.resize(static_cast<size_t>(a.top_k));
  const DType computed = accumulator(x.dtype());
  const auto box = [&](int64_t i) {
    const auto side = [&](int64_t k) { return Real{at(i, a.coord_start + k), computed}; };
    return Box<Real>{side(0), side(1), side(2), side(3)};
  };
  std::vector<int64_t> left = survivors(candidates, [&](int64_t better, int64_t worse) {
    const bool has_class = a.id_index >= 0;
    if (has_class && !(at(better, a.id_index) >= 0)) return false;
    if (has_class && !a.force_suppress && at(better, a.id_index) != at(worse, a.id_index)) return false;
    return overlap(box(better), box(worse)).value >= threshold;
  });
  const int64_t most = index_of(in[3], 0);
  if (most >= 0 && most < static_cast<int64_t>(left.size())) left.resize(static_cast<size_t>(most));
  if (a.return_indices || a.invalid_to_bottom) return left;
  for (int64_t& candidate : candidates) {
    if (std::find(left.begin(), left.end(), candidate) == left.end()) candidate = -1;
  }
  return candidates;
}

void evaluate(const NmsAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const int64_t boxes = x.shape()[1], row = x.shape()[2];
  for (int64_t b = 0; b < x.shape()[0]; ++b) {
    const std::vector<int64_t> left = left_of(a, in, b);
    const auto count = static_cast<int64_t>(left.size());
    for (int64_t i = 0; i < boxes; ++i) {
      const int64_t box = i < count ? left[static_cast<size_t>(i)] : -1, to = b * boxes + i;
      if (a.return_indices) {
        out[0].set_int(to, box < 0 ? -1 : in[2].get_int(b * boxes + box));
        continue;
      }
      for (int64_t k = 0; k < row; ++k) {
        if (box < 0) {
          out[0].set(to * row + k, -1);
        } else {
          copy_element(x, (b * boxes + box) * row + k, out[0], to * row + k);
        }
      }
    }
    if (a.return_indices) out[1].set_int(b, count);
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NmsAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor &x = c.in[0], &valid = c.in[1], &indices = c.in[2], &most = c.in[3];
  const DType computed = accumulator(x.dtype());
  const Expr threshold = wider(c.in[4]()), suppressing = less(k.constant(kFloat64, 0), threshold);
  const Expr zero = k.constant(x.dtype(), 0), boxes = x.dim(1);
  const auto at = [&](kernel::Indices row, Expr box, int64_t field) {
    return x(row[0], box, k.index(field));
  };
  const Candidates candidates{
      {x.dim(0)},
      boxes,
      [&](kernel::Indices row, Expr box) {
        const Expr positive = less(zero, at(row, box, a.score_index));
        return logical_and(less(box, index_at(valid, row)), logical_or(logical_not(suppressing), positive));
      },
      [&](kernel::Indices row, Expr box) { return select(suppressing, at(row, box, a.score_index), zero); }};
  kernel::Tensor order = order_of(k, candidates);
  if (a.top_k > 0) {
    order = k.compute("top", order.dtype(), order.shape(), [&](kernel::Indices i) {
      const Expr beyond = logical_and(suppressing, less_equal(k.index(a.top_k), i[1]));
      return select(beyond, k.pool().integer(-1, order.dtype()), order.at(i));
    });
  }
  const auto box = [&](kernel::Indices row, Expr i) {
    const auto side = [&](int64_t n) { return cast(computed, at(row, i, a.coord_start + n)); };
    return Box<Expr>{side(0), side(1), side(2), side(3)};
  };
  const kernel::Tensor survives =
      survivors_of(k, candidates, order, [&](kernel::Indices row, Expr better, Expr worse) {
        Expr related = suppressing;
        if (a.id_index >= 0) {
          const Expr id = at(row, better, a.id_index);
          related = logical_and(related, less_equal(zero, id));
          if (!a.force_suppress) related = logical_and(related, equal(id, at(row, worse, a.id_index)));
        }
        return logical_and(related, less_equal(threshold, wider(overlap(box(row, better), box(row, worse)))));
      });
  const kernel::Tensor before = counted_before(k, survives);
  const Expr limit = index_at(most, {});
  const kernel::Tensor left = k.compute("left", kBool, survives.shape(), [&](kernel::Indices i) {
    const Expr fits = logical_or(less(limit, k.index(0)), less(cast(kInt64, before.at(i)), limit));
    return logical_and(survives.at(i), logical_or(logical_not(suppressing), fits));
  });
  const bool together = a.return_indices || a.invalid_to_bottom;
  const kernel::Tensor places = gathered(
      k, {{x.dim(0)}, boxes, [&](kernel::Indices row, Expr place) { return left(row[0], place); }, {}});
  // The box at a place of the result; -1 if there is none.
  const auto box_at = [&](Expr b, Expr i) {
    const Expr none = k.index(-1);
    if (!together) return select(left(b, i), cast(kInt64, order(b, i)), none);
    const Expr place = cast(kInt64, places(b, i));
    return select(less(place, k.index(0)), none, cast(kInt64, order(b, safe(place, boxes))));
  };
  if (a.return_indices) {
    const kernel::Tensor found = k.compute("indices", kInt32, {x.dim(0), boxes}, [&](kernel::Indices i) {
      const Expr chosen = box_at(i[0], i[1]);
      return select(less(chosen, k.index(0)), k.pool().integer(-1, kInt32),
                    cast(kInt32, indices(i[0], safe(chosen, boxes))));
    });
    const kernel::Tensor number = counted(k, left);
    return {found, k.compute("count", kInt32, {x.dim(0), k.index(1)},
                             [&](kernel::Indices i) { return number(i[0]); })};
  }
  return {k.compute("rows", x.dtype(), x.shape(), [&](kernel::Indices i) {
    const Expr chosen = box_at(i[0], i[1]);
    return select(less(chosen, k.index(0)), k.constant(x.dtype(), -1), x(i[0], safe(chosen, boxes), i[2]));
  })};
}

}  // namespace

const OpDef kNonMaxSuppression = define<NmsAttrs>({
    .name = "vision.non_max_suppression",
    .doc = "Boxes that no better box of their class overlaps.",
    .params = {{"data", "rows: a score, perhaps a class, and a box as two opposite corners"},
               {"valid_count", "how many rows of each batch count"},
               {"indices", "what boxes are called in the result"},
               {"max_output_size", "how many boxes are left at most, of rank 0; negative: all"},
               {"iou_threshold", "of rank 0"}},
    .not_differentiable = "which boxes are left is a step of their scores and sides",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
