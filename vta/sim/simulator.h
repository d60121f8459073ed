// The functional simulator: what a VTA computes, fast, and what is wrong with a stream.
//
// Engines run in any order that tokens allow. A stream is refused where
//   an instruction is malformed, or reaches outside of a scratchpad or a buffer;
//   no engine can go on: some token is missing;
//   two engines touch the same bytes, one of them writing, and no tokens order them (races.h);
//   a token is left over: the next stream would find it.
// A stream that is accepted gives one result, in whichever order the engines run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "vta/sim/dram.h"
#include "vta/sim/outcome.h"
#include "vta/sim/products.h"

namespace relay::vta {

struct SimulatorOptions {
  // The seed of a random order of engines. Without one, later engines go first.
  std::optional<uint64_t> order = {};
  // Micro-ops and elements that a stream may take: three nested loops of an instruction can ask for
  // 2^41.
  uint64_t most_operations = uint64_t{1} << 33;
  // Null: the fastest that runs here.
  const Products* products = nullptr;
};

class Simulator {
 public:
  explicit Simulator(const Layout& layout, const SimulatorOptions& options = {});
  ~Simulator();
  Simulator(Simulator&&) noexcept;

  const Layout& layout() const;
  Dram& dram();

  // Runs the stream, which FINISH ends. Scratchpads keep what they hold from one stream to the
  // next; at first they hold zeros.
  Outcome run(std::span<const Instruction> stream);

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace relay::vta
