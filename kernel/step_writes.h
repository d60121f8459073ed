// Which iterations of a step write the same element?
//
// Of the values that several iterations write to one element, only the last one stays. What takes a
// kernel apart, or goes back through it, has to know that there are none.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/steps.h"

namespace relay::kernel {

// Does no iteration write what another one writes? False if that is not known.
bool writes_once(const Step& s);

// Of a block's init, which runs in each round of its first `around` axes: does each round begin
// elements of its own, and do the block's other steps keep to those of their round? Only then
// nothing changes if all rounds of the init run first. False if that is not known.
bool begins_once(const Step& init, size_t around, const std::vector<Step>& then);

}  // namespace relay::kernel
