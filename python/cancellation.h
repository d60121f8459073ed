// Runs of models that somebody no longer waits for: `asyncio` cancels the future of a run.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "python/work.h"

namespace relay::python {

// Of one run, which another thread may cancel: before it begins, while it runs, or too late.
class Cancellation {
 public:
  void cancel();
  bool requested() const { return requested_.load(); }
  // Raises LimitError if it was requested.
  void check() const;

  // While it lives, `cancel` calls `stop`: at once if it was requested before. No call of `stop`
  // runs after it. Without a cancellation it does nothing.
  class Scope {
   public:
    Scope(Cancellation* of, const StopOnInterrupt::Stop& stop);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation* of_;
  };

 private:
  std::mutex mutex_;
  std::atomic<bool> requested_{false};
  const StopOnInterrupt::Stop* stop_ = nullptr;  // guarded by mutex_
};

// Waits for the mutex as lock_interruptibly does, until the run is cancelled. Without a
// cancellation it is lock_interruptibly.
std::unique_lock<ContextMutex> lock_for_run(ContextMutex& mutex, const Cancellation* cancellation);

// A coroutine that runs `call` on a thread of the running loop's executor, with the GIL. If it is
// cancelled, the run is.
py::object run_async(const std::function<py::object(Cancellation&)>& call);

}  // namespace relay::python
