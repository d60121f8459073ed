// Threads for kernels that run in this process.
#pragma once

#include <memory>

#include "runtime/relay.h"

namespace relay::kernel::native {

// Spreads parallel loops over a number of threads; 1 uses none but the caller's. Static splitting:
// the same ranges for the same extent and number of threads. Each range keeps or flushes denormals
// as the calling thread does.
class Threads {
 public:
  explicit Threads(unsigned count);
  ~Threads();
  Threads(const Threads&) = delete;

  const relay_parallel* parallel() const { return &parallel_; }

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
  relay_parallel parallel_ = {sizeof(relay_parallel), nullptr, nullptr};
};

}  // namespace relay::kernel::native
