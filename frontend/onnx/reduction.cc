// Reductions along axes.
#include <functional>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/computed_axes.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// The axes to reduce: all of them unless there is a list, or marks of those that a run tells.
struct Axes {
  std::optional<std::vector<int64_t>> list = {};
  Expr marks = nullptr;  // computed_axes.h
  bool keep = true;
  bool nothing = false;  // no axes are given, and the node does nothing then

  std::vector<AttrArg> attrs() const {
    std::vector<AttrArg> out{{"keepdims", keep}};
    if (list) out.push_back({"axis", *list});
    return out;
  }
};

// Axes that only a run tells. If it may tell none of them, then none or all are reduced.
void mark(Node& n, Axes& out, bool noop) {
  const size_t rank = n.rank(0);
  const Expr axes = axes_from_front(n, 1, "axes", rank);
  const TensorType& t = type_of(axes);
  n.require(t.rank() == 1, "its axes must be a list of integers");
  const Dim count = t.dims[0];
  n.require(!count.is_const() || count.value() <= static_cast<int64_t>(rank),
            "its axes are more than its input has");
  out.nothing = count == Dim(0) && noop;
  if (count == Dim(0)) return;
  if (!out.keep) computed(n, 1, "axes");  // their number is that of dimensions which go
  out.marks = marked_axes(n, axes, rank);
  if (count.is_const() || noop) return;
  const Expr none = n.call(kEqual, {n.call(kNdarraySize, {axes}, {{"dtype", kInt64}}), n.scalar(kInt64, 0)});
  out.marks = n.call(kMaximum, {out.marks, n.cast(none, kInt64)});
}

// They are an input from version `since` on, and an attribute before.
Axes axes_of(Node& n, int64_t since) {
  Axes out;
  out.keep = n.integer("keepdims", 1) != 0;
  const bool noop = n.integer("noop_with_empty_axes", 0) != 0;
  if (n.opset() >= since && n.has(1) && !n.known(1)) {
    mark(n, out, noop);
    return out;
  }
  std::vector<int64_t> list;
  if (n.opset() < since) {
    list = n.integers("axes");
  } else if (n.has(1)) {
    list = n.constant_ints(1, "axes");
  }
  const size_t rank = n.rank(0);
  for (int64_t& axis : list) axis = static_cast<int64_t>(n.axis(axis, rank));
  out.nothing = list.empty() && n.opset() >= since && noop;
  if (!list.empty()) out.list = list;
  return out;
}

constexpr int64_t kSumSince = 13, kOthersSince = 18;

// Reduces axes as the attributes say.
using Along = std::function<Expr(Expr x, const std::vector<AttrArg>& attrs)>;

Expr reduced(Node& n, const Axes& axes, Expr x, const Along& along) {
  if (axes.nothing) return x;
  if (!axes.marks) return along(x, axes.attrs());
  x = along_marked_axes(n, x, axes.marks, [&](Expr e, size_t axis) {
    return along(e, {{"keepdims", true}, {"axis", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
  });
  return axes.keep ? x : squeeze_computed(n, x);
}

Expr reduced(Node& n, const Axes& axes, Expr x, const OpDef& op) {
  return reduced(n, axes, x,
                 [&](Expr e, const std::vector<AttrArg>& attrs) { return n.call(op, {e}, attrs); });
}

template <const OpDef& op, int64_t since>
Results reduce(Node& n) {
  const Axes axes = axes_of(n, since);
  // False is below true: from version 20 on, the extremes of booleans are asked for too.
  if (!axes.nothing && n.dtype(0).is_bool() && n.opset() >= 20)
    return {n.cast(reduced(n, axes, n.cast(n.input(0), kUInt8), op), kBool)};
  return {reduced(n, axes, n.input(0), op)};
}

// The mean of means is that of all, but for integers: it is rounded once.
Results reduce_mean(Node& n) {
  const Axes axes = axes_of(n, kOthersSince);
  const Expr x = n.input(0);
  if (!axes.marks || n.dtype(0).is_float()) return {reduced(n, axes, x, kMean)};
  const Expr sum = reduced(n, axes, x, kSum);
  const Expr extents = n.call(kShapeOf, {x}, {{"dtype", kInt64}});
  const Expr is_kept = n.call(kEqual, {axes.marks, n.scalar(kInt64, 0)});
  const Expr count = n.call(kProd, {n.call(kWhere, {is_kept, n.scalar(kInt64, 1), extents})});
  return {n.call(kDivide, {sum, n.cast(count, n.dtype(0))})};
}

template <int64_t since>
Results reduce_l1(Node& n) {
  return {reduced(n, axes_of(n, since), n.call(kAbs, {n.input(0)}), kSum)};
}

Expr sum_of_squares(Node& n) {
  const Expr x = n.input(0);
  return reduced(n, axes_of(n, kOthersSince), n.call(kMultiply, {x, x}), kSum);
}

Results reduce_sum_square(Node& n) { return {sum_of_squares(n)}; }

Results reduce_l2(Node& n) {
  const DType dtype = n.dtype(0);
  const Expr sum = sum_of_squares(n);
  if (dtype.is_float()) return {n.call(kSqrt, {sum})};
  return {n.cast(n.call(kSqrt, {n.cast(sum, kFloat64)}), dtype)};
}

Results reduce_log_sum(Node& n) {
  return {n.call(kLog, {reduced(n, axes_of(n, kOthersSince), n.input(0), kSum)})};
}

// log(sum(exp(x))), without overflow: the largest element comes out first.
Results reduce_log_sum_exp(Node& n) {
  return {reduced(n, axes_of(n, kOthersSince), n.input(0), [&](Expr x, const std::vector<AttrArg>& attrs) {
    std::vector<AttrArg> kept = attrs;
    kept[0].value = true;
    const Expr high = n.call(kMax, {x}, kept);
    const Expr sum = n.call(kSum, {n.call(kExp, {n.call(kSubtract, {x, high})})}, attrs);
    return n.call(kAdd, {n.call(kLog, {sum}), n.reshape(high, dims_of(sum))});
  })};
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
  const bool reverse = n.integer("reverse", 0) != 0, exclusive = n.integer("exclusive", 0) != 0;
  return {along_input_axis(n, 1, every_axis(n.rank(0)), [&](size_t at) {
    const auto axis = static_cast<int64_t>(at);
    const auto turn = [&](Expr e) { return reverse ? n.call(kReverse, {e}, {{"axis", axis}}) : e; };
    return turn(n.call(op, {turn(n.input(0))}, {{"axis", axis}, {"exclusive", exclusive}}));
  })};
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
    {"ReduceMean", 1, reduce_mean},
    {"ReduceMin", 1, reduce<kMin, kOthersSince>},
    {"ReduceProd", 1, reduce<kProd, kOthersSince>},
    {"ReduceSum", 1, reduce<kSum, kSumSince>},
    {"ReduceSumSquare", 1, reduce_sum_square},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace relay::frontend
