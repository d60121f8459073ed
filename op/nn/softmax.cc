// nn.softmax(x)[i] = exp(x[i] - m) / s
// nn.log_softmax(x)[i] = (x[i] - m) - log s
// nn.fast_softmax(x) = nn.softmax(x)
//
// where m = max x and s = sum exp(x - m), along `axis`.
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.   C2: axis is in [-rank, rank).
//
// A NaN, or the infinity as the maximum, makes NaN of everything along the axis.
#include "op/nn/softmax.h"

#include <cmath>

#include "op/domain.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const SoftmaxAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  r.axis(a.axis, x.rank());  // C2
  return &x;
}

// Calls f(line) with the numbers of the elements of every line along the axis.
template <class F>
void for_each_line(const Shape& shape, int64_t axis, const F& f) {
  const size_t place = from_front(axis, shape.size());
  int64_t step = 1;
  for (size_t d = place + 1; d < shape.size(); ++d) step *= shape[d];
  Shape starts = shape;
  starts[place] = 1;
  std::vector<int64_t> line(static_cast<size_t>(shape[place]));
  for_each_index(starts, [&](const std::vector<int64_t>& index) {
    for (size_t i = 0; i < line.size(); ++i)
      line[i] = offset_of(shape, index) + static_cast<int64_t>(i) * step;
    f(line);
  });
}

double largest(const Tensor& x, const std::vector<int64_t>& line) {
  double m = -INFINITY;
  for (const int64_t i : line) m = std::isnan(m) || std::isnan(x.get(i)) ? NAN : std::max(m, x.get(i));
  return m;
}

void evaluate_softmax(const SoftmaxAttrs& a, Args in, Results out, Sums sums) {
  const Tensor& x = in[0];
  for_each_line(x.shape(), a.axis, [&](const std::vector<int64_t>& line) {
    const double m = largest(x, line);
    with_zero(sums, x.dtype(), [&](auto s) {
      for (const int64_t i : line) s += static_cast<decltype(s)>(std::exp(x.get(i) - m));
      for (const int64_t i : line) out[0].set(i, std::exp(x.get(i) - m) / s);
    });
  });
}

// s is 1 for the maximum itself plus, mostly, very little: log1p of what the others give keeps
// all of its digits.
void evaluate_log_softmax(const SoftmaxAttrs& a, Args in, Results out, Sums sums) {
  const Tensor& x = in[0];
  for_each_line(x.shape(), a.axis, [&](const std::vector<int64_t>& line) {
    const double m = largest(x, line);
    with_zero(sums, x.dtype(), [&](auto others) {
      double equals = -1;
      for (const int64_t i : line) {
        if (x.get(i) == m) {
          equals += 1;
        } else {
          others += static_cast<decltype(others)>(std::exp(x.get(i) - m));
        }
      }
      for (const int64_t i : line) out[0].set(i, (x.get(i) - m) - std::log1p(equals + others));
    });
  });
}

bool along_last_axis(const SoftmaxAttrs& a, size_t rank) { return from_front(a.axis, rank) + 1 == rank; }

Term total(Term x, const SoftmaxAttrs& a) {
  return x.apply(kSum, {x}, {{"axis", a.axis}, {"keepdims", true}});
}

// dx = (dy - sum(dy * y)) * y
std::vector<Expr> differentiate_softmax(Builder& b, const SoftmaxAttrs& a, const Site& c) {
  const Term y(b, c.y), dy(b, c.dy);
  return {(dy - total(dy * y, a)) * y};
}

// dx = dy - exp(y) * sum(dy)
std::vector<Expr> differentiate_log_softmax(Builder& b, const SoftmaxAttrs& a, const Site& c) {
  const Term y(b, c.y), dy(b, c.dy);
  return {dy - y.apply(kExp, {y}) * total(dy, a)};
}

// What both lowerings need: the element at r along the axis of result i, and sums over the axis.
struct Lines {
  kernel::Builder& k;
  const kernel::Tensor& x;
  size_t axis;
  DType wide;
  std::vector<kernel::Expr> outer = {};  // the shape without the axis

  Lines(kernel::Builder& k, const SoftmaxAttrs& a, const Lowering& c)
      : k(k),
        x(c.in[0]),
        axis(from_front(a.axis, x.rank())),
        wide(x.dtype().bits < 32 ? kFloat32 : x.dtype()) {
    outer = x.shape();
    outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  std::vector<kernel::Expr> without_axis(kernel::Indices i) const {
    std::vector<kernel::Expr> out(i.begin(), i.end());
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    return out;
  }
  kernel::Expr element(kernel::Indices o, kernel::Expr r) const {
    std::vector<kernel::Expr> at(o.begin(), o.end());
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), r);
    return x.at(at);
  }
  template <class F>
  kernel::Tensor reduce(std::string_view name, DType d, const kernel::Reducer& how, const F& f) const {
    return k.reduce(name, d, outer, {x.dim(axis)}, how,
                    [&](kernel::Indices o, kernel::Indices r) { return f(o, element(o, r[0])); });
  }
  // Where an element is NaN, so is the sum of the exponentials, whatever was subtracted.
  kernel::Tensor maximum() const {
    return reduce("softmax_max", x.dtype(), k.maximum_of_numbers(x.dtype()),
                  [](kernel::Indices, kernel::Expr e) { return e; });
  }
  kernel::Expr below(const kernel::Tensor& m, kernel::Indices o, kernel::Expr e) const {
    return cast(wide, e) - cast(wide, m.at(o));
  }
};

std::vector<kernel::Tensor> lower_softmax(kernel::Builder& k, const SoftmaxAttrs& a, const Lowering& c) {
  const Lines lines(k, a, c);
  const kernel::Tensor m = lines.maximum();
  const kernel::Tensor e = k.compute("softmax_exp", lines.wide, c.shape(), [&](kernel::Indices i) {
    return exp(lines.below(m, lines.without_axis(i), lines.x.at(i)));
  });
  const kernel::Tensor s = k.reduce("softmax_sum", lines.wide, lines.outer, {lines.x.dim(lines.axis)},
                                    k.sum(lines.wide), [&](kernel::Indices o, kernel::Indices r) {
                                      std::vector<kernel::Expr> at(o.begin(), o.end());
                                      at.insert(at.begin() + static_cast<std::ptrdiff_t>(lines.axis), r[0]);
                                      return e.at(at);
                                    });
  // One division a line: its rounding is within the tolerance, and division is many times
  // slower than a product.
  const kernel::Tensor scale = k.compute("softmax_scale", lines.wide, lines.outer, [&](kernel::Indices o) {
    return k.constant(lines.wide, 1) / s.at(o);
  });
  return {k.compute("softmax", c.dtype(), c.shape(), [&](kernel::Indices i) {
    return cast(c.dtype(), e.at(i) * scale.at(lines.without_axis(i)));
  })};
}

std::vector<kernel::Tensor> lower_log_softmax(kernel::Builder& k, const SoftmaxAttrs& a, const Lowering& c) {
  const Lines lines(k, a, c);
  const DType wide = lines.wide;
  const kernel::Expr one = k.constant(wide, 1), none = k.constant(wide, 0);
  const kernel::Tensor m = lines.maximum();
  const kernel::Tensor equals =
      lines.reduce("softmax_equals", wide, k.sum(wide),
                   [&](kernel::Indices o, kernel::Expr e) { return select(equal(e, m.at(o)), one, none); });
  const kernel::Tensor others =
      lines.reduce("softmax_others", wide, k.sum(wide), [&](kernel::Indices o, kernel::Expr e) {
        return select(equal(e, m.at(o)), none, exp(lines.below(m, o, e)));
      });
  const kernel::Tensor log_s = k.compute("softmax_log", wide, lines.outer, [&](kernel::Indices o) {
    return math(kernel::Math::kLog1p, (equals.at(o) - one) + others.at(o));
  });
  return {k.compute("log_softmax", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> o = lines.without_axis(i);
    return cast(c.dtype(), lines.below(m, o, lines.x.at(i)) - log_s.at(o));
  })};
}

// Besides the sum and the product with its reciprocal, x - m is rounded, and its relative error is
// multiplied by x - m in the exponential: by up to 104 in float32 (64 of these terms' worth), 745
// in float64, before the result is zero.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const auto& x = *args[0]->as<TensorType>();
  const Dim n = x.dims[from_front(read_attrs<SoftmaxAttrs>(attrs).axis, x.rank())];
  return (n.is_const() ? n.value() : 1) + (x.dtype == kFloat64 ? 400 : 64);
}

// Its exponential is as fast as any that other systems take for it.
Expr expand_fast(Builder& b, const SoftmaxAttrs& a, const Site& c) {
  return call(b, kSoftmax, {c.args[0]}, {{"axis", a.axis}});
}

const Tolerance kTolerance = {
    .kind = Tolerance::Kind::kReduction, .length = length, .magnitude = Tolerance::Magnitude::kResult};

}  // namespace

const OpDef kSoftmax = define<SoftmaxAttrs>({
    .name = "nn.softmax",
    .doc = "Normalise to a probability distribution along one axis.",
    .params = {{"data", "logits"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = kTolerance,
    .relate = relate,
    .evaluate = evaluate_softmax,
    .by_rows = along_last_axis,
    .differentiate = differentiate_softmax,
    .lower = lower_softmax,
});

const OpDef kFastSoftmax = define<SoftmaxAttrs>({
    .name = "nn.fast_softmax",
    .doc = "The same as nn.softmax.",
    .params = {{"data", "logits"}},
    .tolerance = kTolerance,
    .relate = relate,
    .expand = expand_fast,
});

const OpDef kLogSoftmax = define<SoftmaxAttrs>({
    .name = "nn.log_softmax",
    .doc = "The logarithm of nn.softmax, without the loss of digits.",
    .params = {{"data", "logits"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = kTolerance,
    .relate = relate,
    .evaluate = evaluate_log_softmax,
    .by_rows = along_last_axis,
    .differentiate = differentiate_log_softmax,
    .lower = lower_log_softmax,
});

}  // namespace relay::op
