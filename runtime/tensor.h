// Tensor: a dense, row-major array of elements of one dtype.
//
// A handle: copies share the elements. Elements must not be changed once a tensor is
// shared; `copy()` first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/dtype.h"

namespace relay {

using Shape = std::vector<int64_t>;  // extents, outermost first; () is a scalar

// The number of elements, or nothing if a dim is negative or the product does not fit 63 bits.
std::optional<int64_t> element_count(std::span<const int64_t> shape);
std::string show(const Shape& shape);  // "(1, 3, 224)"

// Bounds the memory of a run. While one is installed on a thread, each tensor made there asks it
// first, and so does whoever makes a list about as long as a tensor there (`before_taking`). The
// answer "no" is an exception.
class MemoryBound {
 public:
  virtual void before(size_t bytes) = 0;  // so many more are about to be taken

 protected:
  ~MemoryBound() = default;
};

// Installs a bound on this thread for a scope. The bound around it is not asked meanwhile.
class BoundMemory {
 public:
  explicit BoundMemory(MemoryBound& bound);
  ~BoundMemory();
  BoundMemory(const BoundMemory&) = delete;
  BoundMemory& operator=(const BoundMemory&) = delete;

 private:
  MemoryBound* outer_;
};

// Asks this thread's bound, if it has one, before so many bytes are taken.
void before_taking(size_t bytes);
// A list for an operator's work, asked for.
template <class T>
std::vector<T> work_list(int64_t count) {
  before_taking(static_cast<size_t>(count) * sizeof(T));
  return std::vector<T>(static_cast<size_t>(count));
}

class Tensor {
 public:
  Tensor() = default;  // no tensor at all
  // All zero. Throws std::bad_alloc if the size does not fit the address space.
  Tensor(DType dtype, Shape shape);
  // Shares memory that `owner` keeps alive. `data` must be aligned for the dtype.
  Tensor(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner);

  template <class T>
  static Tensor of(DType dtype, Shape shape, std::span<const T> values) {
    Tensor t(dtype, std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), static_cast<double>(values[i]));
    return t;
  }
  static Tensor scalar(DType dtype, double value);
  static Tensor scalar_int(DType dtype, int64_t value);

  bool defined() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t rank() const { return shape_.size(); }
  int64_t size() const { return size_; }  // number of elements
  size_t bytes() const { return static_cast<size_t>(size_) * dtype_.bytes(); }

  // Element `i` in row-major order. `get` gives a double (exact for all but large 64-bit integers),
  // `get_int` an int64 (a uint64 by its bits). Storing rounds once, to nearest even. As an integer,
  // `set` stores the nearest one that the dtype has (see integer_of_real), and `set_int` wraps.
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

  // All elements as doubles / 64-bit integers: how operators are evaluated for
  // reading, not for speed.
  std::vector<double> doubles() const;
  std::vector<int64_t> ints() const;

  // The elements as they lie in memory. T must have the dtype's size.
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<T> as() {
    return {static_cast<T*>(data_), static_cast<size_t>(size_)};
  }
  const void* data() const { return data_; }
  void* data() { return data_; }

  Tensor copy() const;
  Tensor reshaped(Shape shape) const;   // shares the elements; the count must agree
  Tensor converted(DType dtype) const;  // element by element, as `cast` does

 private:
  DType dtype_;
  Shape shape_;
  int64_t size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Same dtype, shape and bits (so NaN equals itself and -0 differs from 0).
bool identical(const Tensor& a, const Tensor& b);

// A short text for people: "Tensor[(2, 2), float32] [[1, 2], [3, 4]]", cut after `most` elements.
std::string show(const Tensor& t, int64_t most = 64);

}  // namespace relay
