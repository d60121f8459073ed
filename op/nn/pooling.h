// What pooling and its gradients share: attributes, the relation, the elements of each window.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {

struct MaxPoolAttrs {
  std::vector<int64_t> pool_size = {};
  std::vector<int64_t> strides = {1, 1}, dilation = {1, 1}, padding = {0, 0};
  std::string layout = "NCHW", out_layout = {};
  bool ceil_mode = false;
  static constexpr auto kFields = fields(
      field("pool_size", &MaxPoolAttrs::pool_size, "the window: one number, or height and width").required(),
      field("strides", &MaxPoolAttrs::strides, "how far the window moves: one number, or height and width"),
      field("dilation", &MaxPoolAttrs::dilation, "the distance between the elements that a window covers"),
      field("padding", &MaxPoolAttrs::padding,
            "around the image: one number, (height, width) or (top, left, bottom, right)"),
      field("layout", &MaxPoolAttrs::layout, "an order of the letters NCHW"),
      field("out_layout", &MaxPoolAttrs::out_layout, "the data's layout, which \"\" stands for"),
      field("ceil_mode", &MaxPoolAttrs::ceil_mode,
            "a last window that starts inside of the image or the padding before it may end outside"));
};

struct AvgPoolAttrs : MaxPoolAttrs {
  bool count_include_pad = false;
  static constexpr auto kFields = std::tuple_cat(
      MaxPoolAttrs::kFields, fields(field("count_include_pad", &AvgPoolAttrs::count_include_pad,
                                          "the padding counts as zeros, and not as nothing")));
};

// The attributes, understood.
struct Pool {
  Layout layout;
  Window window;
  std::array<int64_t, 2> size = {1, 1};
  bool ceil = false;
  bool include_pad = false;

  // How many elements of a window count along an axis, where `result` is the window's index and
  // `extent` the data's.
  kernel::Expr count(kernel::Builder& k, size_t axis, kernel::Expr result, kernel::Expr extent) const;
  int64_t count(size_t axis, int64_t result, int64_t extent) const;
  // Which elements of the window of that result lie in [low, high) of the data: those from the
  // first to before the second.
  std::pair<int64_t, int64_t> inside(size_t axis, int64_t result, int64_t low, int64_t high) const;
};
Pool read_pool(const MaxPoolAttrs& a);
Pool read_pool(const AvgPoolAttrs& a);

// The shape of the result.
std::vector<Dim> pooled(const Pool& p, const TensorType& x);
// For calls that the compiler writes.
std::vector<AttrArg> pool_attrs(const MaxPoolAttrs& a);
std::vector<AttrArg> pool_attrs(const AvgPoolAttrs& a);
// The number of elements of a window, for tolerances.
template <class A>
int64_t window_length(std::span<const Type>, const Attrs& attrs) {
  const Pool p = read_pool(read_attrs<A>(attrs));
  return p.size[0] * p.size[1];
}

// Calls f(i, elements, divisor) for each element i of a result of this shape, with the numbers of
// the elements of x in its window, and by what an average of them is to be divided.
template <class F>
void for_each_window(const Pool& p, const Shape& x, const Shape& result, const F& f) {
  const std::array<int64_t, 4> extents = parts(p.layout, x), step = strides_of(x, p.layout);
  std::vector<int64_t> elements;
  int64_t number = 0;
  for_each_index(result, [&](const std::vector<int64_t>& index) {
    const std::array<int64_t, 4> at = parts(p.layout, index);
    elements.clear();
    const auto place = [&](size_t axis, int64_t k) {
      return at[2 + axis] * p.window.stride[axis] + k * p.window.dilation[axis] - p.window.before[axis];
    };
    // A window may be much larger than the data, most of it padding.
    const auto [top, bottom] = p.inside(0, at[2], 0, extents[2]);
    const auto [left, right] = p.inside(1, at[3], 0, extents[3]);
    for (int64_t u = top; u < bottom; ++u) {
      const int64_t row = place(0, u);
      for (int64_t v = left; v < right; ++v) {
        const int64_t column = place(1, v);
        elements.push_back(at[0] * step[0] + at[1] * step[1] + row * step[2] + column * step[3]);
      }
    }
    f(number++, elements, p.count(0, at[2], extents[2]) * p.count(1, at[3], extents[3]));
  });
}

// To lower gradients: of the window that covers element i of the data with its element (u, v),
// where the window's result is, and whether there is such a window.
struct Covering {
  std::vector<kernel::Expr> at;
  kernel::Expr exists;
};
Covering covering(kernel::Builder& k, const Pool& p, kernel::Indices i, kernel::Indices r,
                  const kernel::Tensor& result);

}  // namespace relay::op
