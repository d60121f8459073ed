// Which iterations of a step write the same element?
//
// Of the values that several iterations write to one element, only the last one stays. What takes a
// kernel apart, or goes back through it, has to know that there are none.
#pragma once

#include "kernel/steps.h"

namespace relay::kernel {

// Does no iteration write what another one writes? False if that is not known.
bool writes_once(const Step& s);

}  // namespace relay::kernel
