// sparse_to_dense(j, v, default)[i] = v[e] where i = j[e], the last one of several; default elsewhere
//
//   (Tensor[t, i], Tensor[u, d], Tensor[(), d]) -> Tensor[output_shape, d]
//   C1: j are integers, (n, rank of the result), or (n) or () if the result has rank 1.
//   C2: v is (n), or () if j is.   C3: the default has the dtype of v, and rank 0.
//   C4: output_shape holds extents.
//
// An index that is not in the result traps.
#include <algorithm>

#include "base/cat.h"
#include "op/domain.h"
#include "op/sparse/to_dense.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct SparseToDenseAttrs {
  std::vector<Dim> output_shape = {};
  static constexpr auto kFields =
      fields(field("output_shape", &SparseToDenseAttrs::output_shape, "of the result").required());
};

Type relate(Relation& r, const SparseToDenseAttrs& a) {
  require_elements(r, a.output_shape.size());  // C1, C2, C3
  for (const Dim d : a.output_shape) {
    r.require(!d.is_unknown() && !(d.is_const() && d.value() < 0), kAttributes,
              cat("output_shape must hold extents, not ", relay::show(d)));  // C4
  }
  return r.tensor_of(a.output_shape, r.tensor(1).dtype);
}

Expr expand(Builder& b, const SparseToDenseAttrs& a, const Site& c) {
  return with_elements(b, call(b, kBroadcastTo, {c.args[2]}, {{"shape", a.output_shape}}), c);
}

}  // namespace

void require_elements(Relation& r, size_t rank) {
  const TensorType &j = r.tensor(0), &v = r.tensor(1);
  require(r, 0, Domain::kInteger);                                                     // C1
  r.require(j.rank() <= 2, 0, cat("expected rank 0, 1 or 2, found rank ", j.rank()));  // C1
  const Dim length = j.rank() == 2 ? j.dims[1] : Dim(1);
  r.require(length.is_const(), 0, "the length of index vectors must be known");  // C1
  r.same(length, Dim(static_cast<int64_t>(rank)), 0,
         "length of the index vectors and rank of the result");                // C1
  r.require_rank(1, std::min<size_t>(j.rank(), 1));                            // C2
  if (j.rank() > 0) r.same(v.dims[0], j.dims[0], 1, "number of elements", 0);  // C2
  r.require_same_dtype(2, 1);                                                  // C3
  r.require_rank(2, 0);                                                        // C3
}

Expr with_elements(Builder& b, Expr all, const Site& c) {
  const Expr j = c.args[0];
  // scatter_nd wants the index vectors as columns. A scalar updates the one place of index vectors
  // without another axis.
  const Expr columns =
      c.tensor(0).rank() == 2 ? transposed(b, j, {1, 0}) : call(b, kExpandDims, {j}, {{"axis", int64_t{0}}});
  return call(b, kScatterNd, {all, columns, c.args[1]});
}

const OpDef kSparseToDense = define<SparseToDenseAttrs>({
    .name = "sparse_to_dense",
    .doc = "A tensor of one value, but for some elements.",
    .params = {{"sparse_indices", "where the elements are: index vectors, or indices"},
               {"sparse_values", "what is there"},
               {"default_value", "what is elsewhere"}},
    .effects = Effects::kTraps,
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
