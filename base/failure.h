// The two failures of a running program (the other two are diagnostics and bugs).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/source.h"

namespace relay {

// The program ran and failed: division by zero, a shape that does not hold, a match without an arm.
struct Trap : std::runtime_error {
  explicit Trap(const std::string& message, Span span = {}) : std::runtime_error(message), span(span) {}
  Span span;
};

// How the messages of two kinds of traps begin. What follows differs between engines: the
// interpreter knows the extents and the value, and generated code has the names of extents. Every
// other trap has one message on all engines.
inline constexpr std::string_view kWrongShape = "wrong shape: ";  // a shape does not hold
inline constexpr std::string_view kNoArm = "no arm of the match fits the value";
// The part of a trap's message that all engines agree about: these beginnings, or the whole.
inline std::string_view reason_of(std::string_view message) {
  for (const std::string_view kind : {kWrongShape, kNoArm}) {
    if (message.starts_with(kind)) return kind;
  }
  return message;
}

// A limit was reached. The message names the limit and the option that raises it.
struct Exhausted : std::runtime_error {
  explicit Exhausted(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace relay
