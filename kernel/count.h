// What a kernel costs by its own loops, whoever runs them: arithmetic, and distinct
// bytes of memory.
//
// Together with what a machine can do at best (tools/roofs.h) this bounds how fast the kernel can
// be: the roofline of Williams, Waterman and Patterson (Communications of the ACM 52(4), 2009).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

struct Count {
  // Arithmetic on elements, floating-point or (in quantised kernels) integer: a
  // multiplication and the addition of its product are two, a call of a math function is one,
  // both sides of a selection count, comparisons and casts do not. The arithmetic of indices
  // and conditions is not in it.
  double flops = 0;
  // Distinct bytes that are read or written of each parameter: inputs, outputs, temporaries, in
  // this order. Where indices are data, or only some elements of a box are touched, at most the
  // box around them.
  std::vector<double> bytes = {};

  double total_bytes() const;
};

// Nothing if a loop's extent is not known: a kernel of symbolic shape must be specialised first.
// Nor for external kernels. Loops whose extents or guards depend on loops around them are counted
// iteration by iteration, up to a limit far above what schedules make;
// beyond it, and where a guard asks for data, the guarded statement counts as if it always ran.
std::optional<Count> count(const Kernel& k);

}  // namespace relay::kernel
