// Locations in memory for what is alive at different times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace relay::passes {

// Locations start at multiples of this many bytes.
inline constexpr uint64_t kLocationAlignment = 64;

// The first and the last step that something is alive in.
struct Life {
  size_t first, last;
};

// Where each lies that takes so many bytes: those that are alive at the same time do not overlap.
// Both lists have the same length.
struct Locations {
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;                  // of all
  uint64_t bytes_without_sharing = 0;  // what it would be if no two shared memory
};
Locations find_locations(std::span<const Life> lives, std::span<const uint64_t> bytes);

// For sizes that are not known: which slot each has. Those of one slot are alive one after the
// other; `is_same_size` says of two of them whether they are surely as large as each other.
std::vector<size_t> find_slots(std::span<const Life> lives,
                               const std::function<bool(size_t, size_t)>& is_same_size);

}  // namespace relay::passes
