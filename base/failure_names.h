// Short names of traps and limits.
//
// A name stays when the words of a message change, as the slug of a diagnostic does, so programs
// may compare it. docs/python.md lists the names. A compiled library tells of a trap by its message
// alone, and all engines agree about messages (base/failure.h), so a name follows from the message.
#pragma once

#include <string_view>

namespace relay {

// How the message of a limit ends: the option of the command that raises it.
inline constexpr std::string_view kFuelOption = "(--fuel)";
inline constexpr std::string_view kDepthOption = "(--max-depth)";
inline constexpr std::string_view kTimeOption = "(--max-time)";
inline constexpr std::string_view kMemoryOption = "(--max-memory)";
inline constexpr std::string_view kCancelled = "the run was cancelled";

// Returns "requirement-failed" for a condition that has no name of its own: of an operator, of a
// kernel of the user, or of a node of a model.
std::string_view name_of_trap(std::string_view message);

// Returns "limit-reached" for a limit that has no name of its own, as of the size of a kernel.
std::string_view name_of_limit(std::string_view message);

}  // namespace relay
