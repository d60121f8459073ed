// A VTA as its host sees it: memory that both reach, and streams that it runs. A board has a driver
// of its own; the simulator is one, too (simulator_driver.h).
//
// A host program allocates buffers, writes inputs, weights, micro-ops and instructions, runs the
// instructions, and reads results. `dram_base` of an instruction is an address of `allocate`,
// divided by the bytes of an element (Params::dram_bytes).
#pragma once

#include <cstdint>
#include <span>

#include "base/diagnostics.h"
#include "base/result.h"
#include "vta/isa/fields.h"

namespace relay::vta {

class Driver {
 public:
  virtual ~Driver() = default;

  // The instructions of this VTA.
  virtual const Layout& layout() const = 0;

  // Returns the address of that many bytes, a multiple of 4096 and less than 2^32. Reports
  // "vta-limit" if there is no room.
  virtual Result<uint64_t> allocate(uint64_t bytes, Diagnostics& d) = 0;
  // Takes an address of `allocate`, or reports "vta-memory".
  virtual bool free(uint64_t address, Diagnostics& d) = 0;

  // Bytes within one buffer; reports "vta-memory" if they are not.
  virtual bool write(uint64_t address, std::span<const uint8_t> bytes, Diagnostics& d) = 0;
  virtual bool read(uint64_t address, std::span<uint8_t> bytes, Diagnostics& d) = 0;

  // Runs so many instructions, which lie at the address with 16 bytes each, until FINISH. Reports
  // what is wrong with them, as far as this driver notices it.
  virtual bool run(uint64_t address, uint32_t count, Diagnostics& d) = 0;
};

// A new buffer with these bytes.
Result<uint64_t> upload(Driver& driver, std::span<const uint8_t> bytes, Diagnostics& d);

// Encodes the stream, runs it from a buffer of its own, and frees that.
bool run_stream(Driver& driver, std::span<const Instruction> stream, Diagnostics& d);

}  // namespace relay::vta
