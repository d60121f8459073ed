// Functions whose results are the program's.
#pragma once

#include <set>

#include "aot/program.h"

namespace relay::aot {

// The first function, and those that such functions call last and that nobody else mentions. Each
// of them is called at most once in a run, and what it gives is what the run gives. None if the
// first one is called from within the program.
std::set<Symbol> giving_functions(const Program& program);

}  // namespace relay::aot
