// Reductions along axes.
#include <functional>

#include "base/cat.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// The axes to reduce; nothing if there are none and the node does nothing then.
struct Axes {
  std::optional<std::vector<int64_t>> list;  // none: all of them
  bool keep = true;
  bool nothing = false;

  std::vector<AttrArg> attrs() const {
    std::vector<AttrArg> out{{"keepdims", keep}};
    if (list) out.push_back({"axis", *list});
    return out;
  }
};

// They are an input from version `since` on, and an attribute before.
Axes axes_of(Node& n, int64_t since) {
  Axes out;
  out.keep = n.integer("keepdims", 1) != 0;
  std::vector<int64_t> list;
  if (n.opset() < since) {
    list = n.integers("axes");
  } else if (n.has(1)) {
    list = n.constant_ints(1, "axes");
  }
  const size_t rank = n.rank(0);
  for (int64_t& axis : list) axis = static_cast<int64_t>(n.axis(axis, rank));
  const bool noop = n.integer("noop_with_empty_axes", 0) != 0;
  out.nothing = list.empty() && n.opset() >= since && noop;
  if (!list.empty()) out.list = list;
  return out;
}

constexpr int64_t kSumSince = 13, kOthersSince = 18;

template <const OpDef& op, int64_t since>
Results reduce(Node& n) {
  const Axes axes = axes_of(n, since);
  if (axes.nothing) return {n.input(0)};
  // False is below true: from version 20 on, the extremes of booleans are asked for too.
  if (n.dtype(0).is_bool() && n.opset() >= 20)
    return {n.cast(n.call(op, {n.cast(n.input(0), kUInt8)}, axes.attrs()), kBool)};
  return {n.call(op, {n.input(0)}, axes.attrs())};
}

template <int64_t since>
Results reduce_l1(Node& n) {
  const Axes axes = axes_of(n, since);
  const Expr x = n.call(kAbs, {n.input(0)});
  return {axes.nothing ? x : n.call(kSum, {x}, axes.attrs())};
}

Expr sum_of_squares(Node& n, const Axes& axes) {
  const Expr x = n.input(0), square = n.call(kMultiply, {x, x});
  return axes.nothing ? square : n.call(kSum, {square}, axes.attrs());
}

Results reduce_sum_square(Node& n) { return {sum_of_squares(n, axes_of(n, kOthersSince))}; }

Results reduce_l2(Node& n) {
  const DType dtype = n.dtype(0);
  const Expr sum = sum_of_squares(n, axes_of(n, kOthersSince));
  if (dtype.is_float()) return {n.call(kSqrt, {sum})};
  return {n.cast(n.call(kSqrt, {n.cast(sum, kFloat64)}), dtype)};
}

Results reduce_log_sum(Node& n) {
  const Axes axes = axes_of(n, kOthersSince);
  const Expr sum = axes.nothing ? n.input(0) : n.call(kSum, {n.input(0)}, axes.attrs());
  return {n.call(kLog, {sum})};
}

// log(sum(exp(x))), without overflow: the largest element comes out first.
Results reduce_log_sum_exp(Node& n) {
  const Axes axes = axes_of(n, kOthersSince);
  const Expr x = n.input(0);
  if (axes.nothing) return {x};
  Axes kept = axes;
  kept.keep = true;
  const Expr high = n.call(kMax, {x}, kept.attrs());
  const Expr sum = n.call(kSum, {n.call(kExp, {n.call(kSubtract, {x, high})})}, axes.attrs());
  return {n.call(kAdd, {n.call(kLog, {sum}), n.reshape(high, dims_of(sum))})};
}

template <const OpDef& op>
Results position(Node& n) {
  const auto axis = static_cast<int64_t>(n.axis(n.integer("axis", 0), n.rank(0)));
  const Expr e = n.call(op, {n.input(0)},
                        {{"axis", std::vector<int64_t>{axis}},
                         {"keepdims", n.integer("keepdims", 1) != 0},
                         {"select_last_index", n.integer("select_last_index", 0) != 0}});
  return {n.cast(e, kInt64)};
}

template <const OpDef& op>
Results cumulative(Node& n) {
  const auto axis = static_cast<int64_t>(n.axis(n.constant_int(1, "axis"), n.rank(0)));
  const bool reverse = n.integer("reverse", 0) != 0;
  const auto turn = [&](Expr e) { return reverse ? n.call(kReverse, {e}, {{"axis", axis}}) : e; };
  return {
      turn(n.call(op, {turn(n.input(0))}, {{"axis", axis}, {"exclusive", n.integer("exclusive", 0) != 0}}))};
}

constexpr Row kRows[] = {
    {"ArgMax", 1, position<kArgmax>},
    {"ArgMin", 1, position<kArgmin>},
    {"CumProd", 26, cumulative<kCumprod>},
    {"CumSum", 11, cumulative<kCumsum>},
    {"ReduceL1", 1, reduce_l1<kOthersSince>},
    {"ReduceL2", 1, reduce_l2},
    {"ReduceLogSum", 1, reduce_log_sum},
    {"ReduceLogSumExp", 1, reduce_log_sum_exp},
    {"ReduceMax", 1, reduce<kMax, kOthersSince>},
    {"ReduceMean", 1, reduce<kMean, kOthersSince>},
    {"ReduceMin", 1, reduce<kMin, kOthersSince>},
    {"ReduceProd", 1, reduce<kProd, kOthersSince>},
    {"ReduceSum", 1, reduce<kSum, kSumSince>},
    {"ReduceSumSquare", 1, reduce_sum_square},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace relay::frontend
