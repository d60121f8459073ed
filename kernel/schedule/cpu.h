// Schedules for CPUs by rule: good loops for what the rules know, plain loops for the rest.
//
// Results do not depend on the number of threads: parallel loops share out elements of outputs,
// never the terms of a sum.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel::schedule {

struct CpuOptions {
  int opt_level = 2;      // 0: the kernel as it was written, one loop nest a tensor
  int vector_floats = 8;  // 4: sse2, neon; 8: avx2; 16: avx512
  bool parallel = true;   // mark loops as parallel
  // Floats are combined in the order in which that was written down, even where lanes of partial
  // results would be faster.
  bool in_order = false;
};

// Tensors that are cheap to compute where they are used are not stored; elementwise work on the
// result of a reduction is done while the result is in registers; contractions are computed in
// register tiles. `k` is as Builder wrote it (plain_form.h).
Kernel schedule_for_cpu(const Kernel& k, const CpuOptions& options);

}  // namespace relay::kernel::schedule
