// Activation functions. Those that are no operators are written out in others.
#include <cmath>
#include <functional>
#include <limits>

#include "base/cat.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

// Arithmetic on one input; numbers take its dtype.
struct Formula {
  Node& n;
  Expr x;
  DType dtype;
  explicit Formula(Node& node) : n(node), x(node.input(0)), dtype(type_of(x).dtype) {}

  Expr number(double v) const { return n.scalar(dtype, v); }
  Expr add(Expr a, Expr b) const { return n.call(kAdd, {a, b}); }
  Expr multiply(Expr a, Expr b) const { return n.call(kMultiply, {a, b}); }
  Expr exp(Expr a) const { return n.call(kExp, {a}); }
  // The part of x that is not positive, so that exp() of it stays finite.
  Expr negative_part() const { return n.call(kMinimum, {x, number(0)}); }
  Expr below(double bound, Expr then_value, Expr else_value) const {
    return n.call(kWhere, {n.call(kLess, {x, number(bound)}), then_value, else_value});
  }
  // log(1 + exp(x)), without overflow
  Expr softplus() const {
    const Expr small = exp(n.call(kNegative, {n.call(kAbs, {x})}));
    return add(n.call(kMaximum, {x, number(0)}), n.call(kLog1p, {small}));
  }
  // max(0, min(1, alpha * x + beta))
  Expr hard_sigmoid(double alpha, double beta) const {
    return n.call(kClip, {add(multiply(x, number(alpha)), number(beta))}, {{"a_min", 0.0}, {"a_max", 1.0}});
  }
};

template <const OpDef& op>
Results simple(Node& n) {
  return {n.call(op, {n.input(0)})};
}

Results leaky_relu(Node& n) { return {n.call(kLeakyRelu, {n.input(0)}, {{"alpha", n.real("alpha", 0.01)}})}; }

Results prelu(Node& n) {
  const Formula f(n);
  return {f.below(0, f.multiply(f.x, n.input(1)), f.x)};
}

Results elu(Node& n) {
  const Formula f(n);
  const Expr e = f.add(f.exp(f.negative_part()), f.number(-1));
  return {f.below(0, f.multiply(f.number(n.real("alpha", 1)), e), f.x)};
}

Results selu(Node& n) {
  const Formula f(n);
  const bool old = n.opset() < 6;  // with fewer digits
  const double alpha = n.real("alpha", old ? 1.6732f : 1.67326319217681884765625),
               gamma = n.real("gamma", old ? 1.0507f : 1.05070102214813232421875);
  const Expr e = f.multiply(f.number(alpha), f.add(f.exp(f.negative_part()), f.number(-1)));
  return {f.multiply(f.number(gamma), f.below(0, e, f.x))};
}

Results celu(Node& n) {
  const Formula f(n);
  const double alpha = n.real("alpha", 1);
  const Expr e = f.exp(n.call(kDivide, {f.negative_part(), f.number(alpha)}));
  return {f.below(0, f.multiply(f.number(alpha), f.add(e, f.number(-1))), f.x)};
}

Results thresholded_relu(Node& n) {
  const Formula f(n);
  const Expr above = n.call(kGreater, {f.x, f.number(n.real("alpha", 1))});
  return {n.call(kWhere, {above, f.x, f.number(0)})};
}

Results shrink(Node& n) {
  const Formula f(n);
  const double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5);
  const Expr high =
      n.call(kWhere, {n.call(kGreater, {f.x, f.number(lambda)}), f.add(f.x, f.number(-bias)), f.number(0)});
  return {f.below(-lambda, f.add(f.x, f.number(bias)), high)};
}

Results hard_sigmoid(Node& n) {
  return {Formula(n).hard_sigmoid(n.real("alpha", 0.2f), n.real("beta", 0.5))};
}

Results hard_swish(Node& n) {
  const Formula f(n);
  return {f.multiply(f.x, f.hard_sigmoid(1.0f / 6.0f, 0.5))};
}

// a * sigmoid(alpha * a)
Expr swish_of(Node& n, Expr a) {
  const double alpha = n.real("alpha", 1);
  const Expr inner = alpha == 1 ? a : n.call(kMultiply, {a, n.scalar(type_of(a).dtype, alpha)});
  return n.call(kMultiply, {a, n.call(kSigmoid, {inner})});
}

Results swish(Node& n) { return {swish_of(n, n.input(0))}; }

Results swiglu(Node& n) {
  const std::vector<Dim> a = dims_of(n.input(0)), b = dims_of(n.input(1));
  bool same = a.size() == b.size();
  for (size_t i = 0; i < a.size() && same; ++i) same = prove_equal(a[i], b[i]) != kernel::Proof::kRefuted;
  n.require(same, "its inputs must have one shape");
  return {n.call(kMultiply, {swish_of(n, n.input(0)), n.input(1)})};
}

Results softplus(Node& n) { return {Formula(n).softplus()}; }

Results softsign(Node& n) {
  const Formula f(n);
  return {n.call(kDivide, {f.x, f.add(n.call(kAbs, {f.x}), f.number(1))})};
}

Results mish(Node& n) {
  const Formula f(n);
  return {f.multiply(f.x, n.call(kTanh, {f.softplus()}))};
}

Results gelu(Node& n) {
  const Formula f(n);
  const std::string form = n.text("approximate", "none");
  if (form != "none" && form != "tanh") n.invalid("its attribute `approximate` is neither none nor tanh");
  Expr inner;
  if (form == "none") {
    inner = n.call(kErf, {f.multiply(f.x, f.number(std::sqrt(0.5)))});
  } else {
    const Expr cube = f.multiply(f.multiply(f.x, f.x), f.x);
    const double scale = std::sqrt(2 / std::acos(-1.0));
    inner = n.call(kTanh, {f.multiply(f.add(f.x, f.multiply(cube, f.number(0.044715))), f.number(scale))});
  }
  return {f.multiply(f.multiply(f.x, f.number(0.5)), f.add(inner, f.number(1)))};
}

// Before version 13 the input is seen as a matrix, and a row is normalised as a whole. `of_rows`
// normalises along the last axis.
Results as_rows(Node& n, const std::function<Expr(Expr)>& of_rows) {
  const Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  const size_t axis = n.axis(n.integer("axis", 1), dims.size());
  if (axis + 1 == dims.size()) return {of_rows(x)};
  Dim rows = 1, columns = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * dims[i];
  return {n.reshape(of_rows(n.reshape(x, {rows, columns})), dims)};
}

template <const OpDef& op>
Results normalise_rows(Node& n) {
  return as_rows(n, [&](Expr e) { return n.call(op, {e}, {{"axis", int64_t{-1}}}); });
}

template <const OpDef& op>
Results normalise_axis(Node& n) {
  return {n.call(op, {n.input(0)}, {{"axis", n.integer("axis", -1)}})};
}

// One where the largest element along the axis is, the first of several.
Expr largest(Node& n, Expr x, size_t axis) {
  const TensorType& t = type_of(x);
  if (t.dims[axis] == Dim(0)) return x;  // there is no element
  const auto a = static_cast<int64_t>(axis);
  const Expr where = n.call(kArgmax, {x}, {{"axis", std::vector<int64_t>{a}}});
  if (!t.dims[axis].is_const()) {
    const Expr extents = n.call(kShapeOf, {x}, {{"dtype", kInt64}});
    const Expr depth = n.reshape(n.slice(extents, 0, a, a + 1), {});
    const Expr e = n.call(kDynOneHot, {where, n.scalar(t.dtype, 1), n.scalar(t.dtype, 0), depth},
                          {{"axis", a}, {"dtype", t.dtype}});
    return n.importer().match_extents(e, dims_of(x), n.proto().output(0));
  }
  return n.call(kOneHot, {where, n.scalar(t.dtype, 1), n.scalar(t.dtype, 0)},
                {{"depth", t.dims[axis].value()}, {"axis", a}, {"dtype", t.dtype}});
}

Results hardmax_of_rows(Node& n) {
  return as_rows(n, [&](Expr e) { return largest(n, e, type_of(e).rank() - 1); });
}

Results hardmax(Node& n) { return {largest(n, n.input(0), n.axis(n.integer("axis", -1), n.rank(0)))}; }

constexpr Row kRows[] = {
    {"Celu", 12, celu},
    {"Elu", 1, elu},
    {"Gelu", 20, gelu},
    {"HardSigmoid", 1, hard_sigmoid},
    {"HardSwish", 14, hard_swish},
    {"Hardmax", 1, hardmax_of_rows},
    {"Hardmax", 13, hardmax},
    {"LeakyRelu", 1, leaky_relu},
    {"LogSoftmax", 1, normalise_rows<kLogSoftmax>},
    {"LogSoftmax", 13, normalise_axis<kLogSoftmax>},
    {"Mish", 18, mish},
    {"PRelu", 7, prelu},
    {"Relu", 1, simple<kRelu>},
    {"Selu", 1, selu},
    {"Shrink", 9, shrink},
    {"Sigmoid", 1, simple<kSigmoid>},
    {"Softmax", 1, normalise_rows<kSoftmax>},
    {"Softmax", 13, normalise_axis<kSoftmax>},
    {"Softplus", 1, softplus},
    {"Softsign", 1, softsign},
    {"SwiGLU", 28, swiglu},
    {"Swish", 24, swish},
    {"Tanh", 1, simple<kTanh>},
    {"ThresholdedRelu", 10, thresholded_relu},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace relay::frontend
