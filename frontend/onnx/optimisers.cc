// One step of training: ai.onnx.preview.training.
//
// Each operator takes the learning rate, the number of steps so far, and then for several tensors
// at once: all tensors, all gradients, and all of each kind of state. The results are in that
// order too, without the gradients.
#include "base/cat.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Arithmetic in the dtype of the tensor that is optimised.
struct Maths {
  Node& n;
  DType dtype;

  Expr number(double v) const { return n.scalar(dtype, v); }
  Expr add(Expr a, Expr b) const { return n.call(kAdd, {a, b}); }
  Expr subtract(Expr a, Expr b) const { return n.call(kSubtract, {a, b}); }
  Expr multiply(Expr a, Expr b) const { return n.call(kMultiply, {a, b}); }
  Expr scale(double by, Expr e) const { return multiply(number(by), e); }
  Expr divide(Expr a, Expr b) const { return n.call(kDivide, {a, b}); }
  Expr root(Expr e) const { return n.call(kSqrt, {e}); }
  Expr power(double base, Expr e) const { return n.call(kPower, {number(base), e}); }
  Expr square(Expr e) const { return multiply(e, e); }
  // An input of one number.
  Expr scalar(size_t i) const {
    const std::vector<Dim> dims = dims_of(n.input(i));
    n.require(dims.empty() || (dims.size() == 1 && dims[0] == Dim(1)),
              cat("its input ", i, " must be one number"));
    return n.cast(n.reshape(n.input(i), {}), dtype);
  }
  Expr rate() const { return scalar(0); }
  Expr steps() const { return scalar(1); }
  // `first` at the first step, which is number 0, and `later` after it.
  Expr by_step(Expr first, Expr later) const {
    return n.call(kWhere, {n.call(kGreater, {steps(), number(0)}), later, first});
  }
  // The gradient of the loss and of norm_coefficient / 2 * |x|^2.
  Expr regularised(Expr x, Expr gradient) const {
    return add(scale(n.real("norm_coefficient", 0), x), gradient);
  }
};

// A tensor, its gradient and its states become a tensor and its states.
using Step = std::vector<Expr> (*)(const Maths& m, const std::vector<Expr>& in);

template <size_t states, Step step>
Results optimise(Node& n) {
  constexpr size_t kKinds = states + 2;
  n.require(n.inputs() > 2 && (n.inputs() - 2) % kKinds == 0,
            cat("it needs ", kKinds, " inputs for each tensor, after the rate and the number of steps"));
  const size_t tensors = (n.inputs() - 2) / kKinds;
  n.require(n.outputs() <= tensors * (states + 1), "it has too many outputs");
  Results out(tensors * (states + 1));
  for (size_t t = 0; t < tensors; ++t) {
    std::vector<Expr> in;
    for (size_t kind = 0; kind < kKinds; ++kind) in.push_back(n.input(2 + kind * tensors + t));
    const DType dtype = type_of(in[0]).dtype;
    n.require(dtype.is_float(), "its tensors must be of floats");
    const std::vector<Expr> made = step(Maths{n, dtype}, in);
    for (size_t kind = 0; kind < made.size(); ++kind) out[kind * tensors + t] = made[kind];
  }
  return out;
}

std::vector<Expr> adagrad(const Maths& m, const std::vector<Expr>& in) {
  const Expr decay = m.add(m.number(1), m.multiply(m.steps(), m.number(m.n.real("decay_factor", 0))));
  const Expr gradient = m.regularised(in[0], in[1]);
  const Expr squares = m.add(in[2], m.square(gradient));
  const Expr size = m.add(m.root(squares), m.number(m.n.real("epsilon", 1e-6f)));
  const Expr change = m.divide(m.multiply(m.divide(m.rate(), decay), gradient), size);
  return {m.subtract(in[0], change), squares};
}

std::vector<Expr> adam(const Maths& m, const std::vector<Expr>& in) {
  const double alpha = m.n.real("alpha", 0.9f), beta = m.n.real("beta", 0.999f);
  const Expr gradient = m.regularised(in[0], in[1]);
  const Expr mean = m.add(m.scale(alpha, in[2]), m.scale(1 - alpha, gradient));
  const Expr squares = m.add(m.scale(beta, in[3]), m.scale(1 - beta, m.square(gradient)));
  const Expr size = m.add(m.root(squares), m.number(m.n.real("epsilon", 1e-6f)));
  const auto missing = [&](double base) { return m.subtract(m.number(1), m.power(base, m.steps())); };
  const Expr corrected = m.divide(m.multiply(m.rate(), m.root(missing(beta))), missing(alpha));
  const Expr change = m.multiply(m.by_step(m.rate(), corrected), m.divide(mean, size));
  const Expr kept = m.number(1 - m.n.real("norm_coefficient_post", 0));
  return {m.multiply(kept, m.subtract(in[0], change)), mean, squares};
}

std::vector<Expr> momentum(const Maths& m, const std::vector<Expr>& in) {
  const std::string mode = m.n.text("mode", "");
  m.n.require(mode == "standard" || mode == "nesterov", "its attribute `mode` must be standard or nesterov");
  for (const char* name : {"alpha", "beta", "norm_coefficient"})
    m.n.require(m.n.attribute(name), cat("its attribute `", name, "` is missing"));
  const double alpha = m.n.real("alpha", 0), beta = m.n.real("beta", 0);
  const Expr gradient = m.regularised(in[0], in[1]);
  const Expr share = m.by_step(m.number(1), m.number(beta));
  const Expr moving = m.add(m.scale(alpha, in[2]), m.multiply(share, gradient));
  const Expr change = mode == "standard" ? moving : m.add(gradient, m.scale(alpha, moving));
  return {m.subtract(in[0], m.multiply(m.rate(), change)), moving};
}

constexpr Row kRows[] = {
    {"ai.onnx.preview.training.Adagrad", 1, optimise<1, adagrad>},
    {"ai.onnx.preview.training.Adam", 1, optimise<2, adam>},
    {"ai.onnx.preview.training.Momentum", 1, optimise<1, momentum>},
};

}  // namespace

std::span<const Row> optimiser_rows() { return kRows; }

}  // namespace relay::frontend
