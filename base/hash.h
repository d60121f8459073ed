// Hashes that are the same in every run and on every machine. They may be written into files: the
// values stay as they are.
#pragma once

#include <cstdint>
#include <string_view>

namespace relay {

// Adds a value to a hash. The order of values counts.
constexpr uint64_t mix(uint64_t h, uint64_t v) {
  return (h ^ v) * 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
}

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/.
// Of a text in pieces: `h` is the hash of what stands before.
constexpr uint64_t hash_text(std::string_view text, uint64_t h = 0xcbf29ce484222325ull) {
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

}  // namespace relay
