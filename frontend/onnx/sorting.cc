// Elements in order, elements that are alike, and those of which something holds.
#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/unique_slices.h"

namespace relay::frontend {
namespace {

using namespace op;

// The first `count` of the axis in order. Equal elements keep their order, as ONNX wants it.
Results first_in_order(Node& n, int64_t count, bool largest) {
  // That they come in order is no mistake where the model does not ask for it.
  n.without_effect({"sorted"});
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  const size_t axis = n.axis(n.integer("axis", -1), t.rank());
  n.require(count >= 0, "its number of elements is negative");
  const Dim extent = t.dims[axis];
  if (extent.is_const() && count > extent.value())
    n.invalid(cat("it takes ", count, " elements along axis ", axis, ", which has ", extent.value()));
  if (count == 0) {
    const Expr none = n.slice(x, axis, 0, 0);
    return {none, n.cast(none, kInt64)};
  }
  const Expr both = n.call(
      kTopk, {x},
      {{"k", count}, {"axis", static_cast<int64_t>(axis)}, {"is_ascend", !largest}, {"dtype", kInt64}});
  return {n.proj(both, 0), n.proj(both, 1)};
}

Results top_attribute(Node& n) { return first_in_order(n, n.integer("k"), true); }
// As many as only a run tells: all in order, of which the first are taken. A run compares how many
// there are.
Results first_as_named(Node& n, Dim count, bool largest) {
  n.without_effect({"sorted"});
  const Expr x = n.input(0);
  const size_t axis = n.axis(n.integer("axis", -1), type_of(x).rank());
  const auto place = static_cast<int64_t>(axis);
  const Expr both =
      n.call(kTopk, {x}, {{"k", int64_t{0}}, {"axis", place}, {"is_ascend", !largest}, {"dtype", kInt64}});
  std::vector<Dim> wanted = dims_of(x);
  wanted[axis] = count;
  Results out;
  for (uint32_t i = 0; i < 2; ++i) {
    const Expr first = n.call(kStridedSlice, {n.proj(both, i)},
                              {{"begin", std::vector<Dim>{Dim(0)}},
                               {"end", std::vector<Dim>{count}},
                               {"axes", std::vector<int64_t>{place}}});
    out.push_back(n.importer().match_extents(first, wanted, cat(n.proto().output(0), "_", i)));
  }
  return out;
}

Results top(Node& n) {
  const bool largest = n.integer("largest", 1) != 0;
  if (n.known(1)) return first_in_order(n, n.constant_int(1, "number of elements"), largest);
  return first_as_named(n, extents_at(n, 1, "number of elements", 1)[0], largest);
}

Results unique(Node& n) {
  Expr x = n.input(0);
  if (n.attribute("axis")) {
    const size_t axis = n.axis(n.integer("axis"), type_of(x).rank());
    if (type_of(x).rank() != 1) return unique_slices(n, axis, n.integer("sorted", 1) != 0);
  }
  if (type_of(x).rank() != 1) x = n.call(kReshape, {x}, {{"newshape", std::vector<int64_t>{-1}}});
  const Expr all = n.call(kUnique, {x}, {{"sorted", n.integer("sorted", 1) != 0}, {"return_counts", true}});
  // The operator pads its results; how many are no padding is known when the model runs.
  const Expr number = n.reshape(n.proj(all, 3), {});
  const Expr places = n.call(kArange, {n.scalar(kInt32, 0), number, n.scalar(kInt32, 1)});
  const auto part = [&](uint32_t i) {
    return n.call(kTake, {n.proj(all, i), places}, {{"axis", int64_t{0}}});
  };
  return {part(0), n.cast(part(1), kInt64), n.cast(n.proj(all, 2), kInt64), n.cast(part(4), kInt64)};
}

Results non_zero(Node& n) { return {n.cast(n.transpose(n.call(kArgwhere, {n.input(0)}), {1, 0}), kInt64)}; }

// A condition that holds beyond the axis traps.
Results compress(Node& n) {
  Expr x = n.input(0);
  n.require(n.rank(1) == 1 && n.dtype(1).is_bool(), "its condition must be booleans of one dimension");
  size_t axis = 0;
  if (n.attribute("axis")) {
    axis = n.axis(n.integer("axis"), type_of(x).rank());
  } else if (type_of(x).rank() != 1) {
    x = n.call(kReshape, {x}, {{"newshape", std::vector<int64_t>{-1}}});
  }
  const Expr places = n.squeeze(n.call(kArgwhere, {n.input(1)}), {1});
  return {n.call(kTake, {x, places}, {{"axis", static_cast<int64_t>(axis)}, {"mode", std::string("fast")}})};
}

constexpr Row kRows[] = {
    {"Compress", 9, compress},
    {"NonZero", 9, non_zero},
    {"TopK", 1, top_attribute},
    {"TopK", 10, top},
    {"Unique", 11, unique, "an axis where extents are open"},
};

}  // namespace

std::span<const Row> sorting_rows() { return kRows; }

}  // namespace relay::frontend
