#include "vta/driver.h"

#include "vta/isa/encode.h"

namespace relay::vta {

Result<uint64_t> upload(Driver& driver, std::span<const uint8_t> bytes, Diagnostics& d) {
  const Result<uint64_t> at = driver.allocate(bytes.size(), d);
  if (!at || !driver.write(*at, bytes, d)) return kReported;
  return *at;
}

bool run_stream(Driver& driver, std::span<const Instruction> stream, Diagnostics& d) {
  const Result<std::vector<uint8_t>> bytes = encode(driver.layout(), stream, d);
  if (!bytes) return false;
  const Result<uint64_t> at = upload(driver, *bytes, d);
  if (!at) return false;
  const bool ran = driver.run(*at, static_cast<uint32_t>(stream.size()), d);
  return driver.free(*at, d) && ran;
}

}  // namespace relay::vta
