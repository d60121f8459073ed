// The sources of an artifact as one text, for people and for compilers.
#pragma once

#include <string>

#include "aot/emit.h"

namespace relay::aot {

// Each file behind a line that names it. What the sources include of each other stands before them,
// so that the text of a program for one CPU, emitted into one file of kernels, compiles by itself.
std::string listing(const Sources& sources);

}  // namespace relay::aot
