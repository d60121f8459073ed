// Schedules for CPUs by rule: good loops for what the rules know, plain loops for the rest.
//
// Results do not depend on the number of threads: parallel loops share out elements of outputs,
// never the terms of a sum.
#pragma once

#include "kernel/kernel.h"
#include "kernel/schedule/accepts.h"
#include "kernel/schedule/settings.h"
#include "target/target.h"

namespace relay::kernel::schedule::cpu {

// Tensors that are cheap to compute where they are used are not stored; elementwise work on the
// result of a reduction is done while the result is in registers; contractions are computed in
// register tiles. `k` is as Builder wrote it (canonical_form.h).
Kernel schedule_for_cpu(const Kernel& k, const target::Cpu& cpu, const Settings& settings = {});

// What of a kernel with several reductions stays in the cache.
Accepts accepts(const target::Cpu& cpu);

}  // namespace relay::kernel::schedule::cpu
