// meshgrid((x_0, .., x_(m-1))).j[i_0, .., i_(m-1)] = x_j[i_j]
//
// With indexing "xy" the first two axes change places: x_0 goes with i_1, and x_1 with i_0. A
// scalar counts as a vector of one element.
//
//   (Tensor[(n_0), d], ..) -> (Tensor[(n_0, ..), d], ..)
//   C1: there is at least one tensor.   C2: each has at most one axis.
//   C3: all have one dtype.   C4: indexing is "ij" or "xy".
#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct MeshgridAttrs {
  std::string indexing = "ij";
  static constexpr auto kFields = fields(field("indexing", &MeshgridAttrs::indexing,
                                               "\"ij\", or \"xy\" where the first two axes change places"));

  // The axis that tensor n of `all` goes along.
  size_t axis_of(size_t n, size_t all) const { return indexing == "xy" && all >= 2 && n < 2 ? 1 - n : n; }
};

Type relate(Relation& r, const MeshgridAttrs& a) {
  const std::vector<const TensorType*> xs = r.tensors(0);
  r.require(!xs.empty(), 0, "expected at least one tensor");  // C1
  r.require(a.indexing == "ij" || a.indexing == "xy", kAttributes,
            cat("indexing must be \"ij\" or \"xy\", not \"", a.indexing, "\""));  // C4
  std::vector<Dim> dims(xs.size(), Dim(1));
  for (size_t n = 0; n < xs.size(); ++n) {
    const TensorType& x = *xs[n];
    if (x.rank() > 1) r.fail(0, cat("tensor ", n, " has rank ", x.rank()));  // C2
    if (x.dtype != xs[0]->dtype) {
      r.fail(0, cat("tensor ", n, " has dtype ", x.dtype.name(), ", the first one ",
                    xs[0]->dtype.name()));  // C3
    }
    if (x.rank() == 1) dims[a.axis_of(n, xs.size())] = x.dims[0];
  }
  return r.tuple_of(std::vector<Type>(xs.size(), r.tensor_of(dims, xs[0]->dtype)));
}

void evaluate(const MeshgridAttrs& a, Args in, Results out) {
  for (size_t n = 0; n < in.size(); ++n) {
    fill_from(in[n], out[n], [&](const std::vector<int64_t>& i) {
      return in[n].rank() == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{i[a.axis_of(n, in.size())]};
    });
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const MeshgridAttrs& a, const Lowering& c) {
  std::vector<kernel::Tensor> out;
  for (size_t n = 0; n < c.in.size(); ++n) {
    out.push_back(k.compute("meshgrid", c.dtype(n), c.shape(n), [&](kernel::Indices i) {
      std::vector<kernel::Expr> at;
      if (c.in[n].rank() == 1) at.push_back(i[a.axis_of(n, c.in.size())]);
      return c.in[n].at(at);
    }));
  }
  return out;
}

// Each dx is the sum of dy along all other axes.
std::vector<Expr> differentiate(Builder& b, const MeshgridAttrs& a, const Site& c) {
  const auto& types = *c.type(0)->as<TupleType>();
  std::vector<Expr> parts;
  for (uint32_t n = 0; n < types.fields.size(); ++n) {
    std::vector<int64_t> others;
    const bool scalar = types.fields[n]->as<TensorType>()->rank() == 0;
    for (size_t d = 0; d < types.fields.size(); ++d) {
      if (scalar || d != a.axis_of(n, types.fields.size())) others.push_back(static_cast<int64_t>(d));
    }
    Expr dy = b.proj(c.dy, n);
    if (!others.empty()) dy = call(b, kSum, {dy}, {{"axis", others}});
    parts.push_back(dy);
  }
  return {b.tuple(parts)};
}

}  // namespace

const OpDef kMeshgrid = define<MeshgridAttrs>({
    .name = "meshgrid",
    .doc = "The coordinates of all points of a grid, given those along its axes.",
    .params = {{"data", "a tuple of vectors or scalars"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
