// How the elements of a tensor lie in memory: the order of its axes, and which of them are cut into
// blocks.
//
// A tensor has axes in a plain order, each with a letter. A layout says where each of them lies:
//
//   text      axes   plain extents   shape             where the element (n, c, h, w) is
//   NHWC      NCHW   2, 40, 7, 9     2, 7, 9, 40       (n, h, w, c)
//   NCHW16c   NCHW   2, 40, 7, 9     2, 3, 7, 9, 16    (n, c / 16, h, w, c % 16)
//   NC32n     NC     40, 100         2, 100, 32        (n / 32, c, n % 32), of (n, c)
//
// An upper-case letter is an axis, or the number of its blocks. A number and a lower-case letter
// are a block of that axis. Of several blocks of an axis the last one is the innermost. Where
// blocks do not divide an axis, the last block is filled up; what is in there means nothing.
//
// This is the one owner of such texts and of what follows from them. An operator reads a layout
// from its attributes (op/layout.h), and a pass makes one by `cut`. A rule of the schedules makes
// the layout that it wants, and compares its index with that of a load
// (kernel/schedule/cpu/product_plan.cc). A buffer has none yet: its fields are part of the text and
// the hash of every kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/expr.h"

namespace relay::kernel {

class Layout {
 public:
  // A dim of the tensor.
  struct Part {
    size_t axis;
    int64_t size = 0;  // of a block; 0: the axis, or the number of its blocks
    int64_t step = 1;  // how far the next index is along the axis

    bool is_block() const { return size != 0; }
    friend bool operator==(const Part&, const Part&) = default;
  };

  // The layout of a scalar.
  Layout() = default;
  // The axes in this order, none of them cut. Their letters must be different ones.
  static Layout plain(std::string_view axes);
  // Reads a text. Each letter of `axes` must be there once. Returns nullopt and says in `why` what
  // is wrong, if something is.
  static std::optional<Layout> parse(std::string_view text, std::string_view axes, std::string& why);
  // A layout of so many axes without letters, which has no text. `parts` must have one of each axis
  // that is no block. Their steps are found here.
  Layout(size_t axes, std::vector<Part> parts);

  // The same with a block of the axis, behind everything else: of NCHW the cut of 1 by 16 is
  // NCHW16c.
  Layout cut(size_t axis, int64_t size) const;

  std::string text() const;
  size_t axes() const { return axes_; }
  size_t rank() const { return parts_.size(); }
  std::span<const Part> parts() const { return parts_; }
  // The number of elements in a block of the axis; 1 if it is not cut.
  int64_t block(size_t axis) const;
  // Where the axis, or the number of its blocks, stands in the tensor.
  size_t place(size_t axis) const;
  // Where the innermost block of the axis stands; the axis must be cut.
  size_t block_place(size_t axis) const;

  // From the extents of the axes to those of the tensor, and back (blocks that are filled up count
  // whole). For lists of int64_t, Expr and Dim.
  template <class List>
  auto shape(const List& extents) const;
  template <class List>
  auto extents(const List& shape) const;
  // From the coordinates along the axes to the index of the element, and back. For lists of int64_t
  // and Expr.
  template <class List>
  auto index(const List& coordinates) const;
  template <class List>
  auto coordinates(const List& index) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  // The elements of a list.
  template <class List>
  using Of = std::decay_t<decltype(std::declval<const List&>()[0])>;

  static int64_t blocks(int64_t extent, int64_t size) { return (extent + size - 1) / size; }
  static Expr blocks(Expr extent, int64_t size) { return floor_div(extent + (size - 1), size); }
  template <class Dim>
  static Dim blocks(Dim extent, int64_t size) {
    return ceil_div(extent, Dim(size));
  }
  template <class T>
  static T number(int64_t value, const T&) {
    return T(value);
  }
  static Expr number(int64_t value, Expr like) { return like->pool->integer(value); }
  static int64_t over(int64_t a, int64_t b) { return a / b; }
  static int64_t rest(int64_t a, int64_t b) { return a % b; }
  static Expr over(Expr a, int64_t b) { return floor_div(a, b); }
  static Expr rest(Expr a, int64_t b) { return floor_mod(a, b); }

  std::string letters_;  // of the axes; empty if they have none
  size_t axes_ = 0;
  std::vector<Part> parts_;
};

// Matrices of so many columns that lie side by side, row after row, as products read them: NC32n of
// a weight with N outputs and C inputs.
Layout panel_layout(int64_t columns);
inline constexpr size_t kPanelColumns = 0, kPanelRows = 1;  // the axes of a panel layout

template <class List>
auto Layout::shape(const List& extents) const {
  std::vector<Of<List>> out;
  out.reserve(parts_.size());
  for (const Part& p : parts_) {
    const Of<List>& extent = extents[p.axis];
    out.push_back(p.is_block() ? number(p.size, extent) : p.step == 1 ? extent : blocks(extent, p.step));
  }
  return out;
}

template <class List>
auto Layout::extents(const List& shape) const {
  std::vector<Of<List>> out(axes_);
  std::vector<bool> begun(axes_, false);
  for (size_t d = 0; d < parts_.size(); ++d) {
    const size_t axis = parts_[d].axis;
    out[axis] = begun[axis] ? out[axis] * shape[d] : shape[d];
    begun[axis] = true;
  }
  return out;
}

template <class List>
auto Layout::index(const List& coordinates) const {
  std::vector<Of<List>> out;
  out.reserve(parts_.size());
  for (const Part& p : parts_) {
    const Of<List> whole = over(coordinates[p.axis], p.step);
    out.push_back(p.is_block() ? rest(whole, p.size) : whole);
  }
  return out;
}

template <class List>
auto Layout::coordinates(const List& index) const {
  std::vector<Of<List>> out(axes_);
  std::vector<bool> begun(axes_, false);
  for (size_t d = 0; d < parts_.size(); ++d) {
    const Part& p = parts_[d];
    const Of<List> term = p.step == 1 ? index[d] : index[d] * p.step;
    out[p.axis] = begun[p.axis] ? out[p.axis] + term : term;
    begun[p.axis] = true;
  }
  return out;
}

}  // namespace relay::kernel
