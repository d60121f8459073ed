// Reductions over axes, sums along one, and order.
#include <algorithm>
#include <numeric>

#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// The reduced axes, not negative and in order.
std::vector<int64_t> reduced_axes(Site& s) {
  const size_t rank = s.type(0).rank();
  std::vector<bool> named(rank, s.attrs().is_none("axis") && !s.attrs().flag("exclude"));
  if (!s.attrs().is_none("axis")) {
    for (int64_t a : s.attrs().ints("axis")) named[static_cast<size_t>(from_front(a, rank))] = true;
    if (s.attrs().flag("exclude")) named.flip();
  }
  std::vector<int64_t> axes;
  for (size_t a = 0; a < rank; ++a) {
    if (named[a]) axes.push_back(static_cast<int64_t>(a));
  }
  return axes;
}

std::string reduced(Site& s, const char* op, const std::string& x) {
  return s.node(op, {x, s.graph().ints(reduced_axes(s))},
                {{"keepdims", s.attrs().flag("keepdims")}, {"noop_with_empty_axes", 1}});
}

Names sum(Site& s) { return {reduced(s, "ReduceSum", s.arg(0))}; }
Names mean(Site& s) { return {reduced(s, "ReduceMean", s.arg(0))}; }
Names product(Site& s) { return {reduced(s, "ReduceProd", s.arg(0))}; }
Names maximum(Site& s) { return {reduced(s, "ReduceMax", s.arg(0))}; }
Names minimum(Site& s) { return {reduced(s, "ReduceMin", s.arg(0))}; }

// Of booleans, by their numbers.
Names all(Site& s) {
  return {s.cast(reduced(s, "ReduceMin", s.cast(s.arg(0), kBool, kInt32)), kInt32, kBool)};
}
Names any(Site& s) {
  return {s.cast(reduced(s, "ReduceMax", s.cast(s.arg(0), kBool, kInt32)), kInt32, kBool)};
}

Names extremum(Site& s, const char* op) {
  const std::vector<int64_t> axes = reduced_axes(s);
  const size_t rank = s.type(0).rank();
  const bool whole = axes.size() == rank;
  s.require(rank > 0 && (axes.size() == 1 || whole), "ONNX looks along one axis, or all of them");
  const std::string x = axes.size() == 1 ? s.arg(0) : s.node("Reshape", {s.arg(0), s.graph().ints({-1})});
  std::string place = s.node(op, {x},
                             {{"axis", axes.size() == 1 ? axes[0] : 0},
                              {"keepdims", axes.size() == 1 && s.attrs().flag("keepdims")},
                              {"select_last_index", s.attrs().flag("select_last_index")}});
  if (axes.size() != 1 && s.attrs().flag("keepdims"))
    place = s.node("Reshape", {place, s.graph().ints(std::vector<int64_t>(rank, 1))});
  return {s.cast(place, kInt64, s.result().dtype)};
}
Names argmax(Site& s) { return extremum(s, "ArgMax"); }
Names argmin(Site& s) { return extremum(s, "ArgMin"); }

Names cumsum(Site& s) {
  const bool flat = s.attrs().is_none("axis");
  const DType dtype = s.result().dtype;
  s.require(dtype.is_float() || dtype.bits >= 32, "ONNX adds no integers this small up");
  std::string x = s.cast(s.arg(0), s.type(0).dtype, dtype);
  if (flat) x = s.node("Reshape", {x, s.graph().ints({-1})});
  const int64_t axis = flat ? 0 : s.axis("axis", s.type(0).rank());
  const std::string along = s.graph().constant(Tensor::scalar_int(kInt64, axis), "axis");
  return {s.node("CumSum", {x, along}, {{"exclusive", s.attrs().flag("exclusive")}})};
}

// The first `count` of a line in order: values and their places.
Names top(Site& s, Dim count, bool ascending) {
  const int64_t axis = s.axis("axis", s.type(0).rank());
  const Dim counts[] = {count};
  return s.graph().nodes("TopK", {s.arg(0), s.extents().vector(counts)}, 2,
                         {{"axis", axis}, {"largest", !ascending}});
}

Dim line(Site& s) { return s.type(0).dims[static_cast<size_t>(s.axis("axis", s.type(0).rank()))]; }

Names sort(Site& s) { return {top(s, line(s), s.attrs().flag("is_ascend"))[0]}; }
Names argsort(Site& s) {
  return {s.cast(top(s, line(s), s.attrs().flag("is_ascend"))[1], kInt64, s.result().dtype)};
}

Names topk(Site& s) {
  const int64_t k = s.attrs().integer("k");
  const Names both = top(s, k < 1 ? line(s) : Dim(k), s.attrs().flag("is_ascend"));
  const std::string wanted = s.attrs().text("ret_type");
  if (wanted == "values") return {both[0]};
  const std::string places = s.cast(both[1], kInt64, s.result(wanted == "both" ? 1 : 0).dtype);
  return wanted == "both" ? Names{both[0], places} : Names{places};
}

constexpr Row kRows[] = {
    {"all", all},       {"any", any},     {"argmax", argmax}, {"argmin", argmin}, {"argsort", argsort},
    {"cumsum", cumsum}, {"max", maximum}, {"mean", mean},     {"min", minimum},   {"prod", product},
    {"sort", sort},     {"sum", sum},     {"topk", topk},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace relay::exporter
