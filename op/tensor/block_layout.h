// Layouts with blocks: in NCHW16c the channels are cut into blocks of 16, whose elements
// lie side by side.
//
// An upper-case letter is an axis, or what is left of it: the number of its blocks. A number and a
// lower-case letter is a block of that axis. Where the blocks do not divide an axis, the last one
// is filled up; what is in there means nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"
#include "kernel/expr.h"

namespace relay::op {

class BlockLayout {
 public:
  // Every letter of `axes` must be there once. Throws a RelationError that blames the attribute.
  static BlockLayout read(std::string_view attribute, std::string_view text, std::string_view axes);

  size_t rank() const { return parts_.size(); }
  // The number of elements in a block of that axis; 1 if it is not cut.
  int64_t block(size_t axis) const;

  // Where the axis, or the number of its blocks, stands in the tensor.
  size_t place(size_t axis) const;

  // From the extents of the axes to those of the tensor, and back (blocks that are filled
  // up count whole).
  std::vector<Dim> shape(std::span<const Dim> axes) const;
  std::vector<Dim> axes(std::span<const Dim> shape) const;
  // What is wrong with a tensor of this shape in this layout; empty if nothing is known to be.
  std::string misfit(std::span<const Dim> shape) const;

  // From the coordinates along the axes to the index of the element, and back. T: int64_t
  // or kernel::Expr.
  template <class T>
  std::vector<T> index(std::vector<T> at) const {
    std::vector<T> out(parts_.size());
    for (size_t p = parts_.size(); p-- > 0;) {  // of several blocks of an axis the last is the innermost
      const Part& part = parts_[p];
      T& left = at[part.axis];
      if (part.size == 0) {
        out[p] = over(left, inner(p));
      } else {
        out[p] = rest(over(left, inner(p)), part.size);
      }
    }
    return out;
  }
  template <class T>
  std::vector<T> coordinates(std::span<const T> index) const {
    std::vector<T> out(axes_);
    std::vector<bool> begun(axes_, false);
    for (size_t p = 0; p < parts_.size(); ++p) {
      const T term = inner(p) == 1 ? index[p] : index[p] * inner(p);
      T& sum = out[parts_[p].axis];
      sum = begun[parts_[p].axis] ? sum + term : term;
      begun[parts_[p].axis] = true;
    }
    return out;
  }

 private:
  struct Part {
    size_t axis;
    int64_t size;  // of a block; 0: the number of blocks
  };

  static int64_t over(int64_t a, int64_t b) { return a / b; }
  static int64_t rest(int64_t a, int64_t b) { return a % b; }
  static kernel::Expr over(kernel::Expr a, int64_t b) { return floor_div(a, b); }
  static kernel::Expr rest(kernel::Expr a, int64_t b) { return floor_mod(a, b); }
  // How many elements along the axis one step of the part is.
  int64_t inner(size_t part) const;

  std::vector<Part> parts_;
  size_t axes_ = 0;
};

}  // namespace relay::op
