// trilu, matrix_set_diag: parts of matrices that diagonals bound. Diagonal d of a matrix has the
// elements [i, j] with j - i = d.
#include <algorithm>

#include "base/cat.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

using kernel::Expr;

// --- trilu ---------------------------------------------------------------------------------------

struct TriluAttrs {
  bool upper = true;
  static constexpr auto kFields =
      fields(field("upper", &TriluAttrs::upper, "keep diagonal k and those above, else it and those below"));
};

// trilu(x, k)[.., i, j] = x[.., i, j] where j - i >= k, 0 elsewhere; without `upper` where j - i <= k
//
//   (Tensor[s, d], Tensor[(), e]) -> Tensor[s, d]
//   C1: data has at least two axes.   C2: k is an integer of rank 0.
Type relate_trilu(Relation& r, const TriluAttrs&) {
  const TensorType& x = r.tensor(0);
  r.require(x.rank() >= 2, 0, cat("expected matrices, found rank ", x.rank()));  // C1
  require(r, 1, Domain::kInteger);                                               // C2
  r.require_rank(1, 0);                                                          // C2
  return &x;
}

void evaluate_trilu(const TriluAttrs& a, Args in, Results out) {
  const int64_t k = index_of(in[1], 0);
  int64_t n = 0;
  for_each_index(in[0].shape(), [&](const std::vector<int64_t>& i) {
    const int64_t diagonal = i[i.size() - 1] - i[i.size() - 2];
    if (a.upper ? diagonal >= k : diagonal <= k) {
      copy_element(in[0], n, out[0], n);
    } else {
      out[0].set_int(n, 0);
    }
    ++n;
  });
}

std::vector<kernel::Tensor> lower_trilu(kernel::Builder& k, const TriluAttrs& a, const Lowering& c) {
  return {k.compute("trilu", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const Expr diagonal = i[i.size() - 1] - i[i.size() - 2], bound = index_at(c.in[1], {});
    const Expr kept = a.upper ? less_equal(bound, diagonal) : less_equal(diagonal, bound);
    return select(kept, c.in[0].at(i), k.constant(c.dtype(), 0));
  })};
}

std::vector<relay::Expr> differentiate_trilu(Builder& b, const TriluAttrs& a, const Site& c) {
  return {call(b, kTrilu, {c.dy, c.args[1]}, {{"upper", a.upper}}), nullptr};
}

// --- matrix_set_diag -----------------------------------------------------------------------------

struct MatrixSetDiagAttrs {
  int64_t k1 = 0, k2 = 0;
  bool super_diag_right_align = true;
  bool sub_diag_right_align = false;
  static constexpr auto kFields = fields(
      field("k1", &MatrixSetDiagAttrs::k1, "the lowest diagonal that is set"),
      field("k2", &MatrixSetDiagAttrs::k2, "the highest diagonal that is set"),
      field("super_diag_right_align", &MatrixSetDiagAttrs::super_diag_right_align,
            "diagonals from 0 up end where their row of `diagonal` ends, else they begin where it begins"),
      field("sub_diag_right_align", &MatrixSetDiagAttrs::sub_diag_right_align,
            "the same for diagonals below 0"));
};

// matrix_set_diag(x, v)[.., i, j] = v[.., k2 - d, p] where d = j - i is in [k1, k2], x[.., i, j] elsewhere
//
// where p counts along diagonal d, from 0, or so that its last element is the last one of v. If k1
// is k2, v has no axis for the diagonals.
//
//   (Tensor[(b.., m, n), d], Tensor[(b.., k2 - k1 + 1, l), d]) -> Tensor[(b.., m, n), d]
//   C1: data has at least two axes, and both have one dtype.   C2: k1 is at most k2.
//   C3: every diagonal from k1 to k2 is one of the matrix.
//   C4: l is the length of the longest of these diagonals; the other dims are as shown.
Type relate_set(Relation& r, const MatrixSetDiagAttrs& a) {
  const TensorType &x = r.tensor(0), &v = r.tensor(1);
  r.require(x.rank() >= 2, 0, cat("expected matrices, found rank ", x.rank()));              // C1
  r.require_same_dtype(1, 0);                                                                // C1
  r.require(a.k1 <= a.k2, kAttributes, cat("k1 is ", a.k1, ", above k2, which is ", a.k2));  // C2
  const Dim rows = x.dims[x.rank() - 2], columns = x.dims[x.rank() - 1];
  constexpr int64_t kMost = int64_t{1} << 40;
  r.require(a.k1 > -kMost && a.k2 < kMost, kAttributes, "k1 and k2 must be diagonals of the matrix");  // C3
  // Diagonals -rows + 1 to columns - 1 are there, and of an empty matrix diagonal 0.
  const auto has = [&](int64_t diagonal, Dim extent) {
    if (diagonal == 0) return;
    if (extent.is_const()) {
      r.require(diagonal < extent.value(), kAttributes, "k1 and k2 must be diagonals of the matrix");  // C3
    } else {
      r.same(max(extent, Dim(diagonal + 1)), extent, 0, "diagonals of the matrix");  // C3
    }
  };
  has(std::max<int64_t>(-a.k1, 0), rows);
  has(std::max<int64_t>(a.k2, 0), columns);
  const Dim longest = min(rows + Dim(std::min<int64_t>(a.k2, 0)), columns - Dim(std::max<int64_t>(a.k1, 0)));
  std::vector<Dim> wanted(x.dims.begin(), x.dims.end() - 2);
  if (a.k1 != a.k2) wanted.emplace_back(a.k2 - a.k1 + 1);
  wanted.push_back(longest);
  r.require_rank(1, wanted.size());                                                                  // C4
  for (size_t d = 0; d < wanted.size(); ++d) r.same(v.dims[d], wanted[d], 1, cat("dimension ", d));  // C4
  return &x;
}

void evaluate_set(const MatrixSetDiagAttrs& a, Args in, Results out) {
  const Tensor &x = in[0], &v = in[1];
  const size_t outer = x.rank() - 2;
  const int64_t rows = x.shape()[outer], columns = x.shape()[outer + 1];
  int64_t n = 0;
  for_each_index(x.shape(), [&](const std::vector<int64_t>& i) {
    const int64_t row = i[outer], column = i[outer + 1], diagonal = column - row;
    if (diagonal < a.k1 || diagonal > a.k2) {
      copy_element(x, n, out[0], n);
    } else {
      const int64_t length =
          std::min(rows + std::min<int64_t>(diagonal, 0), columns - std::max<int64_t>(diagonal, 0));
      const bool right = diagonal >= 0 ? a.super_diag_right_align : a.sub_diag_right_align;
      std::vector<int64_t> from(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(outer));
      if (a.k1 != a.k2) from.push_back(a.k2 - diagonal);
      from.push_back(std::min(row, column) + (right ? v.shape().back() - length : 0));
      copy_element(v, offset_of(v.shape(), from), out[0], n);
    }
    ++n;
  });
}

std::vector<kernel::Tensor> lower_set(kernel::Builder& k, const MatrixSetDiagAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0], v = c.in[1];
  const size_t outer = x.rank() - 2;
  const Expr zero = k.index(0), rows = x.dim(outer), columns = x.dim(outer + 1);
  return {k.compute("matrix_set_diag", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const Expr row = i[outer], column = i[outer + 1], diagonal = column - row;
    const Expr end = v.dim(v.rank() - 1),
               length = min(rows + min(diagonal, zero), columns - max(diagonal, zero));
    const auto begin = [&](bool right) { return right ? end - length : zero; };
    const Expr first =
        select(less(diagonal, zero), begin(a.sub_diag_right_align), begin(a.super_diag_right_align));
    std::vector<Expr> from(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(outer));
    if (a.k1 != a.k2) from.push_back(min(max(k.index(a.k2) - diagonal, zero), k.index(a.k2 - a.k1)));
    // Elsewhere nothing outside of v is looked at.
    from.push_back(max(min(min(row, column) + first, end - 1), zero));
    const Expr set = logical_and(less_equal(k.index(a.k1), diagonal), less_equal(diagonal, k.index(a.k2)));
    return select(set, v.at(from), x.at(i));
  })};
}

}  // namespace

const OpDef kTrilu = define<TriluAttrs>({
    .name = "trilu",
    .doc = "The upper or the lower triangle of matrices, 0 elsewhere.",
    .params = {{"data", "matrices"}, {"k", "the diagonal that bounds the triangle"}},
    .fusion = Fusion::kInjective,
    .relate = relate_trilu,
    .evaluate = evaluate_trilu,
    .differentiate = differentiate_trilu,
    .lower = lower_trilu,
});

const OpDef kMatrixSetDiag = define<MatrixSetDiagAttrs>({
    .name = "matrix_set_diag",
    .doc = "Matrices with some of their diagonals replaced.",
    .params = {{"input", "matrices"}, {"diagonal", "the new diagonals, one in each row"}},
    .fusion = Fusion::kInjective,
    .relate = relate_set,
    .evaluate = evaluate_set,
    .lower = lower_set,
});

}  // namespace relay::op
