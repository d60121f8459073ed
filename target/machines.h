// The table of machines: every number that is known of a kind of machine, and the instruction sets
// that processors have.
#pragma once

#include <span>
#include <string_view>

#include "target/target.h"

namespace relay::target {

// Numbers that all machines of the table share, so no Target carries them. Like those of the table,
// they are the least that those sold today have:
//  * loads of vectors in a cycle: ports 2 and 3 of Skylake, two in Zen (Intel's and AMD's
//    optimisation manuals), two pipes of Neoverse N1 (Arm's optimisation guide);
//  * instructions that a core begins in a cycle: Skylake and Neoverse N1 decode 4, Zen more (same);
//  * cycles of a multiplication with addition: 4 in Skylake, Zen 3 and Neoverse N1 (same).
inline constexpr int64_t kLoadsPerCycle = 2, kInstructionsPerCycle = 4, kProductCycles = 4;
// Threads of a warp: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
inline constexpr int64_t kWarpThreads = 32;

struct Machine {
  std::string_view name;        // `cpu:avx2`
  std::string_view short_name;  // `avx2`; empty if there is none
  Cpu cpu;
  std::optional<Gpu> gpu = {};
  std::optional<Vta> vta = {};

  bool is_processor() const { return !gpu && !vta; }
};

// Processors of x86-64 come first, from the least to the most demanding.
std::span<const Machine> machines();
// By name or by short name; null if there is none.
const Machine* find_machine(std::string_view name);

// A set of instructions of x86-64.
struct InstructionSet {
  // "-m" and the name is the compilers' flag, "+" and the name LLVM's feature.
  std::string_view name;
  int64_t vector_bytes;      // processors with vectors of this length have it; 0: those with the feature
  bool Features::* feature;  // null: those with such vectors
  bool (*is_here)();         // does this processor have it? null: it has it if it has the others
};

// In the order in which processors got them.
std::span<const InstructionSet> instruction_sets();

// The machines of `cuda` and `vta`, and that of default_target().
inline constexpr std::string_view kUsualGpu = "cuda:sm_90", kUsualVta = "vta", kUsualCpu = "cpu:avx2";

// The usual VTA beside the processor of the target.
Target with_vta(const Target& target);

}  // namespace relay::target
