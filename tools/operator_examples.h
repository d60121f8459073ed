// Examples of operators, which the exec tests check on every engine.
#pragma once

#include <string_view>

namespace relay::tools {

// A function that calls the operator, a call of it, and the result. Empty if
// tests/exec/op/NAME.relay has none with written-out values.
std::string_view example_of(std::string_view op);

}  // namespace relay::tools
