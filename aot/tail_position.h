// Tail position: functions whose results are the program's.
#pragma once

#include <set>

#include "aot/program.h"

namespace relay::aot {

// Returns the functions whose result is the program's result: the entry, and each function that is
// only called in tail position by one of them. A run calls each at most once, so its kernels may
// write straight into the caller's outputs. Returns none if the program calls its entry.
std::set<Symbol> functions_in_tail_position(const Program& program);

}  // namespace relay::aot
