// Extents that are known when the program runs; part of the artifacts that have some
// (see interface.cc).

// What does not fit 64 bits, and what is divided by 0, is no extent; nor is what is made of that,
// except 0 times it.
constexpr int64_t kNoExtent = INT64_MIN;

[[maybe_unused]] inline int64_t sum_of(int64_t a) { return a; }
template <class... More>
int64_t sum_of(int64_t a, int64_t b, More... more) {
  int64_t sum = 0;
  const bool fits = a != kNoExtent && b != kNoExtent && !__builtin_add_overflow(a, b, &sum);
  return sum_of(fits ? sum : kNoExtent, more...);
}
[[maybe_unused]] inline int64_t product_of(int64_t a) { return a; }
template <class... More>
int64_t product_of(int64_t a, int64_t b, More... more) {
  int64_t product = 0;
  const bool fits =
      a == 0 || b == 0 || (a != kNoExtent && b != kNoExtent && !__builtin_mul_overflow(a, b, &product));
  return product_of(fits ? product : kNoExtent, more...);
}
[[maybe_unused]] inline int64_t difference_of(int64_t a, int64_t b) {
  return b == kNoExtent ? kNoExtent : sum_of(a, -b);
}
[[maybe_unused]] inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0 || a == kNoExtent || b == kNoExtent) return kNoExtent;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
[[maybe_unused]] inline int64_t floor_mod(int64_t a, int64_t b) {
  return b == 0 || a == kNoExtent || b == kNoExtent ? kNoExtent : a - b * floor_div(a, b);
}
[[maybe_unused]] inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
[[maybe_unused]] inline int64_t greatest(int64_t a, int64_t b) {
  return a == kNoExtent || b == kNoExtent ? kNoExtent : a < b ? b : a;
}
[[maybe_unused]] inline int64_t broadcast_of(int64_t a, int64_t b) {
  return a == kNoExtent || b == kNoExtent ? kNoExtent : a == 1 ? b : a;
}

// Lays the slots of a workspace one after the other.
class Layout {
 public:
  explicit Layout(size_t* slots) : slots_(slots) {}
  // The next slot is as large as the largest of these values, each of so many bytes an element.
  void slot() {
    close();
    *slots_++ = end_;
    largest_ = 0;
  }
  template <class... Extent>
  void holds(size_t element_bytes, Extent... extents) {
    const int64_t list[] = {extents..., 1};
    size_t bytes = 0;
    for (int64_t extent : list) negative_ = negative_ || extent < 0;
    fits_ = count_bytes(element_bytes, sizeof...(extents), list, &bytes) && fits_;
    if (bytes > largest_) largest_ = bytes;
  }
  // The bytes of the workspace. Not 0, what the run ends with, if an extent is negative or no
  // memory is that large.
  int32_t end(size_t* bytes) {
    close();
    *bytes = end_;
    return negative_ ? kTrapped : fits_ ? 0 : kLimit;
  }

 private:
  void close() {
    end_ += (largest_ + 63) / 64 * 64;
    fits_ = fits_ && end_ <= SIZE_MAX / 4;
  }

  size_t* slots_;
  size_t end_ = 0, largest_ = 0;
  bool fits_ = true, negative_ = false;
};
