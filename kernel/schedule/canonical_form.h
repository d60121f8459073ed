// Canonical form: how Builder writes kernels, and kernels of programs that say the
// same in other words.
//
// The rules for a target, and Builder::take_over, read kernels in this form only.
#pragma once

#include <optional>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel::schedule {

struct CanonicalForm {
  Kernel kernel;
  std::vector<Stmt> requirements;  // what it begins with
};

// Nothing if the kernel is of another form, or was scheduled: then it has to run as it is written.
// What can be read:
//  * `require`s at the beginning, then nests of serial loops, each around one block, one iterator
//    of which is bound to each loop over all of its extent, in any order;
//  * the block has no predicate and stores one element, whose place are its spatial iterators; all
//    others are reductions, which go on from that element, and whose init stores it;
//  * outputs and temporaries are dense, and are written by one nest, or by one that begins and the
//    next one, which reduces;
//  * what a nest reads was written before, and no integer is divided by what could be 0.
// No element is combined in another order than it was.
std::optional<CanonicalForm> canonical_form(const Kernel& k);

}  // namespace relay::kernel::schedule
