// The table of machines: every number that is known of a kind of machine.
#pragma once

#include <span>
#include <string_view>

#include "target/target.h"

namespace relay::target {

struct Machine {
  std::string_view name;        // `cpu:avx2`
  std::string_view short_name;  // `avx2`; empty if there is none
  Cpu cpu;
  std::optional<Gpu> gpu = {};
};

// Processors of x86-64 come first, from the least to the most demanding.
std::span<const Machine> machines();
// By name or by short name; null if there is none.
const Machine* find_machine(std::string_view name);

// The machine of `cuda`, and that of default_target().
inline constexpr std::string_view kUsualGpu = "cuda:sm_90", kUsualCpu = "cpu:avx2";

}  // namespace relay::target
