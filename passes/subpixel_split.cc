#include "passes/subpixel_split.h"

#include <algorithm>

#include "base/integers.h"

namespace relay::passes {
namespace {

// More convolutions than this are not worth their calls.
constexpr int64_t kMostConvolutions = 16;

// How often a product is computed for that many channels: for a block of them at a time, or one by
// one if they would fill less than half of one.
int64_t times(int64_t channels, int64_t block) {
  return 2 * channels < block ? channels : ceil_div(channels, block);
}

// Which elements of the data the phases along an axis see: those from a + first to a + last.
struct Reach {
  int64_t first = 0, last = 0;
  int64_t taps() const { return last - first + 1; }
};

// One axis of height and width.
struct AxisPhases {
  int64_t stride, padding, window, data, extent;
  std::vector<Reach> each;

  AxisPhases(const TransposedConvolution& c, size_t axis, int64_t window_extent)
      : stride(c.stride[axis]), padding(c.padding[axis]), window(window_extent), data(c.data[axis]) {
    // How far apart the elements come to lie says nothing if there is one of them; then every
    // result is a phase.
    if (data == 1) stride = c.results[axis];
    extent = ceil_div(c.results[axis], stride);
    for (int64_t r = 0; r < stride; ++r) each.push_back(reach(r));
  }

  // The element of the window by which phase r multiplies x[a + d]; -1 if there is none.
  int64_t tap(int64_t r, int64_t d) const {
    const int64_t k = r + padding - d * stride;
    return k >= 0 && k < window ? k : -1;
  }

  Reach reach(int64_t r) const {
    Reach out;
    bool any = false;
    for (int64_t d = 1 - extent; d < data; ++d) {  // others see none of the data
      if (tap(r, d) < 0) continue;
      if (!any) out.first = d;
      out.last = d;
      any = true;
    }
    return all_of_it(out);
  }

  Reach united() const {
    Reach out = each.front();
    for (const Reach& r : each) out = {std::min(out.first, r.first), std::max(out.last, r.last)};
    return out;
  }

 private:
  // A convolution adds padding and takes nothing away, so windows must reach the first and
  // the last element.
  Reach all_of_it(const Reach& r) const {
    return {std::min<int64_t>(r.first, 0), std::max(r.last, data - extent)};
  }
};

// The convolution of the phases [from, to) along each axis.
SubpixelConvolution convolution(const Tensor& weight, const std::array<AxisPhases, 2>& axes,
                                const std::array<int64_t, 2>& from, const std::array<int64_t, 2>& to,
                                const std::array<Reach, 2>& reach) {
  const int64_t in = weight.shape()[0], out = weight.shape()[1];
  const int64_t down = to[0] - from[0], across = to[1] - from[1];
  SubpixelConvolution c{Tensor(kFloat32, {down * across * out, in, reach[0].taps(), reach[1].taps()}), {}};
  const std::span<const float> w = weight.as<float>();
  const std::span<float> to_write = c.weight.as<float>();
  size_t at = 0;
  for (int64_t row = from[0]; row < to[0]; ++row) {
    for (int64_t column = from[1]; column < to[1]; ++column) {
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t i = 0; i < in; ++i) {
          for (int64_t d = reach[0].first; d <= reach[0].last; ++d) {
            for (int64_t e = reach[1].first; e <= reach[1].last; ++e, ++at) {
              const int64_t u = axes[0].tap(row, d), v = axes[1].tap(column, e);
              if (u < 0 || v < 0) continue;  // stays zero
              to_write[at] =
                  w[static_cast<size_t>(((i * out + o) * axes[0].window + u) * axes[1].window + v)];
            }
          }
        }
      }
    }
  }
  for (size_t a = 0; a < 2; ++a) {
    c.padding[a] = -reach[a].first;
    c.padding[2 + a] = axes[a].extent + reach[a].last - axes[a].data;
  }
  return c;
}

}  // namespace

SubpixelSplit split_subpixels(const TransposedConvolution& c, const Tensor& weight, int64_t block) {
  const std::array<AxisPhases, 2> axes{AxisPhases(c, 0, weight.shape()[2]),
                                       AxisPhases(c, 1, weight.shape()[3])};
  const int64_t out = weight.shape()[1], number = axes[0].stride * axes[1].stride;
  const std::array<Reach, 2> united{axes[0].united(), axes[1].united()};
  int64_t products = 0;  // for each element of the data, of all phases one by one
  for (const Reach& row : axes[0].each) {
    for (const Reach& column : axes[1].each) products += times(out, block) * row.taps() * column.taps();
  }
  const bool one = number > kMostConvolutions ||
                   times(number * out, block) * united[0].taps() * united[1].taps() <= products;

  SubpixelSplit subpixels{{axes[0].stride, axes[1].stride}, {axes[0].extent, axes[1].extent}, {}};
  if (one) {
    subpixels.convolutions.push_back(convolution(weight, axes, {0, 0}, subpixels.count, united));
    return subpixels;
  }
  for (int64_t r = 0; r < subpixels.count[0]; ++r) {
    for (int64_t s = 0; s < subpixels.count[1]; ++s) {
      subpixels.convolutions.push_back(
          convolution(weight, axes, {r, s}, {r + 1, s + 1},
                      {axes[0].each[static_cast<size_t>(r)], axes[1].each[static_cast<size_t>(s)]}));
    }
  }
  return subpixels;
}

}  // namespace relay::passes
