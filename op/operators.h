// The operators, as the text format asks for them.
#pragma once

#include "ir/text/operators.h"

namespace relay::op {

Operators operators();

}  // namespace relay::op
