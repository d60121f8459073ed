#include "frontend/onnx/unique_slices.h"

#include "base/cat.h"

namespace relay::frontend {
namespace {

using namespace op;

// Slices by slices by elements of a slice: what is compared at once.
constexpr int64_t kMostComparisons = int64_t{1} << 24;

// Refuses extents that are known and too large. Returns the elements of a slice.
Dim elements_of_slice(Node& n, const TensorType& t, size_t axis) {
  Dim elements(1);
  for (size_t d = 0; d < t.rank(); ++d) {
    if (t.dims[d].is_unknown())
      n.unsupported("its attribute `axis` needs an input whose shape does not depend on the data",
                    "fix the dynamic axes with --input-shapes");
    if (d != axis) elements = elements * t.dims[d];
  }
  const Dim slices = t.dims[axis], comparisons = slices * slices * elements;
  if (slices == Dim(0) || elements == Dim(0))
    n.unsupported("an input without elements is not supported with an axis");
  if (comparisons.is_too_large() || (comparisons.is_const() && comparisons.value() > kMostComparisons))
    n.unsupported(
        cat(show(slices), " slices of ", show(elements), " elements are too many to compare each with each"));
  return elements;
}

// The input with a row for each slice.
Expr rows_of(Node& n, size_t axis) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  const Dim elements = elements_of_slice(n, t, axis), slices = t.dims[axis];
  std::vector<int64_t> order{static_cast<int64_t>(axis)};
  for (size_t d = 0; d < t.rank(); ++d) {
    if (d != axis) order.push_back(static_cast<int64_t>(d));
  }
  const Expr first = t.rank() == 1 ? x : n.transpose(x, order);
  const Expr rows = n.reshape(first, {slices, elements});
  return t.dtype.is_bool() ? n.cast(rows, kUInt8) : rows;
}

}  // namespace

Results unique_slices(Node& n, size_t axis, bool sorted) {
  const Expr rows = rows_of(n, axis);
  const Dim slices = type_of(rows).dims[0];
  const auto over = [](int64_t i) { return std::vector<AttrArg>{{"axis", std::vector<int64_t>{i}}}; };
  const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); };
  const auto count = [&](Expr e) { return n.cast(e, kInt64); };
  const auto both = [&](Expr a, Expr b) { return n.call(kLogicalAnd, {a, b}); };

  // [i, j]: does slice i equal slice j, or come before it?
  const Expr left = n.expand_dims(rows, 1), right = n.expand_dims(rows, 0);
  const Expr differ = count(n.call(kNotEqual, {left, right}));
  const Expr so_far = n.call(kCumsum, {differ}, {{"axis", int64_t{2}}});
  const Expr equal = n.call(kEqual, {n.call(kMax, {differ}, over(2)), number(0)});
  const Expr decides = both(n.call(kEqual, {so_far, number(1)}), n.call(kEqual, {differ, number(1)}));
  const Expr before = n.call(
      kEqual, {n.call(kMax, {count(both(decides, n.call(kLess, {left, right})))}, over(2)), number(1)});

  // A slice is the first of its kind if its first equal is itself.
  const Expr places = n.places({slices});
  const Expr earliest = count(n.call(kArgmax, {count(equal)}, over(1)));
  const Expr first = n.call(kEqual, {earliest, places});
  const Expr firsts = n.expand_dims(first, 0);             // [i, j]: j
  const Expr ahead = sorted ? n.transpose(before, {1, 0})  // [i, j]: does j come before i?
                            : n.call(kLess, {n.expand_dims(places, 0), n.expand_dims(earliest, 1)});
  const Expr rank = n.call(kSum, {count(both(firsts, ahead))}, over(1));
  const Expr alike = n.call(kSum, {count(equal)}, over(1));

  const auto taken = [&](Expr e, Expr at, size_t along) {
    return n.call(kTake, {e, at}, {{"axis", static_cast<int64_t>(along)}, {"mode", std::string("fast")}});
  };
  const Expr found = n.cast(n.squeeze(n.call(kArgwhere, {first}), {1}), kInt64);
  const Expr order = n.call(kArgsort, {taken(rank, found, 0)}, {{"axis", int64_t{0}}, {"dtype", kInt64}});
  const Expr indices = taken(found, order, 0);
  return {taken(n.input(0), indices, axis), indices, rank, taken(alike, indices, 0)};
}

}  // namespace relay::frontend
