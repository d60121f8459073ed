// The reference of all operators, for people.
#pragma once

#include <string>

namespace relay::op {

// docs/operators.md, by family: the folder that an operator's name begins with, and "core" for the others.
std::string markdown();

}  // namespace relay::op
