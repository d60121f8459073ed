// The two failures of a running program (the other two are diagnostics and bugs).
#pragma once

#include <stdexcept>
#include <string>

#include "base/source.h"

namespace relay {

// The program ran and failed: division by zero, a shape that does not hold, a match without an arm.
struct Trap : std::runtime_error {
  explicit Trap(const std::string& message, Span span = {}) : std::runtime_error(message), span(span) {}
  Span span;
};

// A limit was reached. The message names the limit and the option that raises it.
struct Exhausted : std::runtime_error {
  explicit Exhausted(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace relay
