#include <algorithm>

#include "tests/fuzz/mutate.h"

namespace relay::fuzz {
namespace {

// A place and a length within `bytes`; short ones are likelier.
std::pair<size_t, size_t> span_of(const std::string& bytes, Random& random) {
  const size_t at = random.below(bytes.size() + 1);
  const size_t most = random.one_in(4) ? bytes.size() : size_t{1} << random.below(7);
  return {at, std::min(bytes.size() - at, 1 + random.below(most))};
}

std::string little_endian(uint64_t value, size_t width) {
  std::string out;
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

// The bytes of the varint at `at`, as far as they could be one.
size_t varint_length(const std::string& bytes, size_t at) {
  size_t n = 0;
  while (at + n < bytes.size() && n < 9 && (static_cast<unsigned char>(bytes[at + n]) & 128) != 0) ++n;
  return std::min(n + 1, bytes.size() - at);
}

void injure(std::string& out, const Seeds& seeds, Random& random) {
  const auto [at, length] = span_of(out, random);
  switch (random.below(13)) {
    case 0:
      if (at < out.size()) out[at] = static_cast<char>(out[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (at < out.size()) out[at] = static_cast<char>(random.next());
      break;
    case 2: out.resize(at); break;
    case 3: out.erase(at, length); break;
    case 4: out.insert(random.below(out.size() + 1), out.substr(at, length)); break;
    case 5: out.insert(at, std::string(1 + random.below(64), static_cast<char>(random.next()))); break;
    case 6: {  // swap two spans of one length
      const size_t other = random.below(out.size() - length + 1);
      if (other + length <= at || at + length <= other)
        std::swap_ranges(out.begin() + static_cast<ptrdiff_t>(at),
                         out.begin() + static_cast<ptrdiff_t>(at + length),
                         out.begin() + static_cast<ptrdiff_t>(other));
      break;
    }
    case 7: {  // the end of another seed
      const std::string& other = random.of(seeds);
      out = out.substr(0, at) + other.substr(random.below(other.size() + 1));
      break;
    }
    case 8: {  // a part of another seed
      const std::string& other = random.of(seeds);
      const auto [from, taken] = span_of(other, random);
      out.replace(at, random.one_in(2) ? length : 0, other.substr(from, taken));
      break;
    }
    case 9:
    case 10: {
      const size_t width = size_t{1} << random.below(4);
      out.replace(at, random.one_in(4) ? 0 : std::min(width, out.size() - at),
                  little_endian(interesting_integer(random), width));
      break;
    }
    case 11: out.replace(at, varint_length(out, at), varint(interesting_integer(random))); break;
    default: {  // a number in a text
      const size_t digit = out.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      const size_t end = std::min(out.find_first_not_of("0123456789", digit), out.size());
      out.replace(digit, random.one_in(4) ? 0 : end - digit,
                  std::to_string(static_cast<int64_t>(interesting_integer(random))));
    }
  }
}

}  // namespace

uint64_t interesting_integer(Random& random) {
  constexpr unsigned kWidths[] = {4, 7, 8, 12, 15, 16, 20, 24, 28, 31, 32, 33, 40, 48, 53, 62, 63};
  if (random.one_in(4)) return random.below(5);
  const uint64_t power = random.one_in(16) ? 0 : uint64_t{1} << random.of(kWidths);
  const uint64_t near = power + random.below(3) - 1;
  return random.one_in(3) ? 0 - near : near;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}

std::string mutate_bytes(std::string bytes, const Seeds& seeds, Random& random) {
  const size_t most = bytes.size() + kMostGrowth;
  for (size_t injuries = 1 + random.below(2) * random.below(4); injuries > 0; --injuries)
    injure(bytes, seeds, random);
  if (bytes.size() > most) bytes.resize(most);
  return bytes;
}

}  // namespace relay::fuzz
