// For tests of schedules for CPUs: scheduled kernels and what they hold.
#pragma once

#include "kernel/schedule/cpu/schedule.h"
#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule::cpu {

class CpuScheduleTest : public ScheduleTest {
 protected:
  Kernel scheduled(const Kernel& k, int width = 4) { return schedule_for_cpu(k, cpu_with(width)); }
};

}  // namespace relay::kernel::schedule::cpu
