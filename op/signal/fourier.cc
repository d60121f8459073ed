// dft, stft: discrete Fourier transforms.
//
// Each is a product with a table of cosines and sines. So a line of n elements takes n^2
// multiplications, which is fast for the short windows of audio, and slow for long lines.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

Term cast_to(DType dtype, Term x) { return x.apply(kCast, {x}, {{"dtype", dtype}}); }
Term product_of(Term x, Term table) { return x.apply(kMatmul, {x, table}); }

// cos or sin of 2 pi j k / n, for j < n and k < columns, rounded from float64 once.
struct Tables {
  Term cosines, sines;
};
Tables tables(Builder& b, DType dtype, Dim n, Term extent, Dim columns) {
  const auto index = [&](int64_t axis) {
    return Term(
        b, call(b, kIota, {}, {{"shape", std::vector<Dim>{n, columns}}, {"axis", axis}, {"dtype", kInt64}}));
  };
  const Term product = index(0) * index(1), turn = product.apply(kFloorMod, {product, extent});
  const Term angle = 2 * std::numbers::pi * cast_to(kFloat64, turn) / cast_to(kFloat64, extent);
  return {cast_to(dtype, angle.apply(kCos, {angle})), cast_to(dtype, angle.apply(kSin, {angle}))};
}

// --- dft -----------------------------------------------------------------------------------------

struct DftAttrs {
  bool inverse = false;
  static constexpr auto kFields = fields(
      field("inverse", &DftAttrs::inverse, "the angles turn the other way, and the result is divided by n"));
};

// dft(re, im).0[.., k] = sum over j < n of re[.., j] cos(t) + im[.., j] sin(t), where t = 2 pi j k
// / n dft(re, im).1[.., k] = sum over j < n of im[.., j] cos(t) - re[.., j] sin(t)
//
//   (Tensor[s, d], Tensor[s, d]) -> (Tensor[s, d], Tensor[s, d])
//   C1: d is floating.   C2: both have one dtype and one shape.
//   C3: there is at least one axis, and the extent of the last one is not `?`.
Type relate_dft(Relation& r, const DftAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  r.require_same_dtype(1, 0);     // C2
  const TensorType &re = r.tensor(0), &im = r.tensor(1);
  r.require_rank(1, re.rank());  // C2
  r.require_no_scalar(0);        // C3
  std::vector<Dim> out;
  for (size_t d = 0; d < re.rank(); ++d)
    out.push_back(r.same(im.dims[d], re.dims[d], 1, cat("dimension ", d), 0));              // C2
  r.require(!re.dims.back().is_unknown(), 0, "the extent of the last axis must be known");  // C3
  const Type part = r.tensor_of(out, re.dtype);
  return r.tuple_of({part, part});
}

// The extent as an int64, also where only a run tells it.
Term extent_of_last(Builder& b, Expr x, Dim n) {
  if (n.is_const()) return {b, b.constant(Tensor::scalar_int(kInt64, std::max<int64_t>(n.value(), 1)))};
  const Expr shape = call(b, kShapeOf, {x}, {{"dtype", kInt64}});
  const Expr last =
      b.constant(Tensor::scalar_int(kInt64, static_cast<int64_t>(tensor_type_of(x).rank()) - 1));
  const Term extent(b, call(b, kTake, {shape, last}, {{"axis", int64_t{0}}}));
  return extent.apply(kMaximum, {extent, extent.number(1)});
}

Expr expand_dft(Builder& b, const DftAttrs& a, const Site& c) {
  const Term re(b, c.args[0]), im(b, c.args[1]);
  const Dim n = tensor_type_of(re).dims.back();
  const Term extent = extent_of_last(b, re, n);
  const Tables t = tables(b, re.dtype(), n, extent, n);
  const Term re_cos = product_of(re, t.cosines), re_sin = product_of(re, t.sines);
  const Term im_cos = product_of(im, t.cosines), im_sin = product_of(im, t.sines);
  if (!a.inverse) return b.tuple({re_cos + im_sin, im_cos - re_sin});
  const Term scale = cast_to(re.dtype(), extent);
  return b.tuple({(re_cos - im_sin) / scale, (im_cos + re_sin) / scale});
}

// Two sums of n terms, the sum of both, and the rounding of the tables.
int64_t dft_length(std::span<const Type> args, const Attrs&) {
  const Dim n = args[0]->as<TensorType>()->dims.back();
  return (n.is_const() ? n.value() : 1) + 4;
}

// Parts of the sums may cancel.
void terms_of_dft(const Attrs& attrs, Args in, Results out) {
  const int64_t n = in[0].shape().back();
  const double scale = read_attrs<DftAttrs>(attrs).inverse ? 1.0 / static_cast<double>(n) : 1.0;
  for (int64_t line = 0; n > 0 && line < in[0].size() / n; ++line) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::fabs(in[0].get(line * n + j)) + std::fabs(in[1].get(line * n + j));
    for (Tensor& part : out) {
      for (int64_t k = 0; k < n; ++k) part.set(line * n + k, sum * scale);
    }
  }
}

// --- stft ----------------------------------------------------------------------------------------

struct StftAttrs {
  int64_t n_fft = -1, hop_length = -1, win_length = -1;
  bool normalized = false;
  bool onesided = true;
  static constexpr auto kFields =
      fields(field("n_fft", &StftAttrs::n_fft, "elements that are transformed at once").required(),
             field("hop_length", &StftAttrs::hop_length, "from one frame to the next; below 1: n_fft // 4"),
             field("win_length", &StftAttrs::win_length, "elements of the window; below 1: n_fft"),
             field("normalized", &StftAttrs::normalized, "divided by the root of n_fft"),
             field("onesided", &StftAttrs::onesided, "only the first n_fft // 2 + 1 frequencies"));

  int64_t hop() const { return hop_length < 1 ? std::max<int64_t>(n_fft / 4, 1) : hop_length; }
  int64_t window() const { return win_length < 1 ? n_fft : win_length; }
  int64_t frequencies() const { return onesided ? n_fft / 2 + 1 : n_fft; }
};

// stft(x, w)[.., k, f, 0] = sum over j < n_fft of w[j] x[.., f hop_length + j] cos(2 pi j k / n_fft)
// stft(x, w)[.., k, f, 1] = the same with -sin in the place of cos
//
// A window shorter than n_fft stands in the middle, between zeros, as PyTorch has it. Frames lie
// within the data: nothing is put around them.
//
//   (Tensor[(b.., l), d], Tensor[(win_length), d]) -> Tensor[(b.., frequencies, frames, 2), d]
//   C1: d is floating, and both have one dtype.   C2: data has one or two axes.
//   C3: n_fft is positive, and win_length at most n_fft.
//   C4: the window has one axis, of win_length.
//   C5: data is at least as long as n_fft.
Type relate_stft(Relation& r, const StftAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  r.require_same_dtype(1, 0);     // C1
  const TensorType& x = r.tensor(0);
  r.require(x.rank() == 1 || x.rank() == 2, 0, cat("expected rank 1 or 2, found ", x.rank()));  // C2
  constexpr int64_t kMost = 1 << 20;  // the tables have its square
  r.require(a.n_fft >= 1 && a.n_fft <= kMost, kAttributes,
            cat("n_fft must be in [1, ", kMost, "], not ", a.n_fft));  // C3
  r.require(a.window() <= a.n_fft, kAttributes,
            cat("win_length is ", a.window(), ", above n_fft, which is ", a.n_fft));  // C3
  r.require_rank(1, 1);                                                               // C4
  r.same(r.tensor(1).dims[0], Dim(a.window()), 1, "length of the window");            // C4
  const Dim length = x.dims.back();
  if (length.is_const()) {
    r.require(length.value() >= a.n_fft, 0,
              cat("has ", length.value(), " elements, fewer than n_fft, which is ", a.n_fft));  // C5
  } else {
    r.same(max(length, Dim(a.n_fft)), length, 0, "length of the data");  // C5
  }
  std::vector<Dim> out(x.dims.begin(), x.dims.end() - 1);
  out.emplace_back(a.frequencies());
  out.push_back(floor_div(length - Dim(a.n_fft), Dim(a.hop())) + Dim(1));
  out.emplace_back(2);
  return r.tensor_of(out, x.dtype);
}

Expr expand_stft(Builder& b, const StftAttrs& a, const Site& c) {
  const auto rank = static_cast<int64_t>(c.tensor(0).rank());
  const Term frames(b, call(b, kSlidingWindow, {c.args[0]},
                            {{"axis", rank - 1},
                             {"window_shape", std::vector<int64_t>{a.n_fft}},
                             {"strides", std::vector<int64_t>{a.hop()}}}));
  const int64_t missing = a.n_fft - a.window();
  Term window(b, c.args[1]);
  // One element would be repeated.
  if (c.tensor(1).dims[0] != Dim(a.window()))
    window = {b, call(b, kReshape, {window}, {{"newshape", std::vector<int64_t>{a.window()}}})};
  if (missing > 0) window = {b, zero_padded(b, window, {{Dim(missing / 2), Dim(missing - missing / 2)}})};
  Term x = frames * window;
  if (a.normalized) x = x / std::sqrt(static_cast<double>(a.n_fft));
  const Term extent(b, b.constant(Tensor::scalar_int(kInt64, a.n_fft)));
  const Tables t = tables(b, x.dtype(), Dim(a.n_fft), extent, Dim(a.frequencies()));
  const Expr both =
      call(b, kStack, {b.tuple({product_of(x, t.cosines), -product_of(x, t.sines)})}, {{"axis", rank + 1}});
  std::vector<int64_t> order{rank, rank - 1, rank + 1};
  if (rank == 2) order.insert(order.begin(), 0);
  return transposed(b, both, order);
}

// A sum of n_fft terms, of which each is a product of three, maybe divided.
int64_t stft_length(std::span<const Type>, const Attrs& attrs) {
  return read_attrs<StftAttrs>(attrs).n_fft + 4;
}

// Parts of the sums may cancel.
void terms_of_stft(const Attrs& attrs, Args in, Results out) {
  const StftAttrs a = read_attrs<StftAttrs>(attrs);
  const int64_t length = in[0].shape().back();
  const int64_t begin = (a.n_fft - a.window()) / 2;
  const double scale = a.normalized ? 1 / std::sqrt(static_cast<double>(a.n_fft)) : 1;
  int64_t n = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    const int64_t first = (i.size() == 4 ? i[0] * length : 0) + i[i.size() - 2] * a.hop() + begin;
    double sum = 0;
    for (int64_t j = 0; j < a.window(); ++j) sum += std::fabs(in[1].get(j) * in[0].get(first + j));
    out[0].set(n++, sum * scale);
  });
}

}  // namespace

const OpDef kDft = define<DftAttrs>({
    .name = "dft",
    .doc = "The discrete Fourier transform of complex numbers along the last axis.",
    .params = {{"re_data", "the real parts"}, {"im_data", "the imaginary parts"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = dft_length, .terms = terms_of_dft},
    .relate = relate_dft,
    .expand = expand_dft,
});

const OpDef kStft = define<StftAttrs>({
    .name = "stft",
    .doc = "The discrete Fourier transforms of short frames of a signal.",
    .params = {{"data", "a signal, or a batch of them"}, {"window", "what each frame is multiplied by"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = stft_length, .terms = terms_of_stft},
    .relate = relate_stft,
    .expand = expand_stft,
});

}  // namespace relay::op
