// argwhere(c)[j, a] = the index along axis a of the j-th element of c that is not 0, in row-major order
//
// How many there are is known when it runs. NaN is not 0. A scalar has no axes, so its result has
// no elements, but a row where the scalar is not 0.
//
//   (Tensor[s, d]) -> Tensor[(?, rank of s), int32]
//   C1: the argument is a tensor.
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) {
  const TensorType& x = r.tensor(0);  // C1
  return r.tensor_of({Dim::unknown(), Dim(static_cast<int64_t>(x.rank()))}, kInt32);
}

bool is_set(const Tensor& x, int64_t i) { return x.dtype().is_float() ? x.get(i) != 0 : x.get_int(i) != 0; }

void evaluate(const NoAttrs&, Args in, Results out) {
  const Tensor& x = in[0];
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(); ++i) count += is_set(x, i) ? 1 : 0;
  out[0] = Tensor(kInt32, {count, static_cast<int64_t>(x.rank())});
  int64_t n = 0, to = 0;
  for_each_index(x.shape(), [&](const std::vector<int64_t>& at) {
    if (!is_set(x, n++)) return;
    for (const int64_t i : at) out[0].set_int(to++, i);
  });
}

// 1 for an element that is not 0.
kernel::Expr counted(kernel::Builder& k, kernel::Expr element) {
  return select(not_equal(element, k.constant(element->dtype, 0)), k.index(1), k.index(0));
}

kernel::Tensor extents(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  return k.reduce("extents", kInt64, {k.index(1)}, x.shape(), k.sum(kInt64),
                  [&](kernel::Indices, kernel::Indices r) { return counted(k, x.at(r)); });
}

// Each element writes its number at the place that the next one that is not 0 will have. So the one
// that is not 0 writes last there, and what follows the last of them writes behind all others.
std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor x = c.in[0];
  const std::vector<Dim> dims = dims_of(*c.arg_types[0]), flat{product(dims)};
  const Expr size = flat[0].expr(c.pool), zero = k.index(0);
  const auto element = [&](Expr number) {
    const std::vector<Expr> at{number};
    return x.at(reindex(c.pool, dims, flat, at));
  };
  const kernel::Tensor before = k.update(
      "before", kInt64, {size}, [&](kernel::Indices) { return zero; }, {size},
      [](kernel::Indices r) { return copy_of(r); },
      [&](kernel::Tensor self, kernel::Indices r) {
        const Expr previous = max(r[0] - 1, zero);
        return select(equal(r[0], zero), zero, self(previous) + counted(k, element(previous)));
      });
  const Expr count = c.shape()[0];
  const kernel::Tensor numbers = k.update(
      "numbers", kInt64, {count + 1}, [&](kernel::Indices) { return zero; }, {size},
      [&](kernel::Indices r) { return std::vector<Expr>{min(before(r[0]), count)}; },
      [&](kernel::Tensor, kernel::Indices r) { return r[0]; });
  return {k.compute("argwhere", kInt32, c.shape(), [&](kernel::Indices i) {
    Expr rest = numbers(i[0]), index = zero;
    for (size_t d = dims.size(); d-- > 0;) {
      const Expr extent = max(x.dim(d), k.index(1));
      index = select(equal(i[1], k.index(static_cast<int64_t>(d))), floor_mod(rest, extent), index);
      rest = floor_div(rest, extent);
    }
    return cast(kInt32, index);
  })};
}

}  // namespace

const OpDef kArgwhere = define<NoAttrs>({
    .name = "argwhere",
    .doc = "Where the elements stand that are not 0.",
    .params = {{"condition", "any tensor"}},
    .not_differentiable = "the result holds positions",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
    .extents = extents,
});

}  // namespace relay::op
