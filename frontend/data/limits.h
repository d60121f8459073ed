// Limits of the readers of tensors: what a file may make us allocate.
#pragma once

#include <cstddef>
#include <cstdint>

namespace relay::frontend::data {

// The defaults let every honest file pass and keep a hostile one of 1 MB below 512 MB and 2 s.
struct Limits {
  uint64_t file_bytes = uint64_t{64} << 30;   // one file
  uint64_t total_bytes = uint64_t{64} << 30;  // all tensors of one archive or folder, unpacked
  size_t tensors = 100'000;                   // in one archive, header or folder
  size_t header_bytes = size_t{100} << 20;    // of a safetensors file
  // An archive may unpack to this many times its size, or to `small_archive_bytes` if that is more.
  uint64_t archive_ratio = 200;
  uint64_t small_archive_bytes = uint64_t{64} << 20;
};

// More dims than any array library of today makes.
inline constexpr size_t kMaxRank = 64;

}  // namespace relay::frontend::data
