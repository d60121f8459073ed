// What a schedule depends on besides the kernel and the machine.
#pragma once

namespace relay::kernel::schedule {

struct Settings {
  int opt_level = 2;     // 0: the kernel as it was written, one loop nest a tensor
  bool parallel = true;  // CPUs: mark loops as parallel
  // CPUs: floats are combined in the order in which that was written down, even where lanes of
  // partial results would be faster.
  bool in_order = false;
};

}  // namespace relay::kernel::schedule
