// What is wrong with an instruction by itself, whatever the memories hold.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "vta/isa/fields.h"
#include "vta/sim/outcome.h"

namespace relay::vta {

// Returns what is wrong, or an empty text. What passes has bits (encode.h), stays within its
// scratchpad, and has tokens of neighbours that are there.
std::string illegal(const Layout& layout, const Instruction& instruction);

// The first instruction of the stream that is illegal, or FINISH that does not stand at its end.
std::optional<Refusal> malformed(const Layout& layout, std::span<const Instruction> stream);

// Amounts of shifts, to the right: boards take the low bits of larger ones.
inline constexpr int kLeastShift = -31, kMostShift = 31;

}  // namespace relay::vta
