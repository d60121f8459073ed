// The processor that this process runs on.
#pragma once

#include <span>
#include <string>

#include "target/target.h"

namespace relay::target {

// Its instruction set.
#if defined(__aarch64__)
inline constexpr Isa kHere = Isa::kAarch64;
#else
inline constexpr Isa kHere = Isa::kX86_64;
#endif

// The first of the names (target/instructions.h, `needs`) that this processor lacks; empty if it
// has all.
std::string first_missing(std::span<const std::string> needs);

// Why code for the target ends the process here, or never runs; empty if it runs.
[[nodiscard]] std::string cannot_run(const Target& target);

}  // namespace relay::target
