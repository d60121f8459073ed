#include "op/sparse/matrix.h"

#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Term int64_of(Builder& b, Expr e) {
  return tensor_type_of(e).dtype == kInt64 ? Term(b, e) : Term(b, call(b, kCast, {e}, {{"dtype", kInt64}}));
}

// The extents of a block; 1 where there are elements.
Dim block_rows(const TensorType& data) { return data.rank() == 3 ? data.dims[1] : Dim(1); }
Dim block_columns(const TensorType& data) { return data.rank() == 3 ? data.dims[2] : Dim(1); }

Dim rows_of(const TensorType& data, const TensorType& pointers) {
  return (pointers.dims[0] - Dim(1)) * block_rows(data);
}

}  // namespace

Dim require_sparse_matrix(Relation& r, int first, Dim columns, Blocks blocks) {
  const TensorType& data = r.tensor(first);
  require(r, first, Domain::kNumber);
  r.require(data.rank() == 1 || (data.rank() == 3 && blocks == Blocks::kMay), first,
            blocks == Blocks::kMay ? "expected a vector of elements, or of matrices"
                                   : "expected a vector of elements");
  for (const int arg : {first + 1, first + 2}) {
    require(r, arg, Domain::kInteger);
    r.require_rank(arg, 1);
  }
  r.same(r.tensor(first + 1).dims[0], data.dims[0], first + 1, "number of elements", first);
  const Dim pointers = r.tensor(first + 2).dims[0];
  r.require(!pointers.is_const() || pointers.value() > 0, first + 2, "expected at least one pointer");
  r.require(!pointers.is_unknown() && !columns.is_unknown(), first + 2,
            "the shape of a sparse matrix must be known");
  if (data.rank() == 3) {
    for (const Dim d : {data.dims[1], data.dims[2]}) {
      r.require(d.is_const() && d.value() > 0, first,
                "expected blocks whose extents are constants, and not 0");
    }
    r.same(floor_div(columns, data.dims[2]) * data.dims[2], columns, first, "columns that fill blocks");
  }
  return rows_of(data, r.tensor(first + 2));
}

Dim sparse_rows(std::span<const Expr> matrix) {
  return rows_of(tensor_type_of(matrix[0]), tensor_type_of(matrix[2]));
}

Expr places_of(Builder& b, std::span<const Expr> matrix) {
  const Term columns = int64_of(b, matrix[1]), pointers = int64_of(b, matrix[2]);
  const Expr one_more = call(b, kZeros, {}, {{"shape", std::vector<Dim>{Dim(1)}}, {"dtype", kInt64}});
  const Expr none =
      call(b, kConcatenate, {b.tuple({call(b, kZerosLike, {columns}), one_more})}, {{"axis", int64_t{0}}});
  const Expr begin = call(b, kScatterElements, {none, pointers, call(b, kOnesLike, {pointers})},
                          {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  const Expr begun = call(b, kCumsum, {begin}, {{"axis", int64_t{0}}});
  const Dim n = tensor_type_of(columns).dims[0];
  const Term rows = Term(b, sliced(b, begun, 0, Dim(0), n.is_unknown() ? Dim(-1) : n)) - 1;
  const auto line = [&](Term t) { return call(b, kExpandDims, {t}, {{"axis", int64_t{0}}}); };
  return call(b, kConcatenate, {b.tuple({line(rows), line(columns)})}, {{"axis", int64_t{0}}});
}

Expr dense_matrix(Builder& b, std::span<const Expr> matrix, Dim columns) {
  const TensorType& data = tensor_type_of(matrix[0]);
  const Dim rows = sparse_rows(matrix);
  std::vector<Dim> shape{rows, columns};
  if (data.rank() == 3) {
    shape = {tensor_type_of(matrix[2]).dims[0] - Dim(1), floor_div(columns, block_columns(data)),
             block_rows(data), block_columns(data)};
  }
  const Expr zeros = call(b, kZeros, {}, {{"shape", shape}, {"dtype", data.dtype}});
  const Expr filled =
      call(b, kScatterNd, {zeros, places_of(b, matrix), matrix[0]}, {{"mode", std::string("add")}});
  if (data.rank() == 1) return filled;
  return call(b, kReshape, {transposed(b, filled, {0, 2, 1, 3})},
              {{"newshape", std::vector<Dim>{rows, columns}}, {"allowzero", true}});
}

}  // namespace relay::op
