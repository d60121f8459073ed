// Many artifacts in one library, so that a C++ compiler and a linker start once for all of them.
//
// Each artifact keeps its generated text, in a namespace of its own. Shared are the prelude
// of kernels, the standard headers, and the file of embedded weights, of which each
// artifact has a part.
#pragma once

#include <span>
#include <string>

#include "aot/emit.h"
#include "kernel/print/dialect.h"

namespace relay::tests {

// The sources of one library: kernels_0.cc and model.cc, or the same as .cu. The artifacts are all
// for CPUs or all for the emulated GPU, as the dialect says.
aot::Sources joined(std::span<const aot::Sources* const> artifacts, const kernel::print::Dialect& dialect);

// Compiles the sources of artifacts for CPUs without optimisation, as what runs once needs none,
// and without warnings, which other tests look at. Returns what is wrong, or an empty text.
[[nodiscard]] std::string build_unoptimised(const aot::Sources& sources, const std::string& library);

// The function of that library that gives the interface of artifact i, as relay_get_api does alone.
std::string joined_entry(size_t i);

}  // namespace relay::tests
