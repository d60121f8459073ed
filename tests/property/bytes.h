// Bytes: where a generator's choices come from.
//
// A seeded generator and libFuzzer drive the same code: both give bytes. Once they are used up
// every choice is 0, and 0 is the smallest choice everywhere, so any bytes give a program and fewer
// bytes a smaller one. This is what lets the shrinker work on bytes and know nothing of programs.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay::property {

using Bytes = std::vector<uint8_t>;

class ByteSource {
 public:
  explicit ByteSource(std::span<const uint8_t> bytes) : rest_(bytes) {}

  // A number below n, which is at most 256. The only choice there is takes no byte.
  uint32_t below(uint32_t n) {
    if (n <= 1 || rest_.empty()) return 0;
    const uint32_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte % n;
  }
  // True once in n times; never after the end.
  bool once_in(uint32_t n) { return below(n) == n - 1; }
  template <class T>
  const T& choose(const std::vector<T>& from) {
    return from[below(static_cast<uint32_t>(from.size()))];
  }
  bool exhausted() const { return rest_.empty(); }

 private:
  std::span<const uint8_t> rest_;
};

// The bytes of a seed: the same on every machine.
inline Bytes bytes_of_seed(uint64_t seed) {
  uint64_t state = seed;
  const auto next = [&] {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  Bytes out(128 + next() % 1152);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(next());
  return out;
}

// As failures print them for a shell, and options take them: two digits a byte.
inline std::string hex(const Bytes& bytes) {
  std::string out;
  for (uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out.empty() ? "\"\"" : out;
}
inline Bytes bytes_of_hex(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i + 2 <= text.size(); i += 2) {
    uint8_t b = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, b, 16);
    out.push_back(b);
  }
  return out;
}

}  // namespace relay::property
