// The types that a call of a generic function gives its parameters, before the checker is asked.
#pragma once

#include <vector>

#include "ir/context.h"

namespace relay::python {

// The types of the function's parameters, with its type parameters as the arguments have them.
// `given` has the types of the arguments, null where one is not known. What no argument tells is a
// hole.
std::vector<Type> expected_types(Context& context, const FnType& fn, const std::vector<Type>& given);

}  // namespace relay::python
