// dyn.sparse_to_dense(j, v, default, shape) = sparse_to_dense(j, v, default, output_shape=shape)
//
//   (Tensor[t, i], Tensor[u, d], Tensor[(), d], Tensor[(rank), e]) -> Tensor[(?, ..), d]
//   C1: j are integers, (n, rank of the result), or (n) or () if the result has rank 1.
//   C2: v is (n), or () if j is.   C3: the default has the dtype of v, and rank 0.
//   C4: the shape is a vector of integers whose number is known.
//
// A run traps if an extent is negative, or if an index is not in the result.
#include "op/dyn/shapes.h"
#include "op/ops.h"
#include "op/sparse/to_dense.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) {
  const size_t rank = known_length(r, 3, "the extents of a shape");  // C4
  require_elements(r, rank);                                         // C1, C2, C3
  return sized_by_data(r, rank, r.tensor(1).dtype);
}

Expr expand(Builder& b, const NoAttrs&, const Site& c) {
  return with_elements(b, call(b, kDynFull, {c.args[2], c.args[3]}), c);
}

}  // namespace

const OpDef kDynSparseToDense = define<NoAttrs>({
    .name = "dyn.sparse_to_dense",
    .doc = "A tensor of one value, but for some elements, in a shape that only a run tells.",
    .params = {{"sparse_indices", "where the elements are: index vectors, or indices"},
               {"sparse_values", "what is there"},
               {"default_value", "what is elsewhere"},
               {"output_shape", "of the result"}},
    .effects = Effects::kTraps,
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
