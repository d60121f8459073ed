// The functional simulator in the place of a board.
#pragma once

#include "vta/driver.h"
#include "vta/sim/simulator.h"

namespace relay::vta {

class SimulatorDriver : public Driver {
 public:
  explicit SimulatorDriver(const Layout& layout, const SimulatorOptions& options = {})
      : simulator_(layout, options) {}

  const Layout& layout() const override { return simulator_.layout(); }
  Result<uint64_t> allocate(uint64_t bytes, Diagnostics& d) override;
  bool free(uint64_t address, Diagnostics& d) override;
  bool write(uint64_t address, std::span<const uint8_t> bytes, Diagnostics& d) override;
  bool read(uint64_t address, std::span<uint8_t> bytes, Diagnostics& d) override;
  // Reports everything that simulator.h lists.
  bool run(uint64_t address, uint32_t count, Diagnostics& d) override;

  // Of the last run.
  const Counters& counters() const { return counters_; }

 private:
  Simulator simulator_;
  Counters counters_;
};

}  // namespace relay::vta
