// vision.get_valid_counts(data, score_threshold) = (count, rows, indices): of each batch how many
//     rows of data are valid, these rows first, and where they were
//
//   (Tensor[(b, n, k), d], Tensor[(), e]) -> (Tensor[(b), int32], Tensor[(b, n, k), d],
//       Tensor[(b, n), int32])
//   C1: data has rank 3, score_threshold rank 0; both are floating-point.
//   C2: the extent of a row is known, and has score_index and id_index, which may be
//       negative for none.
//   C3: the attribute score_threshold is None: the argument says it.
//
// A row is valid if its score is above the threshold and its class, if it has one, is not negative.
// Behind the valid ones, rows and indices are -1.
#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/tensor/common.h"
#include "op/vision/suppression.h"

namespace relay::op {
namespace {

struct ValidCountsAttrs {
  std::optional<double> score_threshold = {};
  int64_t id_index = 0, score_index = 1;
  static constexpr auto kFields =
      fields(field("score_threshold", &ValidCountsAttrs::score_threshold, "None: the argument says it"),
             field("id_index", &ValidCountsAttrs::id_index, "of the class in a row; negative: there is none"),
             field("score_index", &ValidCountsAttrs::score_index, "of the score in a row"));
};

Type relate(Relation& r, const ValidCountsAttrs& a) {
  r.require_rank(0, 3);           // C1
  require(r, 0, Domain::kFloat);  // C1
  r.require_rank(1, 0);           // C1
  require(r, 1, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  r.require(x.dims[2].is_const(), 0, "the extent of a row must be known");  // C2
  const int64_t row = x.dims[2].value();
  r.require(a.score_index >= 0 && a.score_index < row, kAttributes,
            cat("score_index must be in [0, ", row, "), not ", a.score_index));                         // C2
  r.require(a.id_index < row, kAttributes, cat("id_index must be below ", row, ", not ", a.id_index));  // C2
  r.require(!a.score_threshold, kAttributes, "score_threshold must be None");                           // C3
  return r.tuple_of({r.tensor_of({x.dims[0]}, kInt32), &x, r.tensor_of({x.dims[0], x.dims[1]}, kInt32)});
}

void evaluate(const ValidCountsAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const int64_t batches = x.shape()[0], rows = x.shape()[1], row = x.shape()[2];
  for (int64_t i = 0; i < out[1].size(); ++i) out[1].set(i, -1);
  for (int64_t i = 0; i < out[2].size(); ++i) out[2].set_int(i, -1);
  for (int64_t b = 0; b < batches; ++b) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t from = (b * rows + i) * row, to = (b * rows + count) * row;
      const bool is_valid =
          x.get(from + a.score_index) > in[1].get(0) && (a.id_index < 0 || x.get(from + a.id_index) >= 0);
      if (!is_valid) continue;
      for (int64_t k = 0; k < row; ++k) copy_element(x, from + k, out[1], to + k);
      out[2].set_int(b * rows + count++, i);
    }
    out[0].set_int(b, count);
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const ValidCountsAttrs& a, const Lowering& c) {
  const kernel::Tensor &x = c.in[0], &threshold = c.in[1];
  // Both as float64: whether a number is above another one does not depend on their dtypes.
  const auto is_valid = [&](kernel::Indices row, kernel::Expr i) {
    const kernel::Expr score = wider(x(row[0], i, k.index(a.score_index)));
    const kernel::Expr is_above = less(wider(threshold()), score);
    if (a.id_index < 0) return is_above;
    const kernel::Expr id = x(row[0], i, k.index(a.id_index));
    return logical_and(is_above, less_equal(k.constant(x.dtype(), 0), id));
  };
  const Candidates valid{{x.dim(0)}, x.dim(1), is_valid, {}};
  const kernel::Tensor order = gathered(k, valid);
  const kernel::Tensor count =
      k.reduce("count", kInt32, {x.dim(0)}, {x.dim(1)}, k.sum(kInt32),
               [&](kernel::Indices i, kernel::Indices r) { return cast(kInt32, is_valid(i, r[0])); });
  const kernel::Tensor rows = k.compute("rows", x.dtype(), x.shape(), [&](kernel::Indices i) {
    const kernel::Expr from = cast(kInt64, order(i[0], i[1]));
    return select(less(from, k.index(0)), k.constant(x.dtype(), -1), x(i[0], safe(from, x.dim(1)), i[2]));
  });
  return {count, rows, order};
}

}  // namespace

const OpDef kGetValidCounts = define<ValidCountsAttrs>({
    .name = "vision.get_valid_counts",
    .doc = "The boxes with a score above a threshold, brought together.",
    .params = {{"data", "rows: a score, perhaps a class, and a box"}, {"score_threshold", "of rank 0"}},
    .not_differentiable = "which rows are valid is a step of their scores",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
