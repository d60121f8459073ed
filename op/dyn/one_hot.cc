// dyn.one_hot: one_hot of a depth that only a run tells.
#include <algorithm>

#include "base/failure.h"
#include "op/domain.h"
#include "op/dyn/shapes.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"

namespace relay::op {
namespace {

struct DynOneHotAttrs {
  int64_t axis = -1;
  MaybeDType dtype = {};
  static constexpr auto kFields =
      fields(field("axis", &DynOneHotAttrs::axis, "where the new axis stands, from the end if negative"),
             field("dtype", &DynOneHotAttrs::dtype, "of the result; None: that of on_value"));
};

constexpr std::string_view kNegativeDepth = "the depth is negative";

// dyn.one_hot(indices, on, off, depth)[a.., k, c..] = on where indices[a.., c..] = k, off elsewhere,
//     where k is the index along `axis`
//
//   (Tensor[s, e], Tensor[(), d], Tensor[(), d], Tensor[(), f]) -> Tensor[(?, ..), dtype]
//   C1: indices are integers.   C2: on_value and off_value have rank 0 and one dtype.
//   C3: axis is in [-rank - 1, rank].   C4: the depth is one integer.
//
// A run traps if the depth is negative.
Type relate_one_hot(Relation& r, const DynOneHotAttrs& a) {
  const size_t rank = r.tensor(0).rank() + 1;
  require(r, 0, Domain::kInteger);  // C1
  r.require_rank(1, 0);             // C2
  r.require_rank(2, 0);             // C2
  r.require_same_dtype(2, 1);       // C2
  r.axis(a.axis, rank);             // C3
  r.require_rank(3, 0);             // C4
  require(r, 3, Domain::kInteger);  // C4
  return sized_by_data(r, rank, a.dtype.value_or(r.tensor(1).dtype));
}

std::vector<AttrArg> with_a_depth(const DynOneHotAttrs& a, DType dtype) {
  return {{"depth", int64_t{1}}, {"axis", a.axis}, {"dtype", dtype}};
}

void evaluate_one_hot(const DynOneHotAttrs& a, Args in, Results out, Sums sums) {
  const int64_t depth = index_of(in[3], 0);
  if (depth < 0) throw Trap(std::string(kNegativeDepth));
  Shape shape = in[0].shape();
  const DType dtype = a.dtype.value_or(in[1].dtype());
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(from_front(a.axis, shape.size() + 1)), depth);
  out[0] = sized(dtype, shape);
  evaluate_as(kOneHot, with_a_depth(a, dtype), in.first(3), out, sums);
}

kernel::Tensor extents_of_one_hot(kernel::Builder& k, const DynOneHotAttrs& a, const Lowering& c) {
  const size_t rank = c.in[0].rank() + 1;
  return extents_vector(k, rank, [&] {
    const kernel::Expr depth = index_at(c.in[3], {});
    k.require(less_equal(k.index(0), depth), kNegativeDepth);
    std::vector<kernel::Expr> shape = c.in[0].shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(from_front(a.axis, rank)), depth);
    return shape;
  });
}

std::vector<kernel::Tensor> lower_one_hot(kernel::Builder& k, const DynOneHotAttrs& a, const Lowering& c) {
  return lower_as(kOneHot, with_a_depth(a, c.dtype()), k, c, 3);
}

std::vector<Expr> differentiate_one_hot(Builder& b, const DynOneHotAttrs& a, const Site& c) {
  const DType dtype = tensor_type_of(c.y).dtype, of_values = c.tensor(1).dtype;
  if (!dtype.is_float() || !of_values.is_float()) return {nullptr, nullptr, nullptr, nullptr};
  const auto share = [&](double on, double off) {
    const Expr mask =
        call(b, kDynOneHot, {c.args[0], scalar_of(b, dtype, on), scalar_of(b, dtype, off), c.args[3]},
             {{"axis", a.axis}});
    const Expr sum = call(b, kSum, {call(b, kMultiply, {c.dy, mask})});
    return dtype == of_values ? sum : call(b, kCast, {sum}, {{"dtype", of_values}});
  };
  return {nullptr, share(1, 0), share(0, 1), nullptr};
}

}  // namespace

const OpDef kDynOneHot = define<DynOneHotAttrs>({
    .name = "dyn.one_hot",
    .doc = "Each index becomes a row with one value at the index and another one elsewhere.",
    .params = {{"indices", "an index outside [0, depth) gives a row without on_value"},
               {"on_value", "of rank 0"},
               {"off_value", "of rank 0"},
               {"depth", "extent of the new axis"}},
    .effects = Effects::kTraps,
    .relate = relate_one_hot,
    .evaluate = evaluate_one_hot,
    .differentiate = differentiate_one_hot,
    .lower = lower_one_hot,
    .extents = extents_of_one_hot,
});

}  // namespace relay::op
