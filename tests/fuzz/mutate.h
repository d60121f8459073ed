// Mutations: sound inputs with injuries that a reader must survive.
//
// Everything is drawn from one Random, and of nothing else: the same numbers give the same bytes
// on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay::fuzz {

// SplitMix64. The distributions of the standard library differ between libraries.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class Items>
  const auto& of(const Items& items) {
    return items[below(std::size(items))];
  }

 private:
  uint64_t state_;
};

using Seeds = std::vector<std::string>;

// No mutation is longer than its seed and this.
inline constexpr size_t kMostGrowth = size_t{64} << 10;

// Integers at the edges of their widths; one of another sign, one off.
uint64_t interesting_integer(Random& random);
std::string varint(uint64_t value);

// For any format: bits, bytes and integers (little-endian and varints) are changed, spans go
// missing, stand twice, change places or come from another seed.
std::string mutate_bytes(std::string bytes, const Seeds& seeds, Random& random);

// For programs and headers: the same with tokens, groups in brackets, and lines; a token may become
// one of its kind that stands in another seed.
std::string mutate_text(const std::string& text, const Seeds& seeds, Random& random);

// For programs that are to be run: extents, dtypes, attributes, operands, operators and constants
// become others, and what was a program mostly stays one.
std::string mutate_program(const std::string& text, const Seeds& seeds, Random& random);
// One call of one of the operators, with operands and attributes of its kind.
std::string program_of_one_call(Random& random);

// For the same programs: names become what closes, continues or expands something elsewhere.
std::string mutate_names(const std::string& text, const Seeds& seeds, Random& random);
// For the same programs: a form nests in itself, up to tens of thousands of times. The result has
// at most 512 KiB more than the seed.
std::string mutate_depth(const std::string& text, const Seeds& seeds, Random& random);

// For ONNX models that are to be run: the same.
std::string mutate_onnx(const std::string& model, const Seeds& seeds, Random& random);

// For protobuf messages: the same with fields at any depth; the lengths around them stay right.
// `words` are strings that mean something in a message of this kind.
std::string mutate_message(const std::string& message, const Seeds& seeds, std::span<const std::string> words,
                           Random& random);

}  // namespace relay::fuzz
