// Fourier transforms. ONNX has the parts of complex numbers along the last axis.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/node.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// One part of complex numbers; of real ones, the imaginary parts are 0.
Expr part(Node& n, Expr x, int64_t i) {
  const size_t last = type_of(x).rank() - 1;
  if (i == 1 && type_of(x).dims[last] == Dim(1)) return n.call(kZerosLike, {part(n, x, 0)});
  return n.squeeze(n.slice(x, last, i, i + 1), {static_cast<int64_t>(last)});
}

// x with so many elements along an axis: cut, or with zeros at the end.
Expr with_length(Node& n, Expr x, size_t axis, int64_t length) {
  const Dim have = type_of(x).dims[axis];
  if (have == Dim(length)) return x;
  if (!have.is_const())
    n.unsupported("a length of its transform other than that of its input needs a known extent",
                  "fix the dynamic axis with --input-shapes");
  if (length < have.value()) return n.slice(x, axis, 0, length);
  std::vector<std::pair<Dim, Dim>> width(type_of(x).rank(), {Dim(0), Dim(0)});
  width[axis].second = Dim(length - have.value());
  return zero_padded(n.builder(), x, width);
}

Results transform(Node& n, int64_t given_axis) {
  Expr x = n.input(0);
  const TensorType& t = type_of(x);
  n.require(t.rank() >= 2, "its input must have at least two dimensions");
  const Dim parts = t.dims[t.rank() - 1];
  n.require(parts == Dim(1) || parts == Dim(2), "the last dimension of its input must be 1 or 2");
  const size_t axis = n.axis(given_axis, t.rank());
  n.require(axis + 1 < t.rank(), "its axis must not be the last one, which holds the parts of numbers");
  const bool inverse = n.integer("inverse", 0) != 0, onesided = n.integer("onesided", 0) != 0;
  if (onesided && inverse)
    n.unsupported("an inverse transform of one side only is not supported", "set onesided to 0");
  if (n.has(1)) {
    const int64_t length = n.constant_int(1, "length of the transform");
    n.require(length >= 1 && length < (int64_t{1} << 40), "the length of its transform is out of range");
    x = with_length(n, x, axis, length);
  }
  // The axis comes last for the transform, and goes back where it was.
  const auto last = static_cast<int64_t>(type_of(x).rank()) - 2;
  std::vector<int64_t> order, back;
  for (int64_t d = 0; d <= last; ++d) {
    if (d != static_cast<int64_t>(axis)) order.push_back(d);
  }
  order.push_back(static_cast<int64_t>(axis));
  for (int64_t d = 0; d < last; ++d) back.push_back(d);
  back.insert(back.begin() + static_cast<std::ptrdiff_t>(axis), last);
  back.push_back(last + 1);
  const auto moved = [&](int64_t i) { return n.transpose(part(n, x, i), order); };
  const Expr both = n.call(kDft, {moved(0), moved(1)}, {{"inverse", inverse}});
  Expr y = n.call(kStack, {n.builder().tuple({n.proj(both, 0), n.proj(both, 1)})}, {{"axis", last + 1}});
  if (onesided) {
    const Dim extent = type_of(y).dims[static_cast<size_t>(last)];
    if (!extent.is_const())
      n.unsupported("one side of a transform needs a known extent",
                    "fix the dynamic axis with --input-shapes");
    y = n.slice(y, static_cast<size_t>(last), 0, extent.value() / 2 + 1);
  }
  return {n.transpose(y, back)};
}

Results dft_attribute(Node& n) { return transform(n, n.integer("axis", 1)); }
Results dft(Node& n) { return transform(n, n.has(2) ? n.constant_int(2, "axis") : -2); }

Results stft(Node& n) {
  Expr x = n.input(0);
  const TensorType& t = type_of(x);
  n.require(t.rank() == 3 || t.rank() == 2, "its signal must have two or three dimensions");
  if (t.rank() == 3) {
    if (t.dims[2] != Dim(1)) n.unsupported("a signal of complex numbers is not supported");
    x = n.squeeze(x, {2});
  }
  const int64_t step = n.constant_int(1, "frame step");
  int64_t length = 0;
  if (n.has(3)) length = n.constant_int(3, "frame length");
  Expr window = nullptr;
  if (n.has(2)) {
    window = n.input(2);
    const Dim extent = type_of(window).rank() == 1 ? type_of(window).dims[0] : Dim(0);
    n.require(extent.is_const() && extent.value() >= 1,
              "its window must have one dimension, of known extent");
    if (length == 0) length = extent.value();
    n.require(extent == Dim(length), "its window must have the length of a frame");
  }
  n.require(step >= 1 && length >= 1 && length <= (1 << 20), "its frames are out of range");
  if (!window)
    window = n.call(kOnes, std::span<const Expr>(),
                    {{"shape", std::vector<Dim>{Dim(length)}}, {"dtype", t.dtype}});
  const Expr y = n.call(kStft, {x, window},
                        {{"n_fft", length},
                         {"hop_length", step},
                         {"win_length", length},
                         {"onesided", n.integer("onesided", 1) != 0}});
  return {n.transpose(y, {0, 2, 1, 3})};
}

constexpr Row kRows[] = {
    {"DFT", 17, dft_attribute},
    {"DFT", 20, dft, "inverse with onesided"},
    {"STFT", 17, stft, "complex signals"},
};

}  // namespace

std::span<const Row> signal_rows() { return kRows; }

}  // namespace relay::frontend
