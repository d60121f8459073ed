// What pooling and its gradients share: attributes, the relation, the elements of each window.
#pragma once

#include <string>
#include <vector>

#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {

// Of pooling of images; others derive from it and say how many spatial axes there are.
struct MaxPoolAttrs {
  std::string spatial;  // the letters of the spatial axes: no attribute, but what the operator is about
  std::vector<int64_t> pool_size = {};
  std::vector<int64_t> strides, dilation, padding;
  std::string layout, out_layout = {};
  bool ceil_mode = false;

  MaxPoolAttrs() : MaxPoolAttrs("HW") {}
  explicit MaxPoolAttrs(const std::string& letters)
      : spatial(letters),
        strides(letters.size(), 1),
        dilation(letters.size(), 1),
        padding(letters.size(), 0),
        layout("NC" + letters) {}

  static constexpr auto kFields = fields(
      field("pool_size", &MaxPoolAttrs::pool_size, "the window: one number, or one for each spatial axis")
          .required(),
      field("strides", &MaxPoolAttrs::strides,
            "how far the window moves: one number, or one for each spatial axis"),
      field("dilation", &MaxPoolAttrs::dilation, "the distance between the elements that a window covers"),
      field("padding", &MaxPoolAttrs::padding,
            "around the data: one number, one for each spatial axis, or twice as many: before each axis, "
            "then behind each"),
      field("layout", &MaxPoolAttrs::layout, "an order of the letters of the default"),
      field("out_layout", &MaxPoolAttrs::out_layout, "the data's layout, which \"\" stands for"),
      field("ceil_mode", &MaxPoolAttrs::ceil_mode,
            "a last window that starts inside of the data or the padding before it may end outside"));
};

struct AvgPoolAttrs : MaxPoolAttrs {
  bool count_include_pad = false;

  AvgPoolAttrs() = default;
  explicit AvgPoolAttrs(const std::string& letters) : MaxPoolAttrs(letters) {}

  static constexpr auto kFields = std::tuple_cat(
      MaxPoolAttrs::kFields, fields(field("count_include_pad", &AvgPoolAttrs::count_include_pad,
                                          "the padding counts as zeros, and not as nothing")));
};

struct MaxPool3dAttrs : MaxPoolAttrs {
  MaxPool3dAttrs() : MaxPoolAttrs("DHW") {}
};

struct AvgPool3dAttrs : AvgPoolAttrs {
  AvgPool3dAttrs() : AvgPoolAttrs("DHW") {}
};

// The attributes, understood.
struct Pool {
  Layout layout;
  Window window;
  std::vector<int64_t> size;
  bool ceil = false;
  bool include_pad = false;

  size_t axes() const { return window.axes(); }
  // The extents of a window, to reduce over.
  std::vector<kernel::Expr> extents(kernel::Builder& k) const;
  // How many elements of a window count along an axis, where `result` is the window's index and
  // `extent` the data's.
  kernel::Expr count(kernel::Builder& k, size_t axis, kernel::Expr result, kernel::Expr extent) const;
  int64_t count(size_t axis, int64_t result, int64_t extent) const;
  // How many elements of the whole window count, where `result` and `extents` have all axes.
  kernel::Expr count(kernel::Builder& k, std::span<const kernel::Expr> result,
                     std::span<const kernel::Expr> extents) const;
  int64_t count(std::span<const int64_t> result, std::span<const int64_t> extents) const;
  // Which elements of the window of that result lie in [low, high) of the data: those from the
  // first to before the second.
  std::pair<int64_t, int64_t> inside(size_t axis, int64_t result, int64_t low, int64_t high) const;
};
// The number of elements of a window fits 63 bits.
Pool read_pool(const MaxPoolAttrs& a);
Pool read_pool(const AvgPoolAttrs& a);

// The shape of the result.
std::vector<Dim> pooled(Relation& r, const Pool& p, const TensorType& x);
// For calls that the compiler writes.
std::vector<AttrArg> pool_attrs(const MaxPoolAttrs& a);
std::vector<AttrArg> pool_attrs(const AvgPoolAttrs& a);
// The number of elements of a window, for tolerances.
template <class A>
int64_t window_length(std::span<const Type>, const Attrs& attrs) {
  int64_t length = 1;
  for (const int64_t extent : read_pool(read_attrs<A>(attrs)).size) length *= extent;
  return length;
}

// Sets `out` to the numbers of the elements of x in the window at `place`, in row-major order.
void elements_of(const Pool& p, std::span<const int64_t> extents, std::span<const int64_t> step,
                 std::span<const int64_t> place, std::vector<int64_t>& out);

// Calls f(i, elements, divisor) for each element i of a result of this shape, with the numbers of
// the elements of x in its window, and by what an average of them is to be divided.
template <class F>
void for_each_window(const Pool& p, const Shape& x, const Shape& result, const F& f) {
  const std::vector<int64_t> extents = p.layout.extents(x), step = strides_of(x, p.layout);
  std::vector<int64_t> elements;
  int64_t number = 0;
  for_each_index(result, [&](const std::vector<int64_t>& index) {
    const std::vector<int64_t> place = p.layout.coordinates(index);
    elements_of(p, extents, step, place, elements);
    f(number++, elements, p.count(place, extents));
  });
}

// To lower gradients: of the window that covers element i of the data with its element r,
// where the window's result is, and whether there is such a window.
struct Covering {
  std::vector<kernel::Expr> at;
  kernel::Expr exists;
};
Covering covering(kernel::Builder& k, const Pool& p, kernel::Indices i, kernel::Indices r,
                  const kernel::Tensor& result);

}  // namespace relay::op
