// Initial values: what a kernel of a user has in the elements that its loops do not reach.
//
// Loops of open extents may run not at all, and conditions may depend on data. So nobody can
// tell a user in advance that an element is not written. This makes such elements well defined
// on every engine.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel {

// The kernel with its initial values written out, where they are not proved to be
// of no consequence:
//  * A reduction gives its init where a loop of it may have no iteration. A nest of that reduction
//    alone becomes two, of which the first has the init. Elsewhere the loop becomes
//    `if (0 < extent) { loop } else { init }`.
//  * A buffer that is not definitely assigned (definite_assignment.h) is filled with 0: at the
//    beginning, or where it is allocated.
// Doing it again changes nothing.
Kernel with_initial_values(const Kernel& k);

}  // namespace relay::kernel
