// com.microsoft: activations, by themselves and fused with a bias.
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/activate.h"
#include "frontend/onnx/contributed.h"
#include "op/term.h"

namespace relay::frontend {

using namespace op;

Expr gelu(Node& n, Expr e) {
  const Term x{n.builder(), e};
  return 0.5 * x * (x.apply(kErf, {x * x.number(std::sqrt(0.5))}) + 1.0);
}

Expr gelu_by_tanh(Node& n, Expr e) {
  const Term x{n.builder(), e};
  const Term inner = x * (0.035677408136300125 * x * x + 0.7978845608028654);
  return x * (0.5 * x.apply(kTanh, {inner}) + 0.5);
}

Expr quick_gelu(Node& n, Expr e, double alpha) {
  const Term x{n.builder(), e};
  return x * x.apply(kSigmoid, {alpha * x});
}

Expr activated(Node& n, Expr e, const std::string& name, const std::vector<double>& parameters) {
  const auto parameter = [&](size_t i, double otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  const Term x{n.builder(), e};
  if (name.empty()) return e;
  if (name == "Relu") return n.call(kRelu, {e});
  if (name == "Tanh") return n.call(kTanh, {e});
  if (name == "Sigmoid") return n.call(kSigmoid, {e});
  if (name == "LeakyRelu") return n.call(kLeakyRelu, {e}, {{"alpha", parameter(0, 0.01F)}});
  if (name == "HardSigmoid") {
    const Term line = parameter(0, 0.2F) * x + parameter(1, 0.5);
    return n.call(kClip, {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
  }
  if (name == "Clip" && parameters.size() == 2)
    return n.call(kClip, {e}, {{"a_min", parameters[0]}, {"a_max", parameters[1]}});
  n.unsupported(cat("activation `", name.substr(0, 40), "` is not supported"),
                "Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid and Clip are");
}

namespace {

Expr with_bias(Node& n) { return n.has(1) ? n.call(kAdd, {n.input(0), n.input(1)}) : n.input(0); }

Results plain_gelu(Node& n) { return {gelu(n, n.input(0))}; }
Results bias_gelu(Node& n) { return {gelu(n, n.call(kAdd, {n.input(0), n.input(1)}))}; }
Results fast_gelu(Node& n) { return {gelu_by_tanh(n, with_bias(n))}; }
Results alpha_gelu(Node& n) { return {quick_gelu(n, n.input(0), n.real("alpha", 1.702F))}; }

// (batch, steps, channels) + bias + skip
Results bias_add(Node& n) { return {n.call(kAdd, {n.call(kAdd, {n.input(0), n.input(1)}), n.input(2)})}; }

// The first half of the channels times gelu of the second one.
Results bias_split_gelu(Node& n) {
  const Expr x = n.call(kAdd, {n.input(0), n.input(1)});
  const size_t rank = type_of(x).rank();
  n.require(rank > 0, "its input must have at least one dimension");
  const Dim channels = type_of(x).dims[rank - 1];
  if (!channels.is_const())
    n.unsupported("the number of its channels must be known", "fix the dynamic axis with --input-shapes");
  n.require(channels.value() % 2 == 0, "its channels have no halves");
  const int64_t half = channels.value() / 2;
  const Expr first = n.slice(x, rank - 1, 0, half), second = n.slice(x, rank - 1, half, 2 * half);
  return {n.call(kMultiply, {first, gelu(n, second)})};
}

Results bias_softmax(Node& n) {
  const Expr x = n.input(0);
  const size_t rank = type_of(x).rank(), axis = n.axis(n.integer("axis", 1), rank);
  if (axis + 1 != rank) n.unsupported("a softmax over several axes is not supported");
  if (n.rank(1) != rank && n.integer("is_inner_broadcast") != 0)
    n.unsupported("is_inner_broadcast=1 of a bias of another rank is not supported");
  return {n.call(kSoftmax, {n.call(kAdd, {x, n.input(1)})}, {{"axis", int64_t{-1}}})};
}

constexpr Row kRows[] = {
    {"com.microsoft.BiasAdd", 1, bias_add},
    {"com.microsoft.BiasGelu", 1, bias_gelu},
    {"com.microsoft.BiasSoftmax", 1, bias_softmax, "an axis before the last one"},
    {"com.microsoft.BiasSplitGelu", 1, bias_split_gelu},
    {"com.microsoft.FastGelu", 1, fast_gelu},
    {"com.microsoft.Gelu", 1, plain_gelu},
    {"com.microsoft.QuickGelu", 1, alpha_gelu},
};

}  // namespace

std::span<const Row> ms_activation_rows() { return kRows; }

}  // namespace relay::frontend
