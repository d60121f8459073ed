// Fourier transforms. ONNX has the parts of complex numbers along the last axis.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/computed_axes.h"
#include "frontend/onnx/importer.h"
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
Expr with_length(Node& n, Expr x, size_t axis, Dim length) {
  const Dim have = type_of(x).dims[axis];
  if (have == length) return x;
  const Dim kept = min(have, length), missing = max(length - have, Dim(0));
  if (kept != have) x = sliced(n.builder(), x, static_cast<int64_t>(axis), Dim(0), kept);
  std::vector<std::pair<Dim, Dim>> width(type_of(x).rank(), {Dim(0), Dim(0)});
  width[axis].second = missing;
  std::vector<Dim> dims = dims_of(x);
  dims[axis] = length;
  return n.reshape(zero_padded(n.builder(), x, width), dims);
}

// x with two parts of each number, where only a run tells whether it has both.
Expr with_parts(Node& n, Expr x) {
  const TensorType& t = type_of(x);
  const Dim parts = t.dims[t.rank() - 1];
  n.require(!parts.is_const() || parts == Dim(1) || parts == Dim(2),
            "the last dimension of its input must be 1 or 2");
  if (parts.is_unknown()) n.unsupported("the last dimension of its input depends on the data");
  return parts.is_const() ? x : with_length(n, x, t.rank() - 1, Dim(2));
}

// The real and imaginary parts of numbers along their last axis.
struct Complex {
  Expr re, im;
};

// All `length` elements of a spectrum of which the first half is known: the others are the
// conjugates of those, in turn.
Complex whole_spectrum(Node& n, Complex half, Dim length) {
  const auto axis = static_cast<int64_t>(type_of(half.re).rank()) - 1;
  const auto mirrored = [&](Expr e) {
    const Expr again = sliced(n.builder(), e, axis, Dim(1), floor_div(length + Dim(1), Dim(2)));
    return n.call(kReverse, {again}, {{"axis", axis}});
  };
  const auto whole = [&](Expr front, Expr back) {
    std::vector<Dim> dims = dims_of(front);
    dims.back() = length;
    return n.reshape(n.concatenate({front, back}, axis), dims);
  };
  return {whole(half.re, mirrored(half.re)), whole(half.im, n.call(kNegative, {mirrored(half.im)}))};
}

// The length of the transform: as input 1 says, else that of the input.
Dim length_of(Node& n, Dim extent, bool of_half) {
  if (!n.has(1)) return of_half ? (extent - Dim(1)) * Dim(2) : extent;
  const std::vector<Dim> given = extents_at(n, 1, "length of the transform", 1);
  n.require(!given[0].is_const() || (given[0].value() >= 1 && given[0].value() < (int64_t{1} << 40)),
            "the length of its transform is out of range");
  return given[0];
}

// Along an axis of the input, which has the parts of numbers in its last one.
Expr transform(Node& n, Expr x, size_t axis) {
  const TensorType& t = type_of(x);
  n.require(axis + 1 < t.rank(), "its axis must not be the last one, which holds the parts of numbers");
  if (t.dims[axis].is_unknown()) n.unsupported("the extent of its axis depends on the data");
  const bool inverse = n.integer("inverse", 0) != 0, onesided = n.integer("onesided", 0) != 0;
  const bool to_real = onesided && inverse, to_half = onesided && !inverse;
  const Dim length = length_of(n, t.dims[axis], to_real), half = floor_div(length, Dim(2)) + Dim(1);
  n.require(length != Dim(0), "the length of its transform is 0");
  x = with_length(n, x, axis, to_real ? half : length);
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
  Complex in{moved(0), moved(1)};
  if (to_real) in = whole_spectrum(n, in, length);
  const Expr both = n.call(kDft, {in.re, in.im}, {{"inverse", inverse}});
  if (to_real) return n.transpose(n.expand_dims(n.proj(both, 0), last + 1), back);
  Expr y = n.call(kStack, {n.builder().tuple({n.proj(both, 0), n.proj(both, 1)})}, {{"axis", last + 1}});
  if (to_half) y = sliced(n.builder(), y, last, Dim(0), half);
  return n.transpose(y, back);
}

Expr with_parts_of_input(Node& n) {
  n.require(n.rank(0) >= 2, "its input must have at least two dimensions");
  return with_parts(n, n.input(0));
}

Results transform(Node& n, int64_t axis) {
  const Expr x = with_parts_of_input(n);
  return {transform(n, x, n.axis(axis, type_of(x).rank()))};
}

Results dft_attribute(Node& n) { return transform(n, n.integer("axis", 1)); }
Results dft(Node& n) {
  if (!n.has(2)) return transform(n, -2);
  const Expr x = with_parts_of_input(n);
  Choosable from{type_of(x).rank(), {}};
  const bool to_real = n.integer("inverse", 0) != 0 && n.integer("onesided", 0) != 0;
  for (size_t axis = 0; axis + 1 < from.rank; ++axis) {
    if (n.has(1) || length_of(n, type_of(x).dims[axis], to_real) != Dim(0)) from.axes.push_back(axis);
  }
  return {along_input_axis(n, 2, from, [&](size_t axis) { return transform(n, x, axis); })};
}

// The transforms of the frames of a signal: (batch, frequencies, frames, 2)
Expr frames(Node& n, Expr signal, Expr window, int64_t length, int64_t step, bool onesided) {
  return n.call(kStft, {signal, window},
                {{"n_fft", length}, {"hop_length", step}, {"win_length", length}, {"onesided", onesided}});
}

// The transform is linear: that of re + i im is the one of re plus i times the one of im.
Expr of_complex(Node& n, Expr re, Expr im) {
  const auto part_of = [&](Expr e, int64_t i) { return n.squeeze(n.slice(e, 3, i, i + 1), {3}); };
  const Expr real = n.call(kSubtract, {part_of(re, 0), part_of(im, 1)});
  const Expr imaginary = n.call(kAdd, {part_of(re, 1), part_of(im, 0)});
  return n.call(kStack, {n.builder().tuple({real, imaginary})}, {{"axis", int64_t{3}}});
}

// What an STFT is told besides its signal. A number may be one that only a run tells.
struct Frames {
  Dim step, length;
  Expr window;  // of that length; null: ones

  bool is_known() const { return step.is_const() && length.is_const(); }
};

Frames read_frames(Node& n, Dim signal) {
  Frames out{extents_at(n, 1, "frame step", 1)[0], Dim(0), nullptr};
  std::optional<Dim> length;
  if (n.has(3)) length = extents_at(n, 3, "frame length", 1)[0];
  if (n.has(2)) {
    n.require(n.rank(2) == 1, "its window must have one dimension");
    const Dim extent = n.tensor(2).dims[0];
    n.require(!length || prove_equal(extent, *length) != kernel::Proof::kRefuted,
              "its window must have the length of a frame");
    out.length = length.value_or(extent);
    out.window = n.importer().match_extents(n.input(2), {out.length}, "window");
  } else {
    out.length = length.value_or(signal);
  }
  if (out.length.is_unknown()) n.unsupported("the length of its frames depends on the data");
  const auto in_range = [](Dim d, int64_t most) {
    return !d.is_const() || (d.value() >= 1 && d.value() <= most);
  };
  n.require(in_range(out.step, INT64_MAX) && in_range(out.length, 1 << 20), "its frames are out of range");
  return out;
}

// The same as `frames` below of a step and a length that are known, where a run tells them:
// (batch, frames, frequencies, 2). A signal that is shorter than a frame has none.
Expr frames_of_run(Node& n, Complex signal, const Frames& f, bool onesided) {
  Importer& importer = n.importer();
  const Expr one = n.builder().constant(Tensor::scalar_int(kInt64, 1)), step = importer.materialise(f.step);
  const Expr room =
      n.call(kSubtract, {importer.materialise(dims_of(signal.re)[1]), importer.materialise(f.length)});
  const Expr fitting = n.call(kAdd, {n.call(kFloorDivide, {room, step}), one});
  const Dim count = named_number(n, n.call(kMaximum, {fitting, n.scalar(kInt64, 0)}));
  const std::vector<Dim> shape{count, f.length};
  const Expr where = n.call(kAdd, {n.call(kMultiply, {n.places(shape, 0), step}), n.places(shape, 1)});
  const auto framed = [&](Expr part) {
    const Expr taken = n.call(kTake, {part, where}, {{"axis", int64_t{1}}, {"mode", "fast"}});
    return f.window ? n.call(kMultiply, {taken, f.window}) : taken;
  };
  const Expr re = framed(signal.re), im = signal.im ? framed(signal.im) : n.call(kZerosLike, {re});
  const Expr both = n.call(kDft, {re, im}, {{"inverse", false}});
  const Expr y =
      n.call(kStack, {n.builder().tuple({n.proj(both, 0), n.proj(both, 1)})}, {{"axis", int64_t{3}}});
  return onesided ? sliced(n.builder(), y, 2, Dim(0), floor_div(f.length, Dim(2)) + Dim(1)) : y;
}

Results stft(Node& n) {
  n.require(n.rank(0) == 3 || n.rank(0) == 2, "its signal must have two or three dimensions");
  const Expr x = n.rank(0) == 3 ? with_parts(n, n.input(0)) : n.input(0);
  const TensorType& t = type_of(x);
  const bool onesided = n.integer("onesided", 1) != 0;
  // One side is all of the transform of real numbers, so an open last dimension is 1 then.
  const Dim parts = t.rank() == 3 ? n.tensor(0).dims[2] : Dim(1);
  n.require(parts != Dim(2) || !onesided, "one side of a transform is all only of real numbers");
  const bool complex = t.dims[t.rank() - 1] == Dim(2) && t.rank() == 3 && !onesided;
  const auto part_of = [&](int64_t i) { return t.rank() == 2 ? x : part(n, x, i); };
  const Frames f = read_frames(n, t.dims[1]);
  if (!f.is_known()) return {frames_of_run(n, {part_of(0), complex ? part_of(1) : nullptr}, f, onesided)};
  const int64_t length = f.length.value();
  const Expr window = f.window ? f.window
                               : n.call(kOnes, std::span<const Expr>(),
                                        {{"shape", std::vector<Dim>{f.length}}, {"dtype", t.dtype}});
  const auto of_part = [&](int64_t i) {
    return frames(n, part_of(i), window, length, f.step.value(), onesided);
  };
  const Expr y = complex ? of_complex(n, of_part(0), of_part(1)) : of_part(0);
  return {n.transpose(y, {0, 2, 1, 3})};
}

constexpr Row kRows[] = {
    {"DFT", 17, dft_attribute},
    {"DFT", 20, dft},
    {"STFT", 17, stft},
};

}  // namespace

std::span<const Row> signal_rows() { return kRows; }

}  // namespace relay::frontend
