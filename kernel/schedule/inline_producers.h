// Computes tensors that are cheap where they are used.
#pragma once

#include <functional>

#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule {

// May what only a condition keeps from loading elements that do not exist, padding above all,
// become part of this reduction?
using MayPad = std::function<bool(const Stage& producer, const Stage& reduction)>;

// Inlines, as long as there is one, the first stage that is worth it. A stage is worth it if its
// readers allow it and it is cheap enough for their number. Looks at a stage again only if it, one
// of its readers or what it reads has changed, so a step costs what it changes, not the kernel.
Kernel inline_producers(const Kernel& k, const MayPad& may_pad);

}  // namespace relay::kernel::schedule
