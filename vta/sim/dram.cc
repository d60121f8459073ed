#include "vta/sim/dram.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"

namespace relay::vta {

Result<uint64_t> Dram::allocate(uint64_t bytes, Diagnostics& d) {
  bytes = std::max<uint64_t>(bytes, 1);  // an empty buffer has an address of its own, too
  uint64_t at = kBegin;
  for (const auto& [begin, contents] : buffers_) {
    if (bytes <= begin - at) break;
    at = (begin + contents.size() + kPage - 1) / kPage * kPage;
  }
  const auto next = buffers_.lower_bound(at);
  const uint64_t end = next == buffers_.end() ? kEnd : next->first;
  if (at > end || bytes > end - at) {
    d.error(Span::none(), "vta-limit",
            cat("the memory of the board has no ", bytes, " bytes left in one piece"));
    return kReported;
  }
  buffers_.emplace(at, std::vector<uint8_t>(bytes));
  return at;
}

bool Dram::free(uint64_t address) { return buffers_.erase(address) > 0; }

const uint8_t* Dram::find(uint64_t address, uint64_t bytes) const {
  auto it = buffers_.upper_bound(address);
  if (it == buffers_.begin()) return nullptr;
  --it;
  const uint64_t offset = address - it->first, size = it->second.size();
  return offset <= size && bytes <= size - offset ? it->second.data() + offset : nullptr;
}

uint8_t* Dram::find(uint64_t address, uint64_t bytes) {
  return const_cast<uint8_t*>(std::as_const(*this).find(address, bytes));
}

}  // namespace relay::vta
