// Normalisation by statistics of the data itself: nn.layer_norm, nn.instance_norm, nn.group_norm.
//
//   nn.layer_norm(x, gamma, beta) = (x - mean x) / sqrt(mean (x - mean x)^2 + epsilon) * gamma + beta,
//       with the means over `axis`
//   nn.instance_norm(x, gamma, beta) = (x - mean x) / sqrt(mean (x - mean x)^2 + epsilon) * gamma + beta,
//       with the means over all axes but the first and `axis`
//   nn.group_norm(x, gamma, beta) = (x - mean x) / sqrt(mean (x - mean x)^2 + epsilon) * gamma + beta,
//       with the means over all axes but the first, with `axis` cut into groups
//
// gamma and beta lie along `axis`.
//
//   (Tensor[s, d], Tensor[(s[axis]), d], Tensor[(s[axis]), d]) -> Tensor[s, d]
//   C1: d is floating.
//   C2: axis is in [-rank, rank), and not the first one unless it is a layer's.
//   C3: gamma and beta have rank 1, the data's dtype and its extent along the axis.
//   C4: num_groups is positive and divides the extent along the axis.
#include <cmath>
#include <map>

#include "base/cat.h"
#include "op/domain.h"
#include "op/requirements.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct NormAttrs {
  int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  static constexpr auto kFields =
      fields(field("axis", &NormAttrs::axis, "of gamma and beta"),
             field("epsilon", &NormAttrs::epsilon, "is added to the variance"),
             field("center", &NormAttrs::center, "add beta; else it is ignored"),
             field("scale", &NormAttrs::scale, "multiply by gamma; else it is ignored"));
};

struct LayerNormAttrs : NormAttrs {
  LayerNormAttrs() { axis = -1; }
};

struct GroupNormAttrs : NormAttrs {
  int64_t num_groups = 0;
  static constexpr auto kFields = std::tuple_cat(
      fields(field("num_groups", &GroupNormAttrs::num_groups, "how many groups of channels").required()),
      NormAttrs::kFields);
};

template <bool any_axis>
Type relate_norm(Relation& r, const NormAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const size_t axis = r.axis(a.axis, x.rank());                                                  // C2
  r.require(any_axis || axis != 0, kAttributes, "axis must not be the first one, the batch's");  // C2
  const Type vector = r.tensor_of({x.dims[axis]}, x.dtype);
  r.assign(1, vector);  // C3
  r.assign(2, vector);  // C3
  return &x;
}

Type relate_layer(Relation& r, const LayerNormAttrs& a) { return relate_norm<true>(r, a); }
Type relate_instance(Relation& r, const NormAttrs& a) { return relate_norm<false>(r, a); }

Type relate_group(Relation& r, const GroupNormAttrs& a) {
  const Type out = relate_norm<false>(r, a);
  r.require(a.num_groups > 0, kAttributes, cat("num_groups must be positive, not ", a.num_groups));  // C4
  const TensorType& x = r.tensor(0);
  const Dim channels = x.dims[r.axis(a.axis, x.rank())];
  require_multiple(
      r, channels, a.num_groups, 0,
      cat(a.num_groups, " groups do not divide the ", relay::show(channels), " channels"));  // C4
  return out;
}

// Mean 0 and variance 1 over some axes. float16 and bfloat16 are computed in float32.
Term normalised(Builder& b, Expr x, const std::vector<int64_t>& axes, double epsilon) {
  const DType d = tensor_type_of(x).dtype;
  Term wide(b, x);
  if (d.bits < 32) wide = wide.apply(kCast, {wide}, {{"dtype", kFloat32}});
  const auto mean = [&](Term t) { return t.apply(kMean, {t}, {{"axis", axes}, {"keepdims", true}}); };
  // The mean of large numbers that lie close together may be off by more than they differ: its
  // error is measured as well.
  const Term near = mean(wide), centre = near + mean(wide - near);
  const Term off = wide - centre;
  const Term variance = mean(off * off) + epsilon;
  const Term y = off / variance.apply(kSqrt, {variance});
  return d.bits < 32 ? y.apply(kCast, {y}, {{"dtype", d}}) : y;
}

// Times gamma plus beta, which lie along the axis.
Expr scaled(Builder& b, const NormAttrs& a, Term y, const Site& c) {
  const size_t rank = c.tensor(0).rank(), behind = rank - 1 - from_front(a.axis, rank);
  const auto along_axis = [&](Expr vector) {
    const Term v(b, vector);
    if (behind == 0) return v;
    return v.apply(kExpandDims, {v}, {{"axis", int64_t{1}}, {"num_newaxis", static_cast<int64_t>(behind)}});
  };
  if (a.scale) y = y * along_axis(c.args[1]);
  if (a.center) y = y + along_axis(c.args[2]);
  return y;
}

// All axes from 1 on but `kept`.
std::vector<int64_t> axes_without(size_t rank, size_t kept) {
  std::vector<int64_t> out;
  for (size_t d = 1; d < rank; ++d) {
    if (d != kept) out.push_back(static_cast<int64_t>(d));
  }
  return out;
}

Expr expand_layer(Builder& b, const LayerNormAttrs& a, const Site& c) {
  return scaled(b, a, normalised(b, c.args[0], {a.axis}, a.epsilon), c);
}

Expr expand_instance(Builder& b, const NormAttrs& a, const Site& c) {
  const size_t rank = c.tensor(0).rank();
  return scaled(b, a, normalised(b, c.args[0], axes_without(rank, from_front(a.axis, rank)), a.epsilon), c);
}

Expr expand_group(Builder& b, const GroupNormAttrs& a, const Site& c) {
  const size_t rank = c.tensor(0).rank(), axis = from_front(a.axis, rank);
  std::vector<int64_t> codes(axis, 0);  // the axes before are kept, the axis is split, those behind are kept
  for (const int64_t code : {int64_t{-4}, a.num_groups, int64_t{-1}, int64_t{-2}}) codes.push_back(code);
  const Expr split = call(b, kReshape, {c.args[0]}, {{"newshape", codes}});
  const Term y = normalised(b, split, axes_without(rank + 1, axis), a.epsilon);
  return scaled(b, a, {b, call(b, kReshapeLike, {y, c.args[0]})}, c);
}

// The sums have as many terms as there are elements behind the batch at most; the division and the
// root multiply their error by a constant.
int64_t length(std::span<const Type> args, const Attrs&) {
  int64_t n = 8;
  const auto& dims = args[0]->as<TensorType>()->dims;
  int64_t elements = 1;
  for (size_t d = 1; d < dims.size(); ++d) elements *= dims[d].is_const() ? dims[d].value() : 1;
  return n + 2 * elements;
}

// The mean is subtracted: to the bound belong the absolute values of both, over the deviation of
// the data as they are. `group` says which elements are normalised together.
template <class A, class Group>
void norm_terms(const Attrs& attrs, Args in, Results out, const Group& group) {
  const auto a = read_attrs<A>(attrs);
  const Tensor &x = in[0], &gamma = in[1], &beta = in[2];
  const size_t axis = from_front(a.axis, x.rank());
  struct Sums {
    double count = 0, sum = 0, squares = 0, magnitude = 0;
  };
  std::map<std::vector<int64_t>, Sums> groups;
  const auto for_each = [&](const auto& f) {
    int64_t at = 0;
    for_each_index(x.shape(), [&](const std::vector<int64_t>& index) {
      f(at++, groups[group(a, axis, x.shape(), index)], index[axis]);
    });
  };
  for_each([&](int64_t at, Sums& s, int64_t) {
    ++s.count;
    s.sum += x.get(at);
    s.magnitude += std::fabs(x.get(at));
  });
  for_each([&](int64_t at, Sums& s, int64_t) { s.squares += std::pow(x.get(at) - s.sum / s.count, 2); });
  for_each([&](int64_t at, Sums& s, int64_t i) {
    const double deviation = std::sqrt(s.squares / s.count + a.epsilon);
    const double y = (std::fabs(x.get(at)) + s.magnitude / s.count) / deviation;
    out[0].set(at, y * (a.scale ? std::fabs(gamma.get(i)) : 1) + (a.center ? std::fabs(beta.get(i)) : 0));
  });
}

using Index = std::vector<int64_t>;

void layer_terms(const Attrs& attrs, Args in, Results out) {
  norm_terms<LayerNormAttrs>(attrs, in, out, [](const auto&, size_t axis, const Shape&, Index index) {
    index[axis] = 0;
    return index;
  });
}

void instance_terms(const Attrs& attrs, Args in, Results out) {
  norm_terms<NormAttrs>(attrs, in, out, [](const auto&, size_t axis, const Shape&, const Index& index) {
    return Index{index[0], index[axis]};
  });
}

void group_terms(const Attrs& attrs, Args in, Results out) {
  norm_terms<GroupNormAttrs>(
      attrs, in, out, [](const GroupNormAttrs& a, size_t axis, const Shape& shape, const Index& index) {
        return Index{index[0], index[axis] / (shape[axis] / a.num_groups)};
      });
}

Tolerance tolerance(decltype(Tolerance::terms) terms) {
  return {.kind = Tolerance::Kind::kReduction, .length = length, .terms = std::move(terms)};
}

const std::vector<Param> kParams = {
    {"data", "the input"}, {"gamma", "the scale along the axis"}, {"beta", "the shift along the axis"}};

}  // namespace

const OpDef kLayerNorm = define<LayerNormAttrs>({
    .name = "nn.layer_norm",
    .doc = "Normalise along one axis, then scale and shift.",
    .params = kParams,
    .tolerance = tolerance(layer_terms),
    .refines = {1, 2},
    .relate = relate_layer,
    .expand = expand_layer,
});

const OpDef kInstanceNorm = define<NormAttrs>({
    .name = "nn.instance_norm",
    .doc = "Normalise each channel of each example, then scale and shift it.",
    .params = kParams,
    .tolerance = tolerance(instance_terms),
    .refines = {1, 2},
    .relate = relate_instance,
    .expand = expand_instance,
});

const OpDef kGroupNorm = define<GroupNormAttrs>({
    .name = "nn.group_norm",
    .doc = "Normalise each group of channels of each example, then scale and shift each channel.",
    .params = kParams,
    .tolerance = tolerance(group_terms),
    .refines = {1, 2},
    .relate = relate_group,
    .expand = expand_group,
});

}  // namespace relay::op
