// Kernels with a loop that threads share. Small loops are not worth threads, so a test on several
// threads counts such kernels: without any it would test nothing.
#pragma once

#include <atomic>
#include <cstddef>

#include "driver/engines.h"
#include "passes/observer.h"

namespace relay::tests {

// Counts the kernels that engines get from the passes. Several engines may be prepared at once.
class ParallelKernels : public passes::Observer {
 public:
  void ran(const passes::StepReport& report, Diagnostics& d) override;

  size_t all() const { return all_; }
  size_t parallel() const { return parallel_; }  // of these, with a parallel loop

 private:
  std::atomic<size_t> all_ = 0, parallel_ = 0;
};

// The options with so many threads. If there are several, they share every loop that the schedule
// can share, however small, and `count` counts its kernels.
driver::Options on_threads(driver::Options options, int threads, ParallelKernels& count);

}  // namespace relay::tests
