// The memory of a board, as the accelerator and its driver share it.
//
// Buffers begin at pages, the first one at 0x1000. An access has to stay within one buffer: what
// reaches beside it is a mistake, even if another buffer is there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"

namespace relay::vta {

class Dram {
 public:
  static constexpr uint64_t kPage = 4096, kBegin = 0x1000;
  // Addresses have 32 bits, as on the boards.
  static constexpr uint64_t kEnd = uint64_t{1} << 32;

  // Returns the address of that many bytes of zeros, in the first gap that is large enough. Reports
  // "vta-limit" if there is none.
  Result<uint64_t> allocate(uint64_t bytes, Diagnostics& d);
  // False if no buffer begins there.
  bool free(uint64_t address);

  // The bytes; null if they are not in one buffer. O(log buffers).
  uint8_t* find(uint64_t address, uint64_t bytes);
  const uint8_t* find(uint64_t address, uint64_t bytes) const;

  // Everything, for comparisons: address and bytes of each buffer, in order.
  const std::map<uint64_t, std::vector<uint8_t>>& buffers() const { return buffers_; }

 private:
  std::map<uint64_t, std::vector<uint8_t>> buffers_;
};

}  // namespace relay::vta
