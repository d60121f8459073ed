#include "frontend/onnx/computed.h"

#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/computed_axes.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/wrap.h"

namespace relay::frontend {
namespace {

using namespace op;

Expr extents_of(Node& n, Expr x) { return n.call(kShapeOf, {x}, {{"dtype", kInt64}}); }

Expr repeated(Node& n, int64_t value, size_t count) { return n.ints(std::vector<int64_t>(count, value)); }

// Filled up from the left with 1.
Expr filled(Node& n, Expr vector, size_t count) {
  const size_t have = length_of(vector);
  if (have == count) return vector;
  if (have == 0) return repeated(n, 1, count);
  return n.concatenate({repeated(n, 1, count - have), vector}, 0);
}

// `values` at the places `axes` of a vector that is `otherwise` elsewhere.
Expr placed(Node& n, size_t count, int64_t otherwise, Expr axes, Expr values) {
  return n.call(kScatterElements, {repeated(n, otherwise, count), axes, values},
                {{"axis", int64_t{0}}, {"reduction", "update"}});
}

Expr at_least_zero(Node& n, Expr e) { return n.call(kMaximum, {e, n.scalar(kInt64, 0)}); }

// Input i as int64, a scalar or a vector.
Expr integers_at(Node& n, size_t i, std::string_view what) {
  const TensorType& t = n.tensor(i);
  if (!t.dtype.is_int() || t.rank() > 1)
    n.invalid(cat("its ", what, " (input ", i, ") must be a list of integers"));
  return n.cast(n.input(i), kInt64);
}

std::string must_be(std::string_view what, size_t i, size_t count) {
  return cat("its ", what, " (input ", i, ") must be ", count == 1 ? "one number" : cat(count, " numbers"));
}

// How many numbers input i is; nothing if the model does not say it.
std::optional<size_t> known_length(Node& n, size_t i) {
  const TensorType& t = n.tensor(i);
  if (t.rank() == 0) return 1;
  if (t.rank() != 1 || !t.dims[0].is_const()) return std::nullopt;
  return static_cast<size_t>(t.dims[0].value());
}

bool all_positive(const std::optional<IndexTensor>& steps) {
  return steps && std::all_of(steps->elements.begin(), steps->elements.end(),
                              [](Dim d) { return d.is_const() && d.value() > 0; });
}

// What is known of input i as a vector of so many numbers.
std::vector<Dim> known_parts(Node& n, size_t i, size_t count) {
  const std::optional<IndexTensor> known = n.index(i);
  if (!known || known->elements.size() != count) return std::vector<Dim>(count, Dim::unknown());
  return known->elements;
}

// The result with what is known of its extents. A run compares, and unknown ones get names.
Expr matched(Node& n, Expr e, const std::vector<Dim>& wanted) {
  for (Dim d : wanted)
    n.require(!d.is_const() || d.value() >= 0, cat("its result would have the extent ", show(d)));
  return n.importer().match_extents(e, wanted, n.proto().output(0));
}

// The numbers as extents, which have names where `wanted` does not know them.
std::vector<Dim> named(Node& n, Expr numbers, std::vector<Dim> wanted, std::string_view name) {
  wanted.emplace_back(0);  // no element: only the extents are needed
  const Expr none = n.call(kDynZeros, {n.concatenate({numbers, n.ints({0})}, 0)}, {{"dtype", kBool}});
  std::vector<Dim> out = dims_of(n.importer().match_extents(none, wanted, name));
  out.pop_back();
  return out;
}

}  // namespace

std::vector<size_t> different_axes(Node& n, const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out;
  std::vector<bool> given(rank, false);
  for (int64_t axis : axes) {
    out.push_back(n.axis(axis, rank));
    n.require(!given[out.back()], cat("axis ", axis, " is given twice"));
    given[out.back()] = true;
  }
  return out;
}

size_t length_of(Expr vector) { return static_cast<size_t>(type_of(vector).dims[0].value()); }

Expr computed(Node& n, size_t i, std::string_view what) {
  const Expr e = integers_at(n, i, what);
  const TensorType& t = type_of(e);
  if (t.rank() == 1 && !t.dims[0].is_const()) {
    throw Refusal{"unsupported-computed-input",
                  cat("how many numbers its ", what, " (input ", i, ") has depends on the input"),
                  "the rank of every tensor must be known; fixing dynamic axes with --input-shapes may help"};
  }
  if (t.rank() == 1 && t.dims[0].value() > static_cast<int64_t>(2 * data::kMaxRank))
    n.invalid(cat("its ", what, " (input ", i, ") are too many"));
  return t.rank() == 0 ? n.reshape(e, {Dim(1)}) : e;
}

Expr computed(Node& n, size_t i, std::string_view what, size_t count) {
  const Expr e = integers_at(n, i, what);
  const TensorType& t = type_of(e);
  if (t.rank() == 1 && !t.dims[0].is_const())
    return n.importer().match_extents(e, {Dim(static_cast<int64_t>(count))}, what);
  const Expr numbers = computed(n, i, what);
  n.require(length_of(numbers) == count, must_be(what, i, count));
  return numbers;
}

std::vector<Dim> extents_at(Node& n, size_t i, std::string_view what, size_t count) {
  const std::optional<std::vector<Dim>> known = n.known_dims(i, what);
  std::vector<Dim> out = known ? *known : named_numbers(n, i, what, std::vector<Dim>(count, Dim::unknown()));
  n.require(out.size() == count, must_be(what, i, count));
  return out;
}

std::vector<Dim> named_numbers(Node& n, size_t i, std::string_view what, std::vector<Dim> expected) {
  const TensorType& t = n.tensor(i);
  const bool counts = t.rank() == 1 && !t.dims[0].is_const() && !expected.empty();
  const Expr numbers = counts ? computed(n, i, what, expected.size()) : computed(n, i, what);
  std::vector<Dim> wanted = known_parts(n, i, length_of(numbers));
  expected.resize(wanted.size(), Dim::unknown());
  for (size_t k = 0; k < wanted.size(); ++k) wanted[k] = wanted[k].is_unknown() ? expected[k] : wanted[k];
  for (Dim d : wanted)
    n.require(!d.is_const() || d.value() >= 0, cat("its ", what, " has a negative number"));
  return named(n, numbers, std::move(wanted), n.proto().input(static_cast<int>(i)));
}

Dim named_number(Node& n, Expr number) {
  return named(n, n.reshape(number, {Dim(1)}), {Dim::unknown()}, n.proto().output(0))[0];
}

Expr reshape_computed(Node& n, bool zero_is_zero) {
  const Expr x = n.input(0), shape = computed(n, 1, "shape");
  const std::vector<Dim> from = dims_of(x);
  std::vector<Dim> wanted = known_parts(n, 1, length_of(shape));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == Dim(-1)) wanted[i] = Dim::unknown();
    if (wanted[i] == Dim(0) && !zero_is_zero) wanted[i] = i < from.size() ? from[i] : Dim::unknown();
  }
  return matched(n, n.call(kDynReshape, {x, shape}, {{"allowzero", zero_is_zero}}), wanted);
}

Dim expanded(Node& n, Dim from, Dim to) {
  if (to == Dim(1)) return from;  // also where nobody knows it
  if (to.is_unknown() || (from.is_unknown() && !to.is_const())) return Dim::unknown();
  if (from.is_unknown() || from == Dim(1)) return to;
  if (from.is_const() && to.is_symbolic()) return from;  // 1 or the same
  if (from.is_const() && to.is_const() && from != to)
    n.invalid(cat("an extent of ", show(from), " cannot be expanded to ", show(to)));
  return broadcast(from, to);
}

// Expand broadcasts both ways: where the shape says 1, the extent stays. dyn.broadcast_to takes the
// shape of the result.
Expr expand_computed(Node& n) {
  const Expr x = n.input(0);
  const Expr shape = computed(n, 1, "shape");
  const size_t rank = std::max(length_of(shape), type_of(x).rank());
  const Expr to = filled(n, shape, rank), from = filled(n, extents_of(n, x), rank);
  const Expr is_one = n.call(kEqual, {to, n.scalar(kInt64, 1)});
  std::vector<Dim> wanted = dims_of(x), asked = known_parts(n, 1, length_of(shape));
  wanted.insert(wanted.begin(), rank - wanted.size(), Dim(1));
  asked.insert(asked.begin(), rank - asked.size(), Dim(1));
  for (size_t i = 0; i < rank; ++i) wanted[i] = expanded(n, wanted[i], asked[i]);
  return matched(n, n.call(kDynBroadcastTo, {x, n.call(kWhere, {is_one, from, to})}), wanted);
}

Expr fill_computed(Node& n, const Tensor& value) {
  const Expr shape = computed(n, 0, "shape");
  const Expr e = n.call(kDynFull, {n.builder().constant(value), shape}, {{"dtype", value.dtype()}});
  return matched(n, e, known_parts(n, 0, length_of(shape)));
}

Expr tile_computed(Node& n) {
  const Expr repeats = computed(n, 1, "repeats", n.rank(0));
  std::vector<Dim> wanted = known_parts(n, 1, n.rank(0));
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * n.tensor(0).dims[i];
  return matched(n, n.call(kDynTile, {n.input(0), repeats}), wanted);
}

namespace {

// Where a slice begins and ends, and its steps, along these axes.
struct Bounds {
  Expr begin, end, steps;
  std::vector<int64_t> axes;
};

// Along all axes; those at other places than `places` are taken from end to end.
Bounds along_all(Node& n, size_t rank, Expr places, const Bounds& some) {
  Bounds out{placed(n, rank, 0, places, some.begin),
             placed(n, rank, INT64_MAX, places, some.end),
             some.steps ? placed(n, rank, 1, places, some.steps) : repeated(n, 1, rank),
             {}};
  for (size_t i = 0; i < rank; ++i) out.axes.push_back(static_cast<int64_t>(i));
  return out;
}

// Nobody knows along how many axes, of which there are at most `rank`.
Bounds bounds_of_any_number(Node& n, size_t rank) {
  const Expr begin = integers_at(n, 1, "starts");
  const std::vector<Dim> count = dims_of(begin);
  const auto as_many = [&](Expr e, std::string_view what) {
    return n.importer().match_extents(e, count, what);
  };
  const Expr places =
      n.has(3) ? as_many(different_axes_from_front(n, 3, "axes", rank), "axes") : n.places(count);
  return along_all(n, rank, places,
                   {begin,
                    as_many(integers_at(n, 2, "ends"), "ends"),
                    n.has(4) ? as_many(integers_at(n, 4, "steps"), "steps") : nullptr,
                    {}});
}

Bounds bounds_of_slice(Node& n, size_t rank) {
  std::optional<size_t> known;
  for (size_t i = 1; i < 5 && !known; ++i) {
    if (n.has(i)) known = known_length(n, i);
  }
  if (!known) return bounds_of_any_number(n, rank);
  const size_t count = *known;
  n.require(count <= rank, "its starts, ends, axes and steps are more than its input has dimensions");
  Bounds out{computed(n, 1, "starts", count),
             computed(n, 2, "ends", count),
             n.has(4) ? computed(n, 4, "steps", count) : repeated(n, 1, count),
             {}};
  if (n.has(3) && !n.known(3)) {
    computed(n, 3, "axes", count);
    return along_all(n, rank, different_axes_from_front(n, 3, "axes", rank), out);
  }
  if (n.has(3)) out.axes = n.constant_ints(3, "axes");
  for (size_t i = n.has(3) ? count : 0; i < count; ++i) out.axes.push_back(static_cast<int64_t>(i));
  n.require(out.axes.size() == count, must_be("axes", 3, count));
  for (int64_t& a : out.axes) a = static_cast<int64_t>(n.axis(a, rank));
  return out;
}

}  // namespace

Expr slice_computed(Node& n) {
  const Expr x = n.input(0);
  Bounds s = bounds_of_slice(n, type_of(x).rank());
  if (s.axes.empty()) return x;
  if (n.has(4) && !all_positive(n.index(4))) {
    // A start before the first element is the first element, also where the steps go backwards.
    const Expr extents = n.call(kTake, {extents_of(n, x), n.ints(s.axes)}, {{"axis", int64_t{0}}});
    s.begin = n.call(kMaximum, {s.begin, n.call(kNegative, {extents})});
  }
  std::vector<Dim> wanted = dims_of(x);
  for (int64_t a : s.axes) wanted[static_cast<size_t>(a)] = Dim::unknown();
  return matched(n, n.call(kDynStridedSlice, {x, s.begin, s.end, s.steps}, {{"axes", s.axes}}), wanted);
}

// Pads that are negative cut off.
Expr pad_computed(Node& n, std::string_view mode, Expr value) {
  Expr x = n.input(0);
  const size_t rank = type_of(x).rank();
  const std::vector<Dim> count =
      n.has(3) ? dims_of(integers_at(n, 3, "axes")) : std::vector<Dim>{Dim(static_cast<int64_t>(rank))};
  if (count.empty()) n.invalid("its axes (input 3) must be a list of integers");
  if (count[0] == Dim(0)) return x;
  // The pads before the axes, then those behind them.
  const Expr given = integers_at(n, 1, "pads");
  n.require(type_of(given).rank() == 1 &&
                prove_equal(dims_of(given)[0], count[0] * Dim(2)) != kernel::Proof::kRefuted,
            "its pads have a wrong length");
  const Expr pads =
      n.reshape(n.importer().match_extents(given, {count[0] * Dim(2)}, "pads"), {Dim(2), count[0]});
  const auto row = [&](int64_t i) { return n.squeeze(n.slice(pads, 0, i, i + 1), {0}); };
  Expr before = row(0), after = row(1);
  if (n.has(3)) {
    Expr places = nullptr;
    if (n.known(3)) {
      const std::vector<size_t> axes = different_axes(n, n.constant_ints(3, "axes"), rank);
      places = n.ints({axes.begin(), axes.end()});
    } else {
      places = different_axes_from_front(n, 3, "axes", rank);
    }
    before = placed(n, rank, 0, places, before);
    after = placed(n, rank, 0, places, after);
  }
  const Expr front = at_least_zero(n, n.call(kNegative, {before})),
             back = at_least_zero(n, n.call(kNegative, {after}));
  const Expr end = at_least_zero(n, n.call(kSubtract, {extents_of(n, x), back}));
  x = n.call(kDynStridedSlice, {x, front, end, repeated(n, 1, rank)});
  std::vector<Dim> wanted(rank, Dim::unknown()), by = known_parts(n, 1, 2 * rank);
  for (size_t i = 0; i < rank && !n.has(3); ++i) wanted[i] = n.tensor(0).dims[i] + by[i] + by[rank + i];
  if (mode == "wrap") {
    const auto at = [&](Expr widths, size_t i) {
      return n.call(kTake, {at_least_zero(n, widths), n.scalar(kInt64, static_cast<double>(i))},
                    {{"axis", int64_t{0}}});
    };
    for (size_t i = 0; i < rank; ++i) {
      const bool stays = !n.has(3) && by[i] == Dim(0) && by[rank + i] == Dim(0);
      if (!stays) x = wrapped(n, x, i, at(before, i), at(after, i));
    }
    return matched(n, x, wanted);
  }
  const auto column = [&](Expr widths) { return n.expand_dims(at_least_zero(n, widths), 1); };
  const Expr widths = n.concatenate({column(before), column(after)}, 1);
  return matched(n, n.call(kDynPad, {x, widths, value}, {{"pad_mode", std::string(mode)}}), wanted);
}

}  // namespace relay::frontend
