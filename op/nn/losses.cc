// Losses of predictions.
//
//   nn.nll_loss(predictions, targets, weights)[n, i..] = -weights[t] * predictions[n, t, i..]
//   where t = targets[n, i..]; 0 if t is ignore_index. Reduction "sum" adds them up, "mean" divides
//   the sum by that of the weights[t]
//   (Tensor[(n, c, s..), d], Tensor[(n, s..), e], Tensor[(c), d]) -> Tensor[(n, s..), d], or Tensor[(), d]
//
//   nn.cross_entropy(x, y) = -(sum over i, j of log(x[i, j]) * y[i, j]) / n
//   (Tensor[(n, c), d], Tensor[(n, c), d]) -> Tensor[(), d]
//
//   nn.cross_entropy_with_logits(x, y) = -(sum over i, j of x[i, j] * y[i, j]) / n
//   (Tensor[(n, c), d], Tensor[(n, c), d]) -> Tensor[(), d]
//
//   C1: the predictions are floating; of rank 1 or more for nn.nll_loss, of rank 2 for the others.
//   C2: targets are integers with the extents of the predictions but for the classes, which are
//       axis 1, or axis 0 of predictions of rank 1. y has the type of x.
//   C3: weights have the dtype of the predictions, and one for each class.
//   C4: reduction is "mean", "sum" or "none".
//
// A target that is neither a class nor ignore_index traps. float16 and bfloat16 are computed in
// float32.
#include <cmath>

#include "base/cat.h"
#include "op/domain.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct NllLossAttrs {
  std::string reduction = "mean";
  int64_t ignore_index = -100;
  static constexpr auto kFields =
      fields(field("reduction", &NllLossAttrs::reduction, "mean, sum or none"),
             field("ignore_index", &NllLossAttrs::ignore_index, "a target whose loss and weight are 0"));
};

size_t class_axis(const TensorType& predictions) { return predictions.rank() == 1 ? 0 : 1; }

Type relate(Relation& r, const NllLossAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  r.require_no_scalar(0);         // C1
  const TensorType& x = r.tensor(0);
  require(r, 1, Domain::kInteger);  // C2
  r.require_rank(1, x.rank() - 1);  // C2
  const size_t classes = class_axis(x);
  std::vector<Dim> dims;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (d == classes) continue;
    dims.push_back(r.same(r.tensor(1).dims[dims.size()], x.dims[d], 1, cat("axis ", dims.size()), 0));  // C2
  }
  r.require_rank(2, 1);                                                         // C3
  r.require_same_dtype(2, 0);                                                   // C3
  r.same(r.tensor(2).dims[0], x.dims[classes], 2, "the number of classes", 0);  // C3
  r.require(a.reduction == "mean" || a.reduction == "sum" || a.reduction == "none", kAttributes,
            cat("reduction must be mean, sum or none, not `", a.reduction, "`"));  // C4
  return r.tensor_of(a.reduction == "none" ? dims : std::vector<Dim>{}, x.dtype);
}

bool can_hold(DType d, int64_t value) {
  if (!d.is_signed_int()) return value >= 0 && (d.bits >= 63 || value < int64_t{1} << d.bits);
  return d.bits == 64 || (value >= -(int64_t{1} << (d.bits - 1)) && value < int64_t{1} << (d.bits - 1));
}

Term widened(Term x) { return x.dtype().bits < 32 ? x.apply(kCast, {x}, {{"dtype", kFloat32}}) : x; }
Term narrowed(Term x, DType d) { return x.dtype() == d ? x : x.apply(kCast, {x}, {{"dtype", d}}); }

Expr expand(Builder& b, const NllLossAttrs& a, const Site& c) {
  const auto axis = static_cast<int64_t>(class_axis(c.tensor(0)));
  const Term target(b, c.args[1]);
  const DType d = target.dtype();
  const auto integer = [&](int64_t v) { return Term(b, b.constant(Tensor::scalar_int(d, v))); };
  // What a target that is ignored stands for.
  const auto unless_ignored = [&](Term x, Term otherwise) {
    if (!can_hold(d, a.ignore_index)) return x;
    return where(target.apply(kEqual, {target, integer(a.ignore_index)}), otherwise, x);
  };
  const Term chosen = unless_ignored(target, integer(0));
  const Term row = chosen.apply(kExpandDims, {chosen}, {{"axis", axis}});
  const Term found = chosen.apply(kGather, {c.args[0], row}, {{"axis", axis}});
  const Term prediction = widened(found.apply(kSqueeze, {found}, {{"axis", std::vector<int64_t>{axis}}}));
  // Both look-ups trap with one message, so that no engine's order of them shows.
  const Term flat = chosen.apply(kReshape, {chosen}, {{"newshape", std::vector<int64_t>{-1}}});
  const Term found_weights = flat.apply(kGather, {c.args[2], flat}, {{"axis", int64_t{0}}});
  Term weight = widened({b, in_shape_of(b, found_weights, chosen)});
  const Term loss = unless_ignored(-(prediction * weight), prediction.number(0));
  if (a.reduction == "none") return narrowed(loss, c.tensor(0).dtype);
  const Term sum = loss.apply(kSum, {loss});
  if (a.reduction == "sum") return narrowed(sum, c.tensor(0).dtype);
  weight = unless_ignored(weight, weight.number(0));
  return narrowed(sum / weight.apply(kSum, {weight}), c.tensor(0).dtype);
}

// Sums of magnitudes; of a quotient, what the errors of both sums make of it.
void nll_terms(const Attrs& attrs, Args in, Results out) {
  const auto a = read_attrs<NllLossAttrs>(attrs);
  const Tensor &x = in[0], &targets = in[1], &weights = in[2];
  const size_t axis = x.rank() == 1 ? 0 : 1;
  double sum = 0, all = 0, magnitudes = 0;
  int64_t number = 0;
  for_each_index(targets.shape(), [&](std::vector<int64_t> index) {
    const int64_t at = number++, target = index_of(targets, at);
    double term = 0;
    if (target != a.ignore_index) {
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), target);
      const double weight = weights.get(target);
      term = std::fabs(weight * x.get(offset_of(x.shape(), index)));
      all += weight;
      magnitudes += std::fabs(weight);
    }
    sum += term;
    if (a.reduction == "none") out[0].set(at, term);
  });
  if (a.reduction == "sum") out[0].set(0, sum);
  if (a.reduction == "mean") out[0].set(0, sum / std::fabs(all) * (1 + magnitudes / std::fabs(all)));
}

// The roundings of the terms come on top of those of the sum.
int64_t length(std::span<const Type> args, const Attrs&) {
  const int64_t terms = constant_part(args[1]->as<TensorType>()->dims);
  return terms < INT64_MAX - 8 ? terms + 8 : terms;
}

// --- cross entropy -------------------------------------------------------------------------------

Type relate_entropy(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  r.require_rank(0, 2);           // C1
  r.require_rank(1, 2);           // C2
  r.require_same_dtype(1, 0);     // C2
  for (size_t d = 0; d < 2; ++d)
    r.same(r.tensor(1).dims[d], r.tensor(0).dims[d], 1, cat("axis ", d), 0);  // C2
  return r.tensor_of({}, r.tensor(0).dtype);
}

template <bool logits>
Expr expand_entropy(Builder& b, const NoAttrs&, const Site& c) {
  Term x = widened({b, c.args[0]});
  if (!logits) x = x.apply(kLog, {x});
  const Term terms = x * widened({b, c.args[1]});
  const Term sums = terms.apply(kSum, {terms}, {{"axis", int64_t{1}}});
  return narrowed(-sums.apply(kMean, {sums}), c.tensor(0).dtype);
}

template <bool logits>
void entropy_terms(const Attrs&, Args in, Results out) {
  double sum = 0;
  for (int64_t i = 0; i < in[0].size(); ++i) {
    const double x = in[0].get(i);
    sum += std::fabs((logits ? x : std::log(x)) * in[1].get(i));
  }
  out[0].set(0, sum / static_cast<double>(in[0].shape()[0]));
}

template <bool logits>
Spec<NoAttrs> entropy(std::string name, std::string doc) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .params = {{"x", "for each example, what is predicted for each class"},
                 {"y", "the same, as it should be"}},
      .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = entropy_terms<logits>},
      .relate = relate_entropy,
      .expand = expand_entropy<logits>};
}

}  // namespace

const OpDef kNllLoss = define<NllLossAttrs>({
    .name = "nn.nll_loss",
    .doc = "The negative log likelihood: what is predicted for the classes that are true.",
    .params = {{"predictions", "logarithms of probabilities"},
               {"targets", "the true classes"},
               {"weights", "of the classes"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = nll_terms},
    .relate = relate,
    .expand = expand,
});

const OpDef kCrossEntropy = define(
    entropy<false>("nn.cross_entropy", "How far predicted probabilities are from those that should be."));

const OpDef kCrossEntropyWithLogits =
    define(entropy<true>("nn.cross_entropy_with_logits",
                         "How far predicted logarithms are from the probabilities that should be."));

}  // namespace relay::op
