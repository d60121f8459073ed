// A limit that was reached at a known place of the program.
#pragma once

#include <string>

#include "base/failure.h"

namespace relay {

// The place is that of the expression that was being evaluated, or of its function.
struct LimitAt : Exhausted {
  LimitAt(const std::string& message, Span span) : Exhausted(message), span(span) {}
  Span span;
};

}  // namespace relay
