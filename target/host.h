// The processor that this process runs on, and what was measured of it.
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
// The same as a sentence about a target of that text.
std::string lacks_for(std::string_view target, std::span<const std::string> needs);

// Its name, as the system tells it.
std::string processor_name();

// Numbers of this processor that the table of machines does not know: `l1=48K,l2=2M`. `relay doctor
// --measure` keeps them in the user's cache, with the processor's name; `native` has them.
struct Measured {
  std::string numbers;  // empty if there are none of this processor
  std::string wrong;    // with what is in the file; empty if nothing is
};
Measured measured_numbers();
// Bytes of this processor's data cache of level 1, 2 or 3, as the system tells them; 0 if it does
// not.
int64_t cache_bytes(int level);
// What the system says of the caches, as such numbers.
std::string numbers_of_system();
std::string measured_file();  // empty if there is no place for it
[[nodiscard]] std::string save_measured(const std::string& numbers);

// Why code for the target ends the process here, or never runs; empty if it runs.
[[nodiscard]] std::string cannot_run(const Target& target);

}  // namespace relay::target
