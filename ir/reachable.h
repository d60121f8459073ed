// What a function reaches: what it mentions, what that mentions, and so on.
#pragma once

#include <set>
#include <string_view>

#include "ir/module.h"

namespace relay {

// The names of the functions and kernels that the function reaches, its own name included; of a
// module without such a function that name alone.
std::set<Symbol> reachable_from(const Module& m, std::string_view function);

// The module without the functions that this one does not reach. Kernels and data types stay.
Module only_reachable_from(const Module& m, std::string_view function);

}  // namespace relay
