// dyn.tile: tile with repetitions that only a run tells.
#include <algorithm>

#include "base/failure.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"

namespace relay::op {
namespace {

struct DynTileAttrs {
  std::optional<std::vector<Dim>> reps = {};
  static constexpr auto kFields =
      fields(field("reps", &DynTileAttrs::reps, "must be empty: the argument of that name stands for it"));
};

constexpr std::string_view kNegativeReps = "an axis is repeated a negative number of times";

// dyn.tile(x, reps)[i_0, ..] = x[i_0 mod n_0, ..], where n are the extents of x
//
//   (Tensor[s, d], Tensor[(n), e]) -> Tensor[(?, ..), d]
//   C1: reps is a vector of integers whose number is known.
//   C2: the attribute reps is empty.
//
// Extents are those of s times reps, both filled up with 1 from the left. A run traps if one of
// reps is negative.
Type relate_tile(Relation& r, const DynTileAttrs& a) {
  const size_t n = known_length(r, 1, "the repetitions of axes");  // C1
  require_empty(r, a.reps, "reps");                                // C2
  return sized_by_data(r, std::max(n, r.tensor(0).rank()), r.tensor(0).dtype);
}

// The extents, from those of the argument and the repetitions, aligned at the right.
template <class T>
std::vector<T> tiled(const std::vector<T>& dims, const std::vector<T>& reps, T one) {
  std::vector<T> out(std::max(dims.size(), reps.size()), one);
  std::copy(dims.begin(), dims.end(), out.end() - static_cast<std::ptrdiff_t>(dims.size()));
  for (size_t d = 0; d < reps.size(); ++d) {
    T& extent = out[d + out.size() - reps.size()];
    extent = saturated_product(extent, reps[d]);
  }
  return out;
}

void evaluate_tile(const DynTileAttrs&, Args in, Results out, Sums sums) {
  const std::vector<int64_t> reps = elements_of(in[1]);
  for (const int64_t n : reps) {
    if (n < 0) throw Trap(std::string(kNegativeReps));
  }
  out[0] = sized(in[0].dtype(), tiled<int64_t>(in[0].shape(), reps, 1));
  evaluate_as(kTile, {{"reps", std::vector<Dim>()}}, in.first(1), out, sums);
}

kernel::Tensor extents_of_tile(kernel::Builder& k, const DynTileAttrs&, const Lowering& c) {
  const auto n = static_cast<size_t>(c.arg_types[1]->dims[0].value());
  return extents_vector(k, c.out_types[0]->rank(), [&] {
    const std::vector<kernel::Expr> reps = elements_of(k, c.in[1], n);
    for (const kernel::Expr e : reps) k.require(less_equal(k.index(0), e), kNegativeReps);
    return tiled<kernel::Expr>(c.in[0].shape(), reps, k.index(1));
  });
}

std::vector<kernel::Tensor> lower_tile(kernel::Builder& k, const DynTileAttrs&, const Lowering& c) {
  return lower_as(kTile, {{"reps", std::vector<Dim>()}}, k, c, 1);
}

// Each axis of dy is a row of copies: take it apart and add them up.
std::vector<Expr> differentiate_tile(Builder& b, const DynTileAttrs&, const Site& c) {
  const size_t rank = tensor_type_of(c.y).rank();
  if (rank == 0) return {c.dy, nullptr};
  // A vector of `rank` numbers, filled up with 1 from the left, as a column.
  const auto column = [&](Expr numbers) {
    const DType dtype = tensor_type_of(numbers).dtype;
    if (dtype != kInt64) numbers = call(b, kCast, {numbers}, {{"dtype", kInt64}});
    const auto missing = static_cast<int64_t>(rank) - tensor_type_of(numbers).dims[0].value();
    if (missing > 0) {
      const Expr ones = call(b, kOnes, {}, {{"shape", std::vector<Dim>{Dim(missing)}}, {"dtype", kInt64}});
      numbers = call(b, kConcatenate, {b.tuple({ones, numbers})}, {{"axis", int64_t{0}}});
    }
    return call(b, kExpandDims, {numbers}, {{"axis", int64_t{1}}});
  };
  const Expr dims = call(b, kShapeOf, {c.args[0]}, {{"dtype", kInt64}});
  const Expr pairs =
      call(b, kConcatenate, {b.tuple({column(c.args[1]), column(dims)})}, {{"axis", int64_t{1}}});
  const Expr apart =
      call(b, kReshape, {pairs}, {{"newshape", std::vector<int64_t>{static_cast<int64_t>(2 * rank)}}});
  std::vector<int64_t> copies;
  for (size_t d = 0; d < rank; ++d) copies.push_back(static_cast<int64_t>(2 * d));
  const Expr rows = call(b, kDynReshape, {c.dy, apart}, {{"allowzero", true}});
  return {in_shape_of(b, call(b, kSum, {rows}, {{"axis", copies}}), c.args[0]), nullptr};
}

}  // namespace

const OpDef kDynTile = define<DynTileAttrs>({
    .name = "dyn.tile",
    .doc = "Whole copies side by side, as many along each axis as a run tells.",
    .params = {{"data", "any tensor"},
               {"reps", "how often each axis is repeated, aligned at the right; 1 where there is none"}},
    .effects = Effects::kTraps,
    .relate = relate_tile,
    .evaluate = evaluate_tile,
    .differentiate = differentiate_tile,
    .lower = lower_tile,
    .extents = extents_of_tile,
});

}  // namespace relay::op
