// C++ failures as Python exceptions.
//
// All of these classes are below `relay.Error`. Each exception has `slug`, `span`, `notes` and
// `text`; `str(exception)` is the text that the command `relay` prints, with carets. What is wrong
// with an argument of a call is a TypeError or a ValueError instead, as in NumPy.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/source.h"

namespace relay::python {

// Raises `relay.DiagnosticError` for the first error. Needs the GIL, as all functions here.
[[noreturn]] void raise_diagnostics(const Diagnostics& diagnostics, const SourceMap& sources);
// Raises `relay.TrapError`: the program ran and failed at this place, if the engine knows it.
[[noreturn]] void raise_trap(const std::string& message, Span at = {}, const SourceMap& sources = {});
// Raises `relay.LimitError`: the run reached a limit at this place, if the engine knows it.
[[noreturn]] void raise_limit(const std::string& message, Span at = {}, const SourceMap& sources = {});
// The message of a limit, in which the option of the command is the argument of relay.interpret:
// "(--max-time)" becomes "(max_time)".
std::string with_arguments(std::string message);
// Gives each warning to Python's `warnings`, as a `relay.DiagnosticWarning`.
void warn(const Diagnostics& diagnostics, const SourceMap& sources);

}  // namespace relay::python
