// Activations of recurrent layers.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/recurrent.h"

namespace relay::frontend {
namespace {

using namespace op;

// What a function takes from `activation_alpha` and `activation_beta`, and what it
// has where they end.
struct Kind {
  int numbers;  // 0: none, 1: alpha, 2: alpha and beta
  std::string_view name;
  std::optional<double> alpha = {}, beta = {};
};

constexpr Kind kKinds[] = {
    {2, "affine", 1.0, 0.0},
    {1, "elu", 1.0},
    {2, "hardsigmoid", 0.2, 0.5},
    {1, "leakyrelu", 0.01},
    {0, "relu"},
    {2, "scaledtanh"},
    {0, "sigmoid"},
    {0, "softplus"},
    {0, "softsign"},
    {0, "tanh"},
    {1, "thresholdedrelu", 1.0},
};

std::vector<double> reals(Node& n, std::string_view name) {
  const ::onnx::AttributeProto* a = n.attribute(name);
  if (!a) return {};
  n.require(a->type() == ::onnx::AttributeProto::FLOATS,
            cat("its attribute `", name, "` must be a list of floats"));
  return {a->floats().begin(), a->floats().end()};
}

// The numbers of one attribute, which the functions that take any take in order.
class Numbers {
 public:
  Numbers(Node& n, std::string_view name) : n_(n), name_(name), values_(reals(n, name)) {}

  double next(const std::optional<double>& otherwise, std::string_view function) {
    if (at_ < values_.size()) return values_[at_++];
    if (!otherwise) n_.invalid(cat("its activation `", function, "` needs the attribute `", name_, "`"));
    return *otherwise;
  }

 private:
  Node& n_;
  std::string_view name_;
  std::vector<double> values_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Activation> read_activations(Node& n, const std::vector<std::string>& defaults,
                                         int64_t directions) {
  std::vector<std::string> names = n.texts("activations");
  const size_t count = defaults.size() * static_cast<size_t>(directions);
  if (names.empty()) {
    for (size_t i = 0; i < count; ++i) names.push_back(defaults[i % defaults.size()]);
  }
  n.require(names.size() == count, "its attribute `activations` has a wrong length");
  Numbers alphas(n, "activation_alpha"), betas(n, "activation_beta");
  std::vector<Activation> out;
  for (const std::string& name : names) {
    Activation a{name};
    std::transform(name.begin(), name.end(), a.name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const Kind* kind =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == a.name; });
    if (kind == std::end(kKinds))
      n.unsupported(cat("activation `", printable(name, 40), "` is not supported"),
                    "those that ONNX defines are, Sigmoid, Tanh and Relu among them");
    if (kind->numbers > 0) a.alpha = alphas.next(kind->alpha, kind->name);
    if (kind->numbers > 1) a.beta = betas.next(kind->beta, kind->name);
    out.push_back(std::move(a));
  }
  return out;
}

Expr activate(Node& n, const Activation& a, Expr x) {
  const DType dtype = type_of(x).dtype;
  const auto number = [&](double v) { return n.scalar(dtype, v); };
  const auto affine = [&] { return n.call(kAdd, {n.call(kMultiply, {x, number(a.alpha)}), number(a.beta)}); };
  const auto above = [&](double bound, Expr then_value, Expr else_value) {
    return n.call(kWhere, {n.call(kGreaterEqual, {x, number(bound)}), then_value, else_value});
  };
  const auto magnitude = [&] { return n.call(kAbs, {x}); };
  if (a.name == "sigmoid") return n.call(kSigmoid, {x});
  if (a.name == "tanh") return n.call(kTanh, {x});
  if (a.name == "relu") return n.call(kMaximum, {x, number(0)});
  if (a.name == "affine") return affine();
  if (a.name == "hardsigmoid") return n.call(kClip, {affine()}, {{"a_min", 0.0}, {"a_max", 1.0}});
  if (a.name == "leakyrelu") return above(0, x, n.call(kMultiply, {x, number(a.alpha)}));
  if (a.name == "thresholdedrelu") return above(a.alpha, x, number(0));
  if (a.name == "softsign") return n.call(kDivide, {x, n.call(kAdd, {magnitude(), number(1)})});
  if (a.name == "scaledtanh")
    return n.call(kMultiply, {n.call(kTanh, {n.call(kMultiply, {x, number(a.beta)})}), number(a.alpha)});
  if (a.name == "elu") {
    // exp() of what is not positive stays finite.
    const Expr low = n.call(kExp, {n.call(kMinimum, {x, number(0)})});
    return above(0, x, n.call(kMultiply, {n.call(kSubtract, {low, number(1)}), number(a.alpha)}));
  }
  CHECK(a.name == "softplus", "an activation that read_activations takes has a formula");
  const Expr small = n.call(kExp, {n.call(kNegative, {magnitude()})});
  return n.call(kAdd, {n.call(kMaximum, {x, number(0)}), n.call(kLog1p, {small})});
}

}  // namespace relay::frontend
