// The parameters and the schedules of a target that has a VTA.
#pragma once

#include "target/target.h"
#include "vta/compile/schedule.h"

namespace relay::vta {

// Not all of them have instructions: Layout::make says it.
Params params_of(const target::Vta& vta);
ScheduleOptions schedule_options_of(const target::Vta& vta);

}  // namespace relay::vta
