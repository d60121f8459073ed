#include "runtime/tensor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace relay {
namespace {

// Wide enough for any vector instruction that may read the elements.
constexpr size_t kAlignment = 64;

// Calls f with a value of the C++ type that holds the elements; small floats come
// as their raw bits.
template <class F>
decltype(auto) with_storage(DType d, F&& f) {
  switch (d.code) {
    case DTypeCode::kBool: return f(uint8_t{});
    case DTypeCode::kInt:
      switch (d.bits) {
        case 16: return f(int16_t{});
        case 32: return f(int32_t{});
        case 64: return f(int64_t{});
        default: return f(int8_t{});
      }
    case DTypeCode::kUInt:
      switch (d.bits) {
        case 16: return f(uint16_t{});
        case 32: return f(uint32_t{});
        case 64: return f(uint64_t{});
        default: return f(uint8_t{});
      }
    case DTypeCode::kFloat:
      if (d.bits == 64) return f(double{});
      if (d.bits == 32) return f(float{});
      return f(uint16_t{});
    case DTypeCode::kBFloat: return f(uint16_t{});
    default: return f(uint8_t{});
  }
}

bool small_float(DType d) { return d.is_float() && d.bits <= 16; }

// Keeps the low bits of a 4-bit integer, extended to the byte that holds it.
int64_t wrap4(DType d, int64_t v) {
  const int64_t low = v & 15;
  return d.is_signed_int() && low >= 8 ? low - 16 : low;
}

template <class T>
double load(DType d, T raw) {
  if (small_float(d)) return float_of_bits(d, static_cast<uint16_t>(raw));
  return static_cast<double>(raw);
}

template <class T>
int64_t load_int(DType d, T raw) {
  if (d.is_float()) return integer_of_real(kInt64, load(d, raw));
  return static_cast<int64_t>(raw);
}

thread_local MemoryBound* memory_bound = nullptr;

}  // namespace

void before_taking(size_t bytes) {
  if (memory_bound) memory_bound->before(bytes);
}

BoundMemory::BoundMemory(MemoryBound& bound) : outer_(std::exchange(memory_bound, &bound)) {}
BoundMemory::~BoundMemory() { memory_bound = outer_; }

std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  // A zero anywhere makes the count zero, however large the others are.
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t n = 1;
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(n, d, &n)) return std::nullopt;
  }
  return n;
}

std::string show(const Shape& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  const std::optional<int64_t> count = element_count(shape_);
  size_t need;
  if (!count || __builtin_mul_overflow(static_cast<size_t>(*count), dtype_.bytes(), &need) ||
      need > std::numeric_limits<size_t>::max() / 2) {
    throw std::bad_alloc();
  }
  size_ = *count;
  const size_t rounded = (std::max<size_t>(need, 1) + kAlignment - 1) / kAlignment * kAlignment;
  before_taking(rounded);
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  owner_ = std::shared_ptr<const void>(memory, [](const void* p) { std::free(const_cast<void*>(p)); });
  data_ = memory;
}

Tensor::Tensor(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(std::move(shape)), data_(data), owner_(std::move(owner)) {
  const std::optional<int64_t> count = element_count(shape_);
  if (!count) throw std::bad_alloc();
  size_ = *count;
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor t(dtype, Shape{});
  t.set(0, value);
  return t;
}

Tensor Tensor::scalar_int(DType dtype, int64_t value) {
  Tensor t(dtype, Shape{});
  t.set_int(0, value);
  return t;
}

double Tensor::get(int64_t i) const {
  return with_storage(dtype_, [&]<class T>(T) { return load(dtype_, static_cast<const T*>(data_)[i]); });
}

int64_t Tensor::get_int(int64_t i) const {
  return with_storage(dtype_, [&]<class T>(T) { return load_int(dtype_, static_cast<const T*>(data_)[i]); });
}

void Tensor::set(int64_t i, double value) {
  if (dtype_.is_bool()) {
    static_cast<uint8_t*>(data_)[i] = value != 0;
  } else if (dtype_.is_int()) {
    set_int(i, integer_of_real(dtype_, value));
  } else if (small_float(dtype_)) {
    const uint16_t raw = bits_of_double(dtype_, value);
    with_storage(dtype_, [&]<class T>(T) { static_cast<T*>(data_)[i] = static_cast<T>(raw); });
  } else {
    with_storage(dtype_, [&]<class T>(T) { static_cast<T*>(data_)[i] = static_cast<T>(value); });
  }
}

void Tensor::set_int(int64_t i, int64_t value) {
  if (dtype_.is_bool()) {
    static_cast<uint8_t*>(data_)[i] = value != 0;
  } else if (dtype_.is_float()) {
    set(i, real_of_integer(dtype_, kInt64, value));
  } else {
    if (dtype_.bits == 4) value = wrap4(dtype_, value);
    with_storage(dtype_, [&]<class T>(T) { static_cast<T*>(data_)[i] = static_cast<T>(value); });
  }
}

std::vector<double> Tensor::doubles() const {
  std::vector<double> out = work_list<double>(size_);
  with_storage(dtype_, [&]<class T>(T) {
    const T* from = static_cast<const T*>(data_);
    for (int64_t i = 0; i < size_; ++i) out[static_cast<size_t>(i)] = load(dtype_, from[i]);
  });
  return out;
}

std::vector<int64_t> Tensor::ints() const {
  std::vector<int64_t> out = work_list<int64_t>(size_);
  with_storage(dtype_, [&]<class T>(T) {
    const T* from = static_cast<const T*>(data_);
    for (int64_t i = 0; i < size_; ++i) out[static_cast<size_t>(i)] = load_int(dtype_, from[i]);
  });
  return out;
}

Tensor Tensor::copy() const {
  Tensor t(dtype_, shape_);
  if (size_ > 0) std::memcpy(t.data_, data_, bytes());
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t(dtype, shape_);
  for (int64_t i = 0; i < size_; ++i) {
    if (dtype_.is_float()) {
      t.set(i, get(i));
    } else if (dtype.is_float()) {
      t.set(i, real_of_integer(dtype, dtype_, get_int(i)));
    } else {
      t.set_int(i, get_int(i));
    }
  }
  return t;
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.size() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

namespace {

std::string show_element(const Tensor& t, int64_t i) {
  if (t.dtype().is_bool()) return t.get_int(i) ? "True" : "False";
  if (t.dtype() == kUInt64) return std::to_string(static_cast<uint64_t>(t.get_int(i)));
  if (t.dtype().is_int()) return std::to_string(t.get_int(i));
  char buffer[64];
  const double v = t.get(i);
  if (std::isnan(v)) return "nan";  // its sign means nothing
  const auto end = t.dtype() == kFloat64
                       ? std::to_chars(buffer, buffer + sizeof buffer, v)
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v));
  return std::string(buffer, end.ptr);
}

}  // namespace

std::string show(const Tensor& t, int64_t most) {
  if (!t.defined()) return "no tensor";
  std::string out = "Tensor[" + show(t.shape()) + ", " + t.dtype().name() + "] ";
  const int64_t shown = std::min(t.size(), most);
  if (t.size() == 0) return out + "[]";
  for (int64_t i = 0; i < shown; ++i) {
    // An opening bracket for each dim whose index is 0 from here inwards.
    int64_t inner = 1, opened = 0;
    for (size_t d = t.rank(); d-- > 0;) {
      inner *= t.shape()[d];
      if (i % inner == 0) ++opened;
    }
    if (i > 0) out += ", ";
    out += std::string(static_cast<size_t>(opened), '[') + show_element(t, i);
    inner = 1;
    int64_t closed = 0;
    for (size_t d = t.rank(); d-- > 0;) {
      inner *= t.shape()[d];
      if ((i + 1) % inner == 0) ++closed;
    }
    out += std::string(static_cast<size_t>(closed), ']');
  }
  if (shown < t.size()) out += ", ... " + std::to_string(t.size() - shown) + " more";
  return out;
}

}  // namespace relay
