#include "vta/simulator_driver.h"

#include <algorithm>

#include "base/cat.h"
#include "vta/isa/encode.h"

namespace relay::vta {
namespace {

bool no_buffer(std::string_view what, uint64_t address, uint64_t bytes, Diagnostics& d) {
  d.error(Span::none(), "vta-memory",
          cat("the host ", what, " ", bytes, " bytes at address ", address, ", and no buffer has them all"));
  return false;
}

}  // namespace

Result<uint64_t> SimulatorDriver::allocate(uint64_t bytes, Diagnostics& d) {
  return simulator_.dram().allocate(bytes, d);
}

bool SimulatorDriver::free(uint64_t address, Diagnostics& d) {
  if (simulator_.dram().free(address)) return true;
  d.error(Span::none(), "vta-memory", cat("the host frees address ", address, ", where no buffer begins"));
  return false;
}

bool SimulatorDriver::write(uint64_t address, std::span<const uint8_t> bytes, Diagnostics& d) {
  uint8_t* to = simulator_.dram().find(address, bytes.size());
  if (!to) return no_buffer("writes", address, bytes.size(), d);
  std::copy(bytes.begin(), bytes.end(), to);
  return true;
}

bool SimulatorDriver::read(uint64_t address, std::span<uint8_t> bytes, Diagnostics& d) {
  const uint8_t* from = simulator_.dram().find(address, bytes.size());
  if (!from) return no_buffer("reads", address, bytes.size(), d);
  std::copy_n(from, bytes.size(), bytes.begin());
  return true;
}

bool SimulatorDriver::run(uint64_t address, uint32_t count, Diagnostics& d) {
  const uint64_t bytes = uint64_t{count} * kInstructionBytes;
  const uint8_t* from = simulator_.dram().find(address, bytes);
  if (!from) return no_buffer("runs", address, bytes, d);
  const Result<std::vector<Instruction>> stream = decode_instructions(layout(), {from, bytes}, d);
  if (!stream) return false;
  const Outcome outcome = simulator_.run(*stream);
  counters_ = outcome.counters;
  if (outcome.refusal) report(*outcome.refusal, d);
  return !outcome.refusal;
}

}  // namespace relay::vta
