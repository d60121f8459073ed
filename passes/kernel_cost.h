// What the kernel of a group of calls costs: processor cycles of one core, by what it computes and
// what it moves. Estimates for comparison, not predictions.
#pragma once

#include <optional>
#include <span>

#include "ir/expr.h"
#include "target/target.h"

namespace relay::passes {

// Calls that share a kernel, the last one gives its result. Nothing if an extent is not known, or a
// call is no operator's.
std::optional<double> kernel_cycles(std::span<const Call* const> calls, const target::Cpu& cpu);

}  // namespace relay::passes
