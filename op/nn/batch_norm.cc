// nn.batch_norm(data, gamma, beta, moving_mean, moving_var) = (y, moving_mean, moving_var) where
//
//   y[.., i, ..] = (data[.., i, ..] - moving_mean[i]) * gamma[i] / sqrt(moving_var[i] + epsilon) + beta[i]
//
// and i is the index along `axis`. This is what it does at inference: the statistics
// stay as they are.
//
//   (Tensor[s, d], 4 x Tensor[(s[axis]), d]) -> (Tensor[s, d], Tensor[(s[axis]), d], Tensor[(s[axis]), d])
//   C1: d is floating.   C2: axis is in [-rank, rank).
//   C3: gamma, beta, mean and variance have rank 1, the data's dtype and its extent along the axis.
#include <cmath>

#include "op/domain.h"
#include "op/nn/batch_norm.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const BatchNormAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const Type vector = r.tensor_of({x.dims[r.axis(a.axis, x.rank())]}, x.dtype);  // C2
  for (int i = 1; i < 5; ++i) r.assign(i, vector);                               // C3
  return r.tuple_of({&x, vector, vector});
}

// As data * scale + shift: with constant statistics all of scale and shift folds.
Expr expand(Builder& b, const BatchNormAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), gamma(b, c.args[1]), beta(b, c.args[2]), mean(b, c.args[3]),
      variance(b, c.args[4]);
  const Term deviation = x.apply(kSqrt, {variance + a.epsilon});
  const Term scale = a.scale ? gamma / deviation : 1 / deviation;
  const Term shift = a.center ? beta - mean * scale : -(mean * scale);
  const size_t rank = c.tensor(0).rank(), behind = rank - 1 - from_front(a.axis, rank);
  const auto along_axis = [&](Term v) {
    if (behind == 0) return v;
    return v.apply(kExpandDims, {v}, {{"axis", int64_t{1}}, {"num_newaxis", static_cast<int64_t>(behind)}});
  };
  return b.tuple({x * along_axis(scale) + along_axis(shift), mean, variance});
}

// What `expand` adds up: the shift is made of beta and the scaled mean, which the scaled
// data may cancel.
void terms(const Attrs& attrs, Args in, Results out) {
  const auto a = read_attrs<BatchNormAttrs>(attrs);
  const Tensor &x = in[0], &gamma = in[1], &beta = in[2], &mean = in[3], &variance = in[4];
  const size_t axis = from_front(a.axis, x.rank());
  int64_t at = 0;
  for_each_index(x.shape(), [&](const std::vector<int64_t>& index) {
    const int64_t i = index[axis];
    const double scale = (a.scale ? std::fabs(gamma.get(i)) : 1) / std::sqrt(variance.get(i) + a.epsilon);
    const double scaled = (std::fabs(x.get(at)) + std::fabs(mean.get(i))) * scale;
    out[0].set(at++, scaled + (a.center ? std::fabs(beta.get(i)) : 0));
  });
  for (int64_t i = 0; i < mean.size(); ++i) {
    out[1].set(i, std::fabs(mean.get(i)));
    out[2].set(i, std::fabs(variance.get(i)));
  }
}

}  // namespace

const OpDef kBatchNorm = define<BatchNormAttrs>({
    .name = "nn.batch_norm",
    .doc = "Normalise each channel by given statistics, then scale and shift it.",
    .params = {{"data", "the input"},
               {"gamma", "the scale of each channel"},
               {"beta", "the shift of each channel"},
               {"moving_mean", "the mean of each channel"},
               {"moving_var", "the variance of each channel"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = [](auto, const Attrs&) { return int64_t{8}; },
                  .terms = terms},
    .refines = {1, 2, 3, 4},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
