// nn.dilate(x)[i] = x[i / strides] where strides divides i along each axis, dilation_value elsewhere
//
//   (Tensor[s, d]) -> Tensor[max((s - 1) * strides + 1, 0), d]
//   C1: strides has a number for each axis, each in [1, 2^31].
//
// dilation_value is converted to d.
#include "base/cat.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct DilateAttrs {
  std::vector<int64_t> strides = {1, 1};
  double dilation_value = 0;
  static constexpr auto kFields =
      fields(field("strides", &DilateAttrs::strides, "the distance of elements, along each axis"),
             field("dilation_value", &DilateAttrs::dilation_value, "what stands between them"));
};

constexpr int64_t kMost = int64_t{1} << 31;

Type relate(Relation& r, const DilateAttrs& a) {
  std::vector<Dim> dims = dims_of(r.tensor(0));
  r.require(a.strides.size() == dims.size(), kAttributes,
            cat("strides must have ", dims.size(), " numbers, not ", a.strides.size()));  // C1
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t stride = a.strides[d];
    r.require(stride >= 1 && stride <= kMost, kAttributes,
              cat("strides must be in [1, ", kMost, "], not ", stride));  // C1
    if (stride != 1) dims[d] = clamp_to_zero((dims[d] - 1) * stride + 1);
  }
  return r.tensor_of(dims, r.tensor(0).dtype);
}

void evaluate(const DilateAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const Tensor fill = Tensor::scalar(x.dtype(), a.dilation_value);
  std::vector<int64_t> at(x.rank());
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    bool holds = true;
    for (size_t d = 0; d < at.size(); ++d) {
      holds = holds && i[d] % a.strides[d] == 0;
      at[d] = i[d] / a.strides[d];
    }
    copy_element(holds ? x : fill, holds ? offset_of(x.shape(), at) : 0, out[0], number++);
  });
}

std::vector<Expr> differentiate(Builder& b, const DilateAttrs& a, const Site& c) {
  if (a.strides.empty()) return {c.dy};
  return {call(b, kStridedSlice, {c.dy},
               {{"begin", std::vector<int64_t>(a.strides.size(), 0)},
                {"end", std::vector<int64_t>(a.strides.size(), INT32_MAX)},
                {"strides", a.strides}})};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const DilateAttrs& a, const Lowering& c) {
  const Tensor fill = Tensor::scalar(c.dtype(), a.dilation_value);
  const kernel::Expr other =
      c.dtype().is_float() ? k.constant(c.dtype(), fill.get(0)) : c.pool.integer(fill.get_int(0), c.dtype());
  return {k.compute("dilate", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> at(i.begin(), i.end());
    kernel::Expr holds = k.constant(kBool, 1);
    for (size_t d = 0; d < at.size(); ++d) {
      if (a.strides[d] == 1) continue;
      holds = logical_and(holds, equal(floor_mod(i[d], a.strides[d]), k.index(0)));
      at[d] = floor_div(i[d], a.strides[d]);
    }
    return select(holds, c.in[0].at(at), other);
  })};
}

}  // namespace

const OpDef kDilate = define<DilateAttrs>({
    .name = "nn.dilate",
    .doc = "Put other elements between those of a tensor.",
    .params = {{"x", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
