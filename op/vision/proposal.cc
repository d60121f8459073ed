// vision.proposal(cls_prob, bbox_pred, im_info) = the boxes (batch, x1, y1, x2, y2) with the best
//     scores that no better one of the batch overlaps, rpn_post_nms_top_n for each batch
//
//   (Tensor[(b, 2 * a, h, w), d], Tensor[(b, 4 * a, h, w), d], Tensor[(b, 3), d]) -> Tensor[(b * m, 5), d],
//       where a = len(scales) * len(ratios) and m = rpn_post_nms_top_n
//   C1: all are floating-point of one dtype; cls_prob and bbox_pred have rank 4, im_info rank 2.
//   C2: they have one batch; cls_prob has 2 * a channels, bbox_pred 4 * a of the same extents,
//       im_info 3 columns.
//   C3: scales and ratios are positive and finite, at least one and at most 64 anchors.
//   C4: feature_stride and rpn_post_nms_top_n are in [1, 65536].
//   C5: there are pixels.
//
// The anchors of a pixel are boxes around its square of feature_stride pixels: for each ratio of
// height to width, rounded to whole sides, and for each scale. Scores are the last `a` channels of
// cls_prob. The box of an anchor follows from bbox_pred: four differences to its sides with
// iou_loss, else those of its centre, in sides of the anchor, and the logarithms of its sides'. It
// is cut off at the image (height, width, scale of im_info). A box with a side below rpn_min_size
// times the scale is made larger by it, and its score is -1, as is that of a pixel outside of the
// image. The rpn_pre_nms_top_n best, or all if it is not positive, are looked at. A box is left out
// if it overlaps a better one that is left itself: if the pixels that both have are more than
// threshold of all that they have. Boxes that are left begin again where there are not enough.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoPixels = "an image without pixels has nothing to propose";

struct ProposalAttrs {
  std::vector<double> scales = {4, 8, 16, 32}, ratios = {0.5, 1, 2};
  int64_t feature_stride = 16;
  double threshold = 0.7;
  int64_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300, rpn_min_size = 16;
  bool iou_loss = false;
  static constexpr auto kFields = fields(
      field("scales", &ProposalAttrs::scales, "of the anchors"),
      field("ratios", &ProposalAttrs::ratios, "of height to width of the anchors"),
      field("feature_stride", &ProposalAttrs::feature_stride, "from pixel to pixel, in those of the image"),
      field("threshold", &ProposalAttrs::threshold, "boxes that share more suppress"),
      field("rpn_pre_nms_top_n", &ProposalAttrs::rpn_pre_nms_top_n,
            "how many of the best boxes are looked at; not positive: all"),
      field("rpn_post_nms_top_n", &ProposalAttrs::rpn_post_nms_top_n, "boxes of a batch in the result"),
      field("rpn_min_size", &ProposalAttrs::rpn_min_size, "the least side of a box, in pixels of the input"),
      field("iou_loss", &ProposalAttrs::iou_loss, "bbox_pred are differences of sides"));
};

Type relate(Relation& r, const ProposalAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  for (int i = 0; i < 3; ++i) {
    r.require_rank(i, i == 2 ? 2 : 4);  // C1
    r.require_same_dtype(i, 0);         // C1
  }
  for (const auto* list : {&a.scales, &a.ratios}) {
    for (const double v : *list)
      r.require(v > 0 && std::isfinite(v), kAttributes,
                "scales and ratios must be positive and finite");  // C3
  }
  const size_t anchors =
      a.scales.size() > 64 || a.ratios.size() > 64 ? 65 : a.scales.size() * a.ratios.size();
  r.require(anchors >= 1 && anchors <= 64, kAttributes, "there must be 1 to 64 anchors");  // C3
  for (const auto& [name, value] : {std::pair{"feature_stride", a.feature_stride},
                                    std::pair{"rpn_post_nms_top_n", a.rpn_post_nms_top_n}}) {
    r.require(value >= 1 && value <= 65536, kAttributes,
              cat(name, " must be in [1, 65536], not ", value));  // C4
  }
  const TensorType &scores = r.tensor(0), &moves = r.tensor(1), &info = r.tensor(2);
  const auto count = static_cast<int64_t>(anchors);
  const Dim batch =
      r.same(info.dims[0], r.same(moves.dims[0], scores.dims[0], 1, "batch", 0), 2, "batch", 0);  // C2
  r.same(scores.dims[1], Dim(2 * count), 0, "two channels for each anchor");                      // C2
  r.same(moves.dims[1], Dim(4 * count), 1, "four channels for each anchor");                      // C2
  r.same(info.dims[1], Dim(3), 2, "height, width and scale");                                     // C2
  for (size_t d = 2; d < 4; ++d) {
    r.same(moves.dims[d], scores.dims[d], 1, cat("dimension ", d), 0);  // C2
    r.require(scores.dims[d] != Dim(0), 0, kNoPixels);                  // C5
  }
  return r.tensor_of({batch * Dim(a.rpn_post_nms_top_n), Dim(5)}, scores.dtype);
}

// The anchors around the pixel (0, 0).
std::vector<std::array<double, 4>> anchors_of(const ProposalAttrs& a) {
  std::vector<std::array<double, 4>> out;
  const auto base = static_cast<double>(a.feature_stride);
  const double centre = (base - 1) / 2;
  for (const double ratio : a.ratios) {
    const double width = std::floor(std::sqrt(std::floor(base * base / ratio)) + 0.5),
                 height = std::floor(width * ratio + 0.5);
    for (const double scale : a.scales) {
      const double x = (width * scale - 1) / 2, y = (height * scale - 1) / 2;
      out.push_back({centre - x, centre - y, centre + x, centre + y});
    }
  }
  return out;
}

template <class T>
struct Proposed {
  Box<T> box;
  T score;
};

// What an anchor proposes: `anchor` and `move` have four numbers each, `info` three.
template <class T>
Proposed<T> proposed(const ProposalAttrs& a, const std::vector<T>& anchor, const std::vector<T>& move,
                     const std::vector<T>& info, Truth<T> outside, T score) {
  const auto n = [&](double v) { return number(score, v); };
  const T half = n(0.5), one = n(1), zero = n(0);
  std::vector<T> side;
  if (a.iou_loss) {
    for (size_t k = 0; k < 4; ++k) side.push_back(anchor[k] + move[k]);
  } else {
    std::vector<T> low, high;
    for (size_t axis = 0; axis < 2; ++axis) {
      const T size = anchor[axis + 2] - anchor[axis] + one, centre = anchor[axis] + half * (size - one);
      const T middle = move[axis] * size + centre, reach = half * (exp(move[axis + 2]) * size - one);
      low.push_back(middle - reach);
      high.push_back(middle + reach);
    }
    side = {low[0], low[1], high[0], high[1]};
  }
  for (size_t k = 0; k < 4; ++k) side[k] = max(min(side[k], info[k % 2 == 0 ? 1 : 0] - one), zero);
  const T least = info[2] * n(static_cast<double>(a.rpn_min_size)), more = least * half;
  const Truth<T> small = either(less(side[2] - side[0] + one, least), less(side[3] - side[1] + one, least));
  return {{select(small, side[0] - more, side[0]), select(small, side[1] - more, side[1]),
           select(small, side[2] + more, side[2]), select(small, side[3] + more, side[3])},
          select(either(small, outside), n(-1), score)};
}

// Is a pixel outside of an image of so many pixels of the input?
template <class T>
Truth<T> is_outside(const ProposalAttrs& a, Whole<T> at, T extent) {
  const T pixels = extent / number(extent, static_cast<double>(a.feature_stride));
  return less_equal(real_of(extent, whole_of(pixels)), real_of(extent, at));
}

void evaluate(const ProposalAttrs& a, Args in, Results out) {
  const Tensor &scores = in[0], &moves = in[1], &info = in[2];
  const std::vector<std::array<double, 4>> anchors = anchors_of(a);
  const auto count = static_cast<int64_t>(anchors.size());
  const int64_t rows = scores.shape()[2], columns = scores.shape()[3];
  const DType computed = accumulator(scores.dtype());
  for (int64_t b = 0; b < scores.shape()[0]; ++b) {
    std::vector<Proposed<Real>> all;
    for_each_index({rows, columns, count}, [&](const std::vector<int64_t>& i) {
      std::vector<Real> anchor, move, image;
      for (int64_t k = 0; k < 4; ++k) {
        const int64_t from[] = {b, i[2] * 4 + k, i[0], i[1]};
        move.push_back({moves.get(offset_of(moves.shape(), from)), computed});
        const auto moved = static_cast<double>((k % 2 == 0 ? i[1] : i[0]) * a.feature_stride);
        anchor.push_back(rounded(computed, anchors[static_cast<size_t>(i[2])][static_cast<size_t>(k)]) +
                         rounded(computed, moved));
        if (k < 3) image.push_back({info.get(b * 3 + k), computed});
      }
      const bool outside = is_outside(a, i[0], image[0]) || is_outside(a, i[1], image[1]);
      const int64_t from[] = {b, count + i[2], i[0], i[1]};
      const Real score{scores.get(offset_of(scores.shape(), from)), computed};
      all.push_back(proposed<Real>(a, anchor, move, image, outside, score));
    });
    const auto at = [&](int64_t i) -> const Proposed<Real>& { return all[static_cast<size_t>(i)]; };
    std::vector<int64_t> candidates = ranked(
        static_cast<int64_t>(all.size()), [](int64_t) { return true; },
        [&](int64_t i) { return at(i).score.value; });
    if (a.rpn_pre_nms_top_n > 0 && a.rpn_pre_nms_top_n < static_cast<int64_t>(candidates.size()))
      candidates.resize(static_cast<size_t>(a.rpn_pre_nms_top_n));
    const std::vector<int64_t> left = survivors(candidates, [&](int64_t better, int64_t worse) {
      return overlap(at(better).box, at(worse).box, 1).value >
             kernel::scalar::round_to(computed, a.threshold);
    });
    for (int64_t i = 0; i < a.rpn_post_nms_top_n; ++i) {
      const Box<Real>& box = at(left[static_cast<size_t>(i) % left.size()]).box;
      const double row[] = {static_cast<double>(b), box.x1.value, box.y1.value, box.x2.value, box.y2.value};
      for (int64_t k = 0; k < 5; ++k) out[0].set((b * a.rpn_post_nms_top_n + i) * 5 + k, row[k]);
    }
  }
}

// Sides are at most as large as the image, and where they are computed, as the anchors and what
// they are multiplied by.
void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  const ProposalAttrs a = read_attrs<ProposalAttrs>(attrs);
  double anchor = 1, move = 1, image = 1;
  for (const auto& sides : anchors_of(a)) {
    for (const double side : sides) anchor = std::max(anchor, std::fabs(side));
  }
  anchor += static_cast<double>(a.feature_stride * std::max(in[0].shape()[2], in[0].shape()[3]));
  for (const double v : in[1].doubles()) move = std::max({move, std::fabs(v), std::exp(std::min(v, 20.0))});
  for (const double v : in[2].doubles()) image = std::max(image, std::fabs(v));
  const double most = anchor * move * (a.iou_loss ? 1 : move) +
                      image * static_cast<double>(std::max<int64_t>(a.rpn_min_size, 1));
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, most);
}

int64_t some_roundings(std::span<const Type>, const Attrs&) { return 16; }

// [batch, anchor of a pixel, (x1, y1, x2, y2, score)]
kernel::Tensor proposals(kernel::Builder& k, const ProposalAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor &scores = c.in[0], &moves = c.in[1], &info = c.in[2];
  const DType wide = accumulator(c.dtype());
  const std::vector<std::array<double, 4>> anchors = anchors_of(a);
  const auto count = static_cast<int64_t>(anchors.size());
  const kernel::Tensor around =
      k.compute("anchor", wide, {k.index(count), k.index(4)}, [&](kernel::Indices i) {
        Expr out = k.constant(wide, 0);
        for (int64_t n = 4 * count; n-- > 0;) {
          const double side = anchors[static_cast<size_t>(n / 4)][static_cast<size_t>(n % 4)];
          out = select(equal(i[0] * 4 + i[1], k.index(n)), k.constant(wide, side), out);
        }
        return out;
      });
  const Expr rows = scores.dim(2), columns = max(scores.dim(3), k.index(1));
  const std::vector<Expr> shape{scores.dim(0), rows * scores.dim(3) * count, k.index(5)};
  return k.compute("proposal", wide, shape, [&](kernel::Indices i) {
    const Expr pixel = floor_div(i[1], count), n = floor_mod(i[1], count), b = i[0];
    const Expr y = floor_div(pixel, columns), x = floor_mod(pixel, columns);
    std::vector<Expr> anchor, move, image;
    for (int64_t m = 0; m < 4; ++m) {
      const Expr moved = cast(wide, (m % 2 == 0 ? x : y) * a.feature_stride);
      anchor.push_back(around(n, k.index(m)) + moved);
      move.push_back(cast(wide, moves(b, n * 4 + m, y, x)));
      if (m < 3) image.push_back(cast(wide, info(b, k.index(m))));
    }
    const Expr outside = either(is_outside(a, y, image[0]), is_outside(a, x, image[1]));
    const Proposed<Expr> p =
        proposed<Expr>(a, anchor, move, image, outside, cast(wide, scores(b, n + count, y, x)));
    const Expr fields[] = {p.box.x1, p.box.y1, p.box.x2, p.box.y2};
    Expr out = p.score;
    for (int64_t m = 4; m-- > 0;) out = select(equal(i[2], k.index(m)), fields[m], out);
    return out;
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const ProposalAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor all = proposals(k, a, c);
  const DType wide = all.dtype();
  const Candidates candidates{{all.dim(0)},
                              all.dim(1),
                              [&](kernel::Indices, Expr) { return k.constant(kBool, 1); },
                              [&](kernel::Indices row, Expr i) { return all(row[0], i, k.index(4)); }};
  kernel::Tensor order = order_of(k, candidates);
  if (a.rpn_pre_nms_top_n > 0) {
    order = k.compute("top", order.dtype(), order.shape(), [&](kernel::Indices i) {
      const Expr beyond = less_equal(k.index(a.rpn_pre_nms_top_n), i[1]);
      return select(beyond, k.pool().integer(-1, order.dtype()), order.at(i));
    });
  }
  const auto box = [&](kernel::Indices row, Expr i) {
    const auto side = [&](int64_t n) { return all(row[0], i, k.index(n)); };
    return Box<Expr>{side(0), side(1), side(2), side(3)};
  };
  const kernel::Tensor survives =
      survivors_of(k, candidates, order, [&](kernel::Indices row, Expr better, Expr worse) {
        const Expr shared = overlap(box(row, better), box(row, worse), 1);
        return less(k.constant(wide, kernel::scalar::round_to(wide, a.threshold)), shared);
      });
  const kernel::Tensor number = counted(k, survives);
  const kernel::Tensor places =
      gathered(k, {{all.dim(0)},
                   all.dim(1),
                   [&](kernel::Indices row, Expr place) { return survives(row[0], place); },
                   {}});
  return {k.compute("proposals", c.dtype(), c.shape(), [&](kernel::Indices i) {
    k.require_shape(less(k.index(0), all.dim(1)), kNoPixels);
    const Expr b = floor_div(i[0], a.rpn_post_nms_top_n), n = floor_mod(i[0], a.rpn_post_nms_top_n);
    // There is at least one: no other box overlaps the first one.
    const Expr place = safe(floor_mod(n, max(cast(kInt64, number(b)), k.index(1))), all.dim(1));
    const Expr at =
        safe(cast(kInt64, order(b, safe(cast(kInt64, places(b, place)), all.dim(1)))), all.dim(1));
    const Expr side = all(b, at, max(i[1] - 1, k.index(0)));
    return cast(c.dtype(), select(equal(i[1], k.index(0)), cast(wide, b), side));
  })};
}

}  // namespace

const OpDef kProposal = define<ProposalAttrs>({
    .name = "vision.proposal",
    .doc = "Boxes that may show something, from the scores and boxes of anchors around each pixel.",
    .params = {{"cls_prob", "of each anchor: the probabilities of nothing, then those of something"},
               {"bbox_pred", "how each box differs from its anchor"},
               {"im_info", "of each image: height, width and scale"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = some_roundings, .terms = terms},
    .not_differentiable = "which boxes are left is a step of their scores and sides",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
