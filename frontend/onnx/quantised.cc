// Operators of ONNX Runtime on integers with scales and zero points: the operator of real numbers,
// between what the integers stand for and integers again.
#include <numeric>

#include "frontend/onnx/pooling.h"
#include "frontend/onnx/quantised.h"

namespace relay::frontend {
namespace {

using namespace op;

// Operands at 0 and 3, each with a scale and a zero point behind it; those of the result at 6.
template <const OpDef& op>
Results binary(Node& n) {
  const Expr a = dequantised(n, n.input(0), 1), b = dequantised(n, n.input(3), 4);
  return {quantised(n, n.call(op, {a, b}), 6, n.dtype(0))};
}

// The data at 0, with a scale and a zero point behind; those of the result at 3.
template <class F>
Results unary(Node& n, const F& f) {
  return {quantised(n, f(dequantised(n, n.input(0), 1)), 3, n.dtype(0))};
}

Results sigmoid(Node& n) {
  return unary(n, [&](Expr x) { return n.call(kSigmoid, {x}); });
}

Results leaky_relu(Node& n) {
  const double alpha = n.real("alpha", 0.01F);
  return unary(n, [&](Expr x) { return n.call(kLeakyRelu, {x}, {{"alpha", alpha}}); });
}

// Before version 13 of ONNX's set, which the node names, all axes from `axis` on are one.
Results softmax(Node& n) {
  const bool rows = n.integer("opset") < 13;
  const size_t rank = n.rank(0), axis = n.axis(n.integer("axis", -1), rank);
  if (rows && axis + 1 != rank) n.unsupported("a softmax over several axes is not supported");
  return unary(n, [&](Expr x) { return n.call(kSoftmax, {x}, {{"axis", static_cast<int64_t>(axis)}}); });
}

Results average_pool(Node& n) {
  return unary(n, [&](Expr x) {
    if (n.integer("channels_last", 0) != 0) n.unsupported("channels_last=1 is not supported");
    return average_of_windows(n, x);
  });
}

Results global_average_pool(Node& n) {
  return unary(n, [&](Expr x) {
    const size_t rank = type_of(x).rank();
    n.require(rank >= 3, "its input needs batch, channels and at least one more axis");
    std::vector<int64_t> axes(rank - 2);
    std::iota(axes.begin(), axes.end(), n.integer("channels_last", 0) != 0 ? 1 : 2);
    return n.call(kMean, {x}, {{"axis", axes}, {"keepdims", true}});
  });
}

// The scale and the zero point of the result come first, then tensors with theirs.
Results concatenate(Node& n) {
  n.require(n.inputs() >= 5 && (n.inputs() - 2) % 3 == 0,
            "its inputs are not tensors with scale and zero point");
  std::vector<Expr> parts;
  for (size_t i = 2; i < n.inputs(); i += 3) parts.push_back(dequantised(n, n.input(i), i + 1));
  const size_t axis = n.axis(n.integer("axis"), n.rank(2));
  const Expr joined = n.concatenate(parts, static_cast<int64_t>(axis));
  return {quantised(n, joined, 0, n.dtype(1))};
}

Results where(Node& n) {
  const Expr x = dequantised(n, n.input(1), 2), y = dequantised(n, n.input(4), 5);
  return {quantised(n, n.call(kWhere, {n.input(0), x, y}), 7, n.dtype(1))};
}

constexpr Row kRows[] = {
    {"com.microsoft.QLinearAdd", 1, binary<kAdd>},
    {"com.microsoft.QLinearAveragePool", 1, average_pool},
    {"com.microsoft.QLinearConcat", 1, concatenate},
    {"com.microsoft.QLinearGlobalAveragePool", 1, global_average_pool},
    {"com.microsoft.QLinearLeakyRelu", 1, leaky_relu},
    {"com.microsoft.QLinearMul", 1, binary<kMultiply>},
    {"com.microsoft.QLinearSigmoid", 1, sigmoid},
    {"com.microsoft.QLinearSoftmax", 1, softmax},
    {"com.microsoft.QLinearWhere", 1, where},
};

}  // namespace

std::span<const Row> quantised_rows() { return kRows; }

}  // namespace relay::frontend
