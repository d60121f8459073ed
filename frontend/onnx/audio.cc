// What surrounds the transforms of audio: window functions, and the filters of the mel scale.
#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

DType result_dtype(Node& n) {
  const auto dtype = data::dtype_of_onnx(n.integer("output_datatype", 1));
  n.require(dtype && !dtype->is_bool(), "its attribute `output_datatype` names no dtype of numbers");
  return *dtype;
}

// 0, 1, 2, ... as float64, as many as input 0 says.
Expr numbers_up_to_size(Node& n) {
  const Expr size = n.reshape(n.input(0), {});
  if (!type_of(size).dtype.is_int()) n.invalid("its size is no integer");
  const std::optional<IndexTensor> known = n.index(0);
  if (known && known->complete()) {
    n.require(known->elements.size() == 1, "its size must be one number");
    const Dim extent = known->elements[0];
    n.require(!extent.is_const() || (extent.value() >= 0 && extent.value() < (int64_t{1} << 40)),
              "its size is out of range");
    return n.places({extent}, 0, kFloat64);
  }
  const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); };
  const Expr all = n.call(kArange, {number(0), n.cast(size, kInt64), number(1)}, {{"dtype", kInt64}});
  return n.cast(all, kFloat64);
}

// The sum of weights[k] * cos(2 pi k i / period), where a period is the size of the window, or one
// less if it is symmetric.
Results cosines(Node& n, std::initializer_list<double> weights) {
  const Expr i = numbers_up_to_size(n);
  const auto number = [&](double v) { return n.scalar(kFloat64, v); };
  Expr period = n.cast(n.reshape(n.input(0), {}), kFloat64);
  if (n.integer("periodic", 1) == 0) period = n.call(kSubtract, {period, number(1)});
  const Expr turn = n.call(kDivide, {n.call(kMultiply, {i, number(2 * std::numbers::pi)}), period});
  Expr sum = nullptr;
  int k = 0;
  for (const double weight : weights) {
    const Expr angle = n.call(kMultiply, {turn, number(k++)});
    const Expr term = n.call(kMultiply, {n.call(kCos, {angle}), number(weight)});
    sum = sum ? n.call(kAdd, {sum, term}) : term;
  }
  return {n.cast(sum, result_dtype(n))};
}

Results hann_window(Node& n) { return cosines(n, {0.5, -0.5}); }
Results hamming_window(Node& n) { return cosines(n, {25.0 / 46, -21.0 / 46}); }
Results blackman_window(Node& n) { return cosines(n, {0.42, -0.5, 0.08}); }

// --- MelWeightMatrix -----------------------------------------------------------------------------

double real_at(Node& n, size_t i, std::string_view what) {
  const Tensor t = n.constant(i, what);
  n.require(t.size() == 1 && t.dtype().is_float(), cat("its ", what, " must be one number"));
  const double v = t.get(0);
  n.require(v >= 0 && v < 1e12, cat("its ", what, " is out of range"));
  return v;
}

int64_t count_at(Node& n, size_t i, std::string_view what) {
  const int64_t v = n.constant_int(i, what);
  n.require(v >= 1 && v <= (1 << 24), cat("its ", what, " is out of range"));
  return v;
}

// The frequencies, as numbers of elements of a spectrum, at which the filters begin: equal steps of
// the mel scale.
std::vector<int64_t> edges(Node& n, int64_t filters, int64_t length) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto rate = static_cast<double>(count_at(n, 2, "sample rate"));
  const double low = mel(real_at(n, 3, "lower edge")), high = mel(real_at(n, 4, "upper edge"));
  const double step = (high - low) / static_cast<double>(filters + 2);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < filters + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / rate);
    n.require(place >= 0 && place <= static_cast<double>(length / 2), "its edges lie beyond the spectrum");
    n.require(out.empty() || place >= static_cast<double>(out.back()),
              "its upper edge is below its lower one");
    out.push_back(static_cast<int64_t>(place));
  }
  return out;
}

// The matrix of the filters below, of numbers that only a run tells. A run traps if the edges are
// not in order, or lie beyond the spectrum.
Expr filters_of_run(Node& n) {
  const auto real = [&](size_t i) -> Term {
    n.require(!n.dtype(i).is_bool(), cat("its input ", i, " must be a number"));
    return {n.builder(), n.cast(n.reshape(n.input(i), {}), kFloat64)};
  };
  const Dim filters = extents_at(n, 0, "number of bands", 1)[0],
            length = extents_at(n, 1, "length of the transform", 1)[0];
  const Term points = real(1), from = real(3), to = real(4);
  const auto mel = [](const Term& hertz) { return 2595 * hertz.apply(kLog10, {hertz / 700 + 1}); };
  const Term low = mel(from), step = (mel(to) - low) / (real(0) + 2);
  const Term exponent = (low + Term(n.builder(), n.places({filters + Dim(2)}, 0, kFloat64)) * step) / 2595;
  const Term hertz = 700 * (exponent.apply(kPower, {exponent.number(10), exponent}) - 1);
  const Term edge = hertz.apply(kFloor, {(points + 1) * hertz / real(2)});
  const auto edge_at = [&](int64_t i) -> Term {
    return {n.builder(), sliced(n.builder(), edge, 0, Dim(i), filters + Dim(i))};
  };
  const Term left = edge_at(0), centre = edge_at(1), right = edge_at(2);
  const Term place(n.builder(), n.places({floor_div(length, Dim(2)) + Dim(1), filters}, 0, kFloat64));
  const auto width = [](const Term& w) { return w.apply(kMaximum, {w, w.number(1)}); };
  const Term none = place.apply(kZerosLike, {place}), one = place.apply(kOnesLike, {place});
  const auto rising = [&](const Term& until) {
    return until.apply(kLogicalAnd, {place.apply(kLessEqual, {left, place}), less(place, until)});
  };
  const Term fall = where(less(place, right), (right - place) / width(right - centre), none);
  const Term tail = where(less(centre, place), fall, none);
  const Term rise = where(rising(centre), (place - left) / width(centre - left), tail);
  const Expr matrix = where(place.apply(kEqual, {place, centre}), one, rise);
  const auto all = [&](const OpDef& op) {
    return edge.apply(op, {edge}, {{"axis", std::vector<int64_t>{0}}});
  };
  const Term half = points.apply(kFloor, {points / 2});
  const Expr lies_within = half.apply(kLogicalAnd, {half.apply(kLessEqual, {half.number(0), all(kMin)}),
                                                    half.apply(kLessEqual, {all(kMax), half})});
  Importer& importer = n.importer();
  const Expr is_in_order = from.apply(kLessEqual, {from, to});
  return importer.demand(
      n.proto(), is_in_order, "its upper edge is below its lower one",
      importer.demand(n.proto(), lies_within, "its edges lie beyond the spectrum", matrix));
}

// (spectrum, filters): each filter rises from 0 at its left edge to 1 at its
// centre, and falls to 0.
Results mel_weight_matrix(Node& n) {
  for (size_t i = 0; i < 5; ++i) {
    if (!n.known(i)) return {n.cast(filters_of_run(n), result_dtype(n))};
  }
  const int64_t filters = count_at(n, 0, "number of bands"),
                length = count_at(n, 1, "length of the transform");
  n.require(filters * (length / 2 + 1) <= (int64_t{1} << 26), "its matrix is too large");
  const std::vector<int64_t> edge = edges(n, filters, length);
  Tensor out(kFloat64, {length / 2 + 1, filters});
  for (int64_t f = 0; f < filters; ++f) {
    const auto at = [&](int64_t i) { return edge[static_cast<size_t>(f + i)]; };
    const int64_t left = at(0), centre = at(1), right = at(2);
    const auto set = [&](int64_t place, int64_t part, int64_t whole) {
      out.set(place * filters + f, static_cast<double>(part) / static_cast<double>(whole));
    };
    for (int64_t j = left; j < centre; ++j) set(j, j - left, centre - left);
    set(centre, 1, 1);
    for (int64_t j = centre; j < right; ++j) set(j, right - j, right - centre);
  }
  return {n.cast(n.builder().constant(std::move(out)), result_dtype(n))};
}

constexpr Row kRows[] = {
    {"BlackmanWindow", 17, blackman_window},
    {"HammingWindow", 17, hamming_window},
    {"HannWindow", 17, hann_window},
    {"MelWeightMatrix", 17, mel_weight_matrix},
};

}  // namespace

std::span<const Row> audio_rows() { return kRows; }

}  // namespace relay::frontend
