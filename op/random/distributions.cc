// Random numbers of a distribution, from a key of Threefry: uniform, normal, multinomial.
#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "op/domain.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct DistributionAttrs {
  std::vector<Dim> out_shape = {};
  MaybeDType out_dtype = {};
  static constexpr auto kFields = fields(
      field("out_shape", &DistributionAttrs::out_shape, "of the numbers").required(),
      field("out_dtype", &DistributionAttrs::out_dtype, "of the numbers; None: that of the other arguments"));
};

// The type of (next key, numbers): what generating bits gives, in another dtype.
Type with_numbers(Relation& r, const std::vector<Dim>& shape, DType dtype) {
  const Type key = r.type(0);
  const Type bits[] = {key};
  Relation generating(r.context(), bits);
  const Type made = kThreefryGenerate.relate(generating, r.context().attrs({{"out_shape", shape}}));
  return r.tuple_of({made->as<TupleType>()->fields[0], r.tensor_of(shape, dtype)});
}

// (Tensor[(10), uint64], Tensor[(), d], Tensor[(), d]) -> (Tensor[(10), uint64], Tensor[out_shape, d])
// C1: the key is ten words of uint64, and out_shape holds extents.
// C2: d is float32 or float64.
// C3: the other arguments have rank 0 and this dtype.
Type relate_distribution(Relation& r, const DistributionAttrs& a) {
  const DType dtype = a.out_dtype.value_or(r.tensor(1).dtype);
  r.require(dtype == kFloat32 || dtype == kFloat64, kAttributes,
            cat("numbers must be float32 or float64, not ", dtype.name()));  // C2
  for (int i = 1; i < 3; ++i) {
    r.require_rank(i, 0);  // C3
    r.require(r.tensor(i).dtype == dtype, i,
              cat("expected ", dtype.name(), ", found ", r.tensor(i).dtype.name()));  // C3
  }
  return with_numbers(r, a.out_shape, dtype);  // C1
}

// The first result of a call, and the second.
Expr next_key(Builder& b, Expr pair) { return b.proj(pair, 0); }
Term numbers(Builder& b, Expr pair) { return {b, b.proj(pair, 1)}; }

int64_t some_roundings(std::span<const Type>, const Attrs&) { return 32; }

void fill(Tensor& t, double value) {
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, value);
}

// --- uniform -------------------------------------------------------------------------------------

// random.uniform(key, low, high) = (next key, low + (high - low) * bits / 2^n),
//     where bits are the first n of those of random.threefry_generate: 23 for float32, 52 for float64
//
// A number is at least low and below high, but for rounding.
Expr expand_uniform(Builder& b, const DistributionAttrs& a, const Site& c) {
  const DType dtype = c.tensor(1).dtype;
  const int bits = dtype == kFloat32 ? 23 : 52;
  const Expr pair = call(b, kThreefryGenerate, {c.args[0]}, {{"out_shape", a.out_shape}});
  const Term shift(b, b.constant(Tensor::scalar_int(kUInt64, 64 - bits)));
  const Term first = shift.apply(kRightShift, {numbers(b, pair), shift});
  const Term share = first.apply(kCast, {first}, {{"dtype", dtype}}) / std::ldexp(1.0, bits);
  const Term low(b, c.args[1]), high(b, c.args[2]);
  return b.tuple({next_key(b, pair), share * (high - low) + low});
}

void uniform_terms(const Attrs&, std::span<const Tensor> in, std::span<Tensor> out) {
  fill(out[0], 0);
  fill(out[1], std::fabs(in[2].get(0)) + 2 * std::fabs(in[1].get(0)));
}

// --- normal --------------------------------------------------------------------------------------

// random.normal(key, mean, scale) = (next key, mean + scale * sqrt(-2 log(1 - u)) * sin(2 pi v)),
//     where u and v are the two halves of what `random.uniform` gives in the shape (2, out_shape) for 0 and 1
//
// This is the method of Box and Muller.
Expr expand_normal(Builder& b, const DistributionAttrs& a, const Site& c) {
  const DType dtype = c.tensor(1).dtype;
  std::vector<Dim> twice = a.out_shape;
  twice.insert(twice.begin(), Dim(2));
  const Expr pair = call(b, kUniform, {c.args[0], b.scalar(dtype, 0), b.scalar(dtype, 1)},
                         {{"out_shape", twice}, {"out_dtype", dtype}});
  const Term both = numbers(b, pair);
  const auto half = [&](int64_t i) {
    const Expr part = sliced(b, both, 0, Dim(i), Dim(i + 1));
    return both.apply(kSqueeze, {part}, {{"axis", std::vector<int64_t>{0}}});
  };
  const Term u = half(0), v = half(1), mean(b, c.args[1]), scale(b, c.args[2]);
  const Term log = u.apply(kLog, {1.0 - u}), angle = 2 * std::numbers::pi * v;
  const Term radius = u.apply(kSqrt, {-2.0 * log});
  return b.tuple({next_key(b, pair), radius * v.apply(kSin, {angle}) * scale + mean});
}

// No radius is above 8.5, as 1 - u is at least 2^-52.
void normal_terms(const Attrs&, std::span<const Tensor> in, std::span<Tensor> out) {
  fill(out[0], 0);
  fill(out[1], std::fabs(in[1].get(0)) + 8.5 * std::fabs(in[2].get(0)));
}

// --- multinomial ---------------------------------------------------------------------------------

struct MultinomialAttrs {
  int64_t num_samples = 1;
  static constexpr auto kFields =
      fields(field("num_samples", &MultinomialAttrs::num_samples, "how often each row is drawn from"));
};

// random.multinomial(key, probs) = (next key, indices): each index is drawn with a probability
//     that is its share of the sum of probs along the last axis
//
//   It is the first index at which the sum of probs up to there is above u times the largest of
//   these sums, where u is what `random.uniform` gives for 0 and 1 in float32; 0 if there is none.
//
// (Tensor[(10), uint64], Tensor[(s.., n), d]) -> (Tensor[(10), uint64], Tensor[(s.., num_samples), int32])
// C1: the key is ten words of uint64.
// C2: probs have a floating-point dtype, an axis, and a number along it.
// C3: num_samples is in [0, 2^31).
//
// Sums are made in float64, one number after the other. The largest is the last one, unless probs
// are negative, which nothing asks.
Type relate_multinomial(Relation& r, const MultinomialAttrs& a) {
  require(r, 1, Domain::kFloat);  // C2
  r.require_no_scalar(1);         // C2
  const TensorType& probs = r.tensor(1);
  r.require(probs.dims.back() != Dim(0), 1, "there is nothing to draw from");  // C2
  r.require(a.num_samples >= 0 && a.num_samples < int64_t{1} << 31, kAttributes,
            cat("num_samples must be in [0, 2^31), not ", a.num_samples));  // C3
  std::vector<Dim> shape = dims_of(probs);
  shape.back() = Dim(a.num_samples);
  return with_numbers(r, shape, kInt32);  // C1
}

Expr expand_multinomial(Builder& b, const MultinomialAttrs& a, const Site& c) {
  const TensorType& probs = c.tensor(1);
  std::vector<Dim> shape = dims_of(probs);
  shape.back() = Dim(a.num_samples);
  const Expr pair = call(b, kUniform, {c.args[0], b.scalar(kFloat32, 0), b.scalar(kFloat32, 1)},
                         {{"out_shape", shape}, {"out_dtype", kFloat32}});
  const Term given(b, c.args[1]);
  const auto as = [&](Expr e, DType dtype) { return given.apply(kCast, {e}, {{"dtype", dtype}}); };
  const auto along = [&](const OpDef& op, Expr e, bool keepdims) {
    return given.apply(op, {e}, {{"axis", std::vector<int64_t>{-1}}, {"keepdims", keepdims}});
  };
  const Term sums = given.apply(kCumsum, {as(given, kFloat64)}, {{"axis", int64_t{-1}}});
  const Term drawn = as(numbers(b, pair), kFloat64) * along(kMax, sums, true);
  // The sums along the last axis, the samples along the one before.
  const auto last = static_cast<int64_t>(probs.rank()) - 1;
  const Expr row = call(b, kExpandDims, {sums}, {{"axis", last}});
  const Expr column = call(b, kExpandDims, {drawn}, {{"axis", last + 1}});
  const Term passed = given.apply(kLess, {column, row});
  // The first of the largest is the first that is above. It traps where there is none at all.
  return b.tuple({next_key(b, pair), along(kArgmax, as(passed, kInt32), false)});
}

}  // namespace

const OpDef kUniform = define<DistributionAttrs>({
    .name = "random.uniform",
    .doc = "Random numbers, evenly from an interval.",
    .params = {{"key", "ten words"}, {"low", "of rank 0"}, {"high", "of rank 0"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = some_roundings, .terms = uniform_terms},
    .relate = relate_distribution,
    .expand = expand_uniform,
});

const OpDef kNormal = define<DistributionAttrs>({
    .name = "random.normal",
    .doc = "Random numbers of a normal distribution.",
    .params = {{"key", "ten words"}, {"mean", "of rank 0"}, {"scale", "the standard deviation, of rank 0"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = some_roundings, .terms = normal_terms},
    .relate = relate_distribution,
    .expand = expand_normal,
});

const OpDef kMultinomial = define<MultinomialAttrs>({
    .name = "random.multinomial",
    .doc = "Random indices, each as often as its share of a sum.",
    .params = {{"key", "ten words"}, {"probs", "shares, of each index"}},
    .relate = relate_multinomial,
    .expand = expand_multinomial,
});

}  // namespace relay::op
