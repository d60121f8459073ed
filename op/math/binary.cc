#include "op/math/binary.h"

#include "base/cat.h"
#include "op/broadcast.h"

namespace relay::op {

OpDef binary(const Binary& f) {
  OpDef d = define<NoAttrs>({
      .name = f.name,
      .doc = f.doc,
      .params = {{"lhs", "the left operand"}, {"rhs", "the right operand"}},
      .effects = f.effects,
      .fusion = Fusion::kBroadcast,
      .tolerance = {.kind = f.ulps > 0 ? Tolerance::Kind::kUlps : Tolerance::Kind::kExact, .ulps = f.ulps},
      .not_differentiable = f.not_differentiable,
  });
  d.commutative = f.commutative;
  d.relation = cat(f.asks ? "Compare" : "Broadcast", f.domain == Domain::kNumber ? "" : family(f.domain));
  d.relate = [f](Relation& r, const Attrs& attrs) -> Type {
    read_attrs<NoAttrs>(attrs);
    const TensorType &x = r.tensor(0), &y = r.tensor(1);
    r.require_same_dtype(1, 0);                                       // C1
    const std::vector<Dim> dims = r.broadcast(x.dims, y.dims, 0, 1);  // C2
    require(r, 0, f.domain);                                          // C3
    return r.tensor_of(dims, f.asks ? kBool : x.dtype);
  };
  d.traps = [](const Attrs&, std::span<const Type>, Type result) {  // only integers do
    const auto* tensor = result->as<TensorType>();
    return !tensor || !tensor->dtype.is_float();
  };
  d.evaluate = [f](const Attrs&, Args in, Results out, Sums) {
    const Tensor &x = in[0], &y = in[1];
    Tensor& z = out[0];
    const std::vector<int64_t> i = broadcast_elements(x.shape(), z.shape()),
                               j = broadcast_elements(y.shape(), z.shape());
    for (int64_t n = 0; n < z.size(); ++n) {
      const auto at = static_cast<size_t>(n);
      if (x.dtype().is_float()) {
        z.set(n, f.real(x.dtype(), x.get(i[at]), y.get(j[at])));
      } else {
        z.set_int(n, f.integer(x.dtype(), x.get_int(i[at]), y.get_int(j[at])));
      }
    }
  };
  d.lower = [f](kernel::Builder& k, const Attrs&, const Lowering& c) -> std::vector<kernel::Tensor> {
    const std::vector<kernel::Expr> shape = c.shape();
    return {k.compute(f.name, c.dtype(), shape, [&](kernel::Indices i) {
      return f.lower(k, broadcast_at(c.in[0], i, shape), broadcast_at(c.in[1], i, shape));
    })};
  };
  if (f.adjoints) {
    d.differentiate = [f](Builder& b, const Attrs&, const Site& c) -> std::vector<Expr> {
      const Adjoints a = f.adjoints(Term(b, c.args[0]), Term(b, c.args[1]), Term(b, c.y), Term(b, c.dy));
      return {a.x ? collapse_to(b, *a.x, c.args[0]) : nullptr,
              a.y ? collapse_to(b, *a.y, c.args[1]) : nullptr};
    };
  }
  return d;
}

}  // namespace relay::op
