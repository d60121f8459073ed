// What a schedule depends on besides the kernel and the machine.
#pragma once

#include <cstdint>

namespace relay::kernel::schedule {

// To wake threads takes as long as some ten thousand elements.
inline constexpr int64_t kWorthThreads = 32768;

struct Settings {
  int opt_level = 2;     // 0: the kernel as it was written, one loop nest a tensor
  bool parallel = true;  // CPUs: mark loops as parallel
  // CPUs: loops over fewer elements than these are not. Tests set 1, so that small programs have
  // parallel loops.
  int64_t worth_threads = kWorthThreads;
  // CPUs: floats are combined in the order in which that was written down, even where lanes of
  // partial results would be faster.
  bool in_order = false;
};

}  // namespace relay::kernel::schedule
