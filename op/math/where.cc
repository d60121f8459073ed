// where(condition, x, y)[i] = condition[i] ? x[i] : y[i], with broadcasting
//
//   (Tensor[s, bool], Tensor[t, d], Tensor[u, d]) -> Tensor[broadcast(s, t, u), d]
//   C1: the condition is boolean.   C2: x and y have the same dtype.   C3: s, t and u broadcast.
//
// Both x and y are computed: `if` is the form that evaluates one of two.
#include "op/broadcast.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) {
  const TensorType &condition = r.tensor(0), &x = r.tensor(1), &y = r.tensor(2);
  require(r, 0, Domain::kBool);                                       // C1
  r.require_same_dtype(2, 1);                                         // C2
  const std::vector<Dim> values = r.broadcast(x.dims, y.dims, 1, 2);  // C3
  return r.tensor_of(r.broadcast(values, condition.dims, 1, 0), x.dtype);
}

void evaluate(const NoAttrs&, Args in, Results out) {
  Tensor& z = out[0];
  std::vector<int64_t> at[3];
  for (size_t a = 0; a < 3; ++a) at[a] = broadcast_elements(in[a].shape(), z.shape());
  for (int64_t i = 0; i < z.size(); ++i) {
    const auto n = static_cast<size_t>(i);
    const size_t chosen = in[0].get_int(at[0][n]) ? 1 : 2;
    const Tensor& from = in[chosen];
    if (z.dtype().is_float()) {
      z.set(i, from.get(at[chosen][n]));
    } else {
      z.set_int(i, from.get_int(at[chosen][n]));
    }
  }
}

std::vector<Expr> differentiate(Builder& b, const NoAttrs&, const Site& c) {
  const Term condition(b, c.args[0]), dz(b, c.dy), none = dz.number(0);
  return {nullptr, collapse_to(b, where(condition, dz, none), c.args[1]),
          collapse_to(b, where(condition, none, dz), c.args[2])};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const std::vector<kernel::Expr> shape = c.shape();
  return {k.compute("where", c.dtype(), shape, [&](kernel::Indices i) {
    return select(broadcast_at(c.in[0], i, shape), broadcast_at(c.in[1], i, shape),
                  broadcast_at(c.in[2], i, shape));
  })};
}

}  // namespace

const OpDef kWhere = define<NoAttrs>({
    .name = "where",
    .doc = "One of two values, chosen element by element.",
    .params = {{"condition", "which one to choose"}, {"x", "where it is true"}, {"y", "where it is false"}},
    .fusion = Fusion::kBroadcast,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
