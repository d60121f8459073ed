#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace relay {

// Threads of the system, not of TBB, which the loops of kernels run on (kernel/native/threads.cc).
// Where no thread can be started, this goes on without; TBB 2021.8 throws "pthread_create has
// failed" before any work is done, as seen under a limit of memory. And work here may wait for a
// compiler's process: TBB has a worker a core, which would wait, too.
void on_threads(size_t count, const std::function<void()>& work) {
  std::mutex lock;
  std::exception_ptr thrown;
  const auto guarded = [&]() noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard guard(lock);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (size_t t = 1; t < count; ++t) others.emplace_back(guarded);
  } catch (...) {
  }
  guarded();
  for (std::thread& t : others) t.join();
  if (thrown) std::rethrow_exception(thrown);
}

void for_each_at_once(size_t count, size_t at_once, const std::function<void(size_t)>& work) {
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<size_t> next = 0;
  on_threads(std::min(at_once, count), [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        thrown[i] = std::current_exception();
        next = count;  // all numbers below `i` have begun
      }
    }
  });
  for (const std::exception_ptr& e : thrown) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace relay
