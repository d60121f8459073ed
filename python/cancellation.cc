#include "python/cancellation.h"

#include <chrono>
#include <memory>

#include "base/failure_names.h"
#include "python/errors.h"

namespace relay::python {

void Cancellation::cancel() {
  const std::lock_guard guard(mutex_);
  requested_.store(true);
  if (stop_) stop_->call(stop_->self);
}

void Cancellation::check() const {
  if (requested()) raise_limit(std::string(kCancelled));
}

Cancellation::Scope::Scope(Cancellation* of, const StopOnInterrupt::Stop& stop) : of_(of) {
  if (!of_) return;
  const std::lock_guard guard(of_->mutex_);
  of_->stop_ = &stop;
  if (of_->requested()) stop.call(stop.self);
}

Cancellation::Scope::~Scope() {
  if (!of_) return;
  const std::lock_guard guard(of_->mutex_);
  of_->stop_ = nullptr;
}

std::unique_lock<ContextMutex> lock_for_run(ContextMutex& mutex, const Cancellation* cancellation) {
  constexpr std::chrono::milliseconds kLookEvery{20};
  if (!cancellation) return lock_interruptibly(mutex);
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    mutex.check_not_lost();
    cancellation->check();
    const Unlocked without;
    if (lock.try_lock_for(kLookEvery)) break;
  }
  return lock;
}

py::object run_async(const std::function<py::object(Cancellation&)>& call) {
  const py::cpp_function begin([call] {
    const auto cancellation = std::make_shared<Cancellation>();
    const py::cpp_function run([call, cancellation] { return call(*cancellation); });
    const py::object loop = py::module_::import("asyncio").attr("get_running_loop")();
    py::object future = loop.attr("run_in_executor")(py::none(), run);
    // The executor cannot stop what has begun, and Python waits for it before it exits.
    future.attr("add_done_callback")(py::cpp_function([cancellation](const py::object& done) {
      if (py::cast<bool>(done.attr("cancelled")())) cancellation->cancel();
    }));
    return future;
  });
  py::object coroutine = py::module_::import("relay.coroutines").attr("waits_for")(begin);
  for (const char* name : {"__name__", "__qualname__"}) coroutine.attr(name) = "run_async";  // in warnings
  return coroutine;
}

}  // namespace relay::python
