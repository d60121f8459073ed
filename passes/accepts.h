// What the schedule of a target accepts in one kernel: the device's where there is a GPU.
#pragma once

#include "kernel/schedule/accepts.h"
#include "kernel/schedule/cpu/schedule.h"
#include "kernel/schedule/gpu/schedule.h"
#include "target/target.h"

namespace relay::passes {

inline kernel::schedule::Accepts accepts_of(const target::Target& target) {
  return target.gpu ? kernel::schedule::gpu::accepts(*target.gpu)
                    : kernel::schedule::cpu::accepts(target.cpu);
}

}  // namespace relay::passes
