// How long a stream takes: a model of the machine in cycles. Data have no say in it.
//
// Four units run at the same time: fetch sends instructions in order to the queues of the three
// engines, and waits while a queue is full. An engine takes the next instruction of its queue when
// the one before is over and the tokens that it pops are there; tokens are pushed at its end.
//
//   LOAD   latency, then the beats of the bus of each row, and a cycle for each element of zeros
//   STORE  latency and beats
//   GEMM   latency, then `gemm_interval` cycles a micro-op
//   ALU    latency, then `alu_interval` cycles a micro-op, or `alu_imm_interval`
//
// LOADs of `load` and `compute` share the read ports; a beat takes a port for a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "vta/isa/fields.h"
#include "vta/sim/outcome.h"

namespace relay::vta {

// What the published designs have, where they say it; the latencies are assumptions.
struct Timing {
  int64_t bus_bytes = 8;  // of a beat: the boards' buses have 64 bits
  int64_t read_ports = 1;
  int64_t read_latency = 64;    // from a request to its first beat
  int64_t write_latency = 64;   // from the last beat until it is written
  int64_t loads_in_flight = 1;  // that engine `load` has begun and not ended
  int64_t gemm_latency = 8, gemm_interval = 1;
  int64_t alu_latency = 8, alu_interval = 2, alu_imm_interval = 1;
  int64_t queue_length = 512;  // instructions
};
using TimingRow = NumberRow<Timing, int64_t>;
std::span<const TimingRow> timing_rows();

// In cycles from the begin of the stream.
struct Times {
  uint64_t fetched = 0, begin = 0, end = 0;
};

// Cycles of an engine between instructions, by what the next one waits for. What the engine does
// not use after its last instruction is in none of them.
struct Waits {
  uint64_t fetch = 0;  // it is not in the queue yet
  uint64_t prev = 0;   // a token of the previous engine
  uint64_t next = 0;   // a token of the next engine
  uint64_t port = 0;   // all read ports are taken

  friend bool operator==(const Waits&, const Waits&) = default;
};

struct Cycles {
  uint64_t total = 0;
  std::vector<Times> times;  // of each instruction
  std::array<uint64_t, kEngines> busy = {};
  std::array<Waits, kEngines> waits = {};
  std::array<uint64_t, kMemories> bytes = {};
  uint64_t gemm = 0, alu = 0;  // micro-ops
  std::optional<Refusal> refusal;

  // The part of the time in which the multipliers have a micro-op.
  double utilisation() const { return total ? static_cast<double>(gemm) / static_cast<double>(total) : 0; }
};

// Reports "vta-parameters" for each number that is out of its range.
bool check_timing(const Timing& timing, Diagnostics& d);

// For timing that is in range. Refuses what is malformed or stalls, also because a queue is full;
// races and memory are the simulator's business (simulator.h).
Cycles count_cycles(const Layout& layout, std::span<const Instruction> stream, const Timing& timing);

// For chrome://tracing and https://ui.perfetto.dev: JSON, where a cycle is a microsecond.
std::string chrome_trace(std::span<const Instruction> stream, const Cycles& cycles);

}  // namespace relay::vta
