// Definite assignment: is each element written before a kernel reads it, and each element of
// an output at all?
#pragma once

#include <unordered_set>

#include "kernel/kernel.h"

namespace relay::kernel {

// The outputs, temporaries and allocated buffers of which that is not proved. An output is proved
// if some nest writes all of it: its indices are sums over loops of which each takes up where the
// next inner one ends, as `4*i + j` for j in 4, and no condition stands around. A read is proved if
// it lies in what such loops wrote before it. Linear in the statements, but for buffers that are
// written in many pieces, of which the first few count.
std::unordered_set<const Buffer*> not_definitely_assigned(const Kernel& k);

}  // namespace relay::kernel
