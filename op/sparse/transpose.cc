// nn.sparse_transpose(data, indices, pointers) = the three tensors of the transposed matrix
//
//   (Tensor[(e), d], Tensor[(e), i], Tensor[(n + 1), j]) -> (Tensor[(e), d],
//       Tensor[(e), i], Tensor[(n + 1), j])
//   C1: data is a vector of numbers.
//   C2: indices and pointers are vectors of integers, one index for each element.
//   C3: there is a pointer.   C4: the number of pointers is known.
//
// Element e of the n x n matrix is in row r if pointers[r] <= e < pointers[r + 1], and in column
// indices[e]. A program traps if an element is in no row or no column. In a row of the result,
// elements are in the order in which they were.
#include "base/failure.h"
#include "base/reasons.h"
#include "op/sparse/matrix.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) {
  const TensorType& pointers = r.tensor(2);
  r.require_rank(2, 1);  // C2
  // The matrix is square: so many columns as rows.
  require_sparse_matrix(r, 0, pointers.dims[0] - Dim(1), Blocks::kNever);  // C1, C2, C3, C4
  return r.tuple_of({r.type(0), r.type(1), r.type(2)});
}

void evaluate(const NoAttrs&, Args in, Results out) {
  const Tensor &data = in[0], &indices = in[1], &pointers = in[2];
  const int64_t n = data.size(), rows = pointers.size() - 1;
  const auto checked = [](int64_t i, int64_t end) {
    if (i < 0 || i >= end) throw Trap(kIndexOutOfRange);
    return static_cast<size_t>(i);
  };
  std::vector<int64_t> begun(static_cast<size_t>(n) + 1), row(static_cast<size_t>(n));
  for (int64_t r = 0; r <= rows; ++r) ++begun[checked(index_of(pointers, r), n + 1)];
  int64_t count = -1;
  for (size_t e = 0; e < row.size(); ++e) {
    count += begun[e];
    row[e] = static_cast<int64_t>(checked(count, rows));
  }
  std::vector<int64_t> next(static_cast<size_t>(rows) + 1);  // where the next element of a column comes
  for (int64_t e = 0; e < n; ++e) ++next[checked(index_of(indices, e), rows) + 1];
  for (size_t r = 1; r < next.size(); ++r) next[r] += next[r - 1];
  for (size_t r = 0; r < next.size(); ++r) out[2].set_int(static_cast<int64_t>(r), next[r]);
  for (int64_t e = 0; e < n; ++e) {
    const int64_t to = next[static_cast<size_t>(index_of(indices, e))]++;
    copy_element(data, e, out[0], to);
    out[1].set_int(to, row[static_cast<size_t>(e)]);
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const kernel::Tensor &data = c.in[0], &indices = c.in[1], &pointers = c.in[2];
  const kernel::Expr n = data.dim(0), rows = pointers.dim(0) - 1, zero = k.index(0), one = k.index(1);
  const auto none = [&](kernel::Indices) { return zero; };
  const auto checked = [&](kernel::Expr i, kernel::Expr end) {
    k.require(logical_and(less_equal(zero, i), less(i, end)), kIndexOutOfRange);
    return i;
  };
  const kernel::Tensor begun = k.update(
      "begun", kInt64, {n + 1}, none, {rows + 1},
      [&](kernel::Indices r) { return std::vector<kernel::Expr>{checked(index_at(pointers, r), n + 1)}; },
      [&](kernel::Tensor self, kernel::Indices r) { return self(index_at(pointers, r)) + one; });
  const kernel::Tensor row = k.update(
      "row", kInt64, {n}, none, {n}, [&](kernel::Indices e) { return copy_of(e); },
      [&](kernel::Tensor self, kernel::Indices e) {
        const kernel::Expr before = select(equal(e[0], zero), k.index(-1), self(max(e[0] - 1, zero)));
        return checked(before + begun.at(e), rows);
      });
  const kernel::Tensor count = k.update(
      "count", kInt64, {rows}, none, {n},
      [&](kernel::Indices e) { return std::vector<kernel::Expr>{checked(index_at(indices, e), rows)}; },
      [&](kernel::Tensor self, kernel::Indices e) { return self(index_at(indices, e)) + one; });
  const kernel::Tensor first = k.update(
      "first", kInt64, {rows + 1}, none, {rows},
      [&](kernel::Indices r) { return std::vector<kernel::Expr>{r[0] + 1}; },
      [&](kernel::Tensor self, kernel::Indices r) { return self(r[0]) + count.at(r); });
  // The elements of column j so far, at j; behind these, the place of each element in the result.
  const kernel::Tensor place = k.update(
      "place", kInt64, {rows + n}, none, {n, k.index(2)},
      [&](kernel::Indices r) {
        const kernel::Expr column = checked(index_at(indices, r.first(1)), rows);
        return std::vector<kernel::Expr>{select(equal(r[1], zero), rows + r[0], column)};
      },
      [&](kernel::Tensor self, kernel::Indices r) {
        const kernel::Expr column = index_at(indices, r.first(1)), so_far = self(column);
        return so_far + select(equal(r[1], zero), first(column), one);
      });
  const kernel::Tensor from = k.update(
      "from", kInt64, {n}, none, {n},
      [&](kernel::Indices e) { return std::vector<kernel::Expr>{checked(place(rows + e[0]), n)}; },
      [&](kernel::Tensor, kernel::Indices e) { return e[0]; });
  const kernel::Tensor moved = k.compute("data", c.dtype(0), c.shape(0),
                                         [&](kernel::Indices e) { return data(checked(from.at(e), n)); });
  const kernel::Tensor columns = k.compute("indices", c.dtype(1), c.shape(1), [&](kernel::Indices e) {
    return cast(c.dtype(1), row(checked(from.at(e), n)));
  });
  return {moved, columns, k.compute("pointers", c.dtype(2), c.shape(2), [&](kernel::Indices r) {
            return cast(c.dtype(2), first.at(r));
          })};
}

}  // namespace

const OpDef kSparseTranspose = define<NoAttrs>({
    .name = "nn.sparse_transpose",
    .doc = "The transpose of a square sparse matrix.",
    .params = {{"sparse_data", "the elements of a matrix, row by row"},
               {"sparse_indices", "the column of each"},
               {"sparse_indptr", "where each row begins, and the last one ends"}},
    .effects = Effects::kTraps,
    .not_differentiable = "the order of its elements follows from integers; differentiate transpose",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
