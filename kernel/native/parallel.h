// Threads for kernels that run in this process.
#pragma once

#include <functional>
#include <memory>

#include "runtime/relay.h"

namespace relay::kernel::native {

// The cores that this process may run on: its affinity mask, not the machine's.
unsigned usable_cores();

// Calls `work` on so many threads at once, the caller's among them, and waits for all of them. Then
// throws what one of them threw. Threads that cannot be started are done without: each call has to
// look for work until there is none.
void on_threads(size_t count, const std::function<void()>& work);

// Calls `work` once with each number below `count`, in ascending order, on at most `at_once`
// threads. After a call has thrown, no further one begins. Then throws what the least of the
// numbers threw, which is what one thread would have met first.
void for_each_at_once(size_t count, size_t at_once, const std::function<void(size_t)>& work);

// Spreads parallel loops over a number of threads; 1 uses none but the caller's. Static splitting:
// the same ranges for the same extent and number of threads.
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
