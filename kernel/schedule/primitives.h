// Inlining: a tensor that is computed where it is used is never stored.
#pragma once

#include <string_view>

#include "kernel/schedule/primitive.h"

namespace relay::kernel::schedule {

// The block's value replaces every load of what it writes. Refused unless the block writes each element of a
// temporary once from its iteration variables, without requirements.
Outcome compute_inline(const Kernel& k, std::string_view block);

// The block's computation is done where the tensor that it reads is written. Refused unless it is the only reader
// of a temporary, reads it at its own iteration variables only, and the writer is no reduction.
Outcome reverse_compute_inline(const Kernel& k, std::string_view block);

}  // namespace relay::kernel::schedule
