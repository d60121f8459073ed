#include "python/work.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace relay::python {
namespace {

// How late Ctrl-C may be noticed.
constexpr std::chrono::milliseconds kWatchEvery{20};

// The thread that forks is the main one of the child.
bool on_main_thread() {
  struct Answer {
    unsigned forks;
    bool is_main;
  };
  static thread_local Answer known{~0U, false};
  if (known.forks != forks()) known = {forks(), ::syscall(SYS_gettid) == ::getpid()};
  return known.is_main;
}

// Python gives its threads as small a stack as it is asked for, and LLVM recurses.
bool has_room() {
  constexpr size_t kLeast = size_t{1} << 20;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  const char here = 0;
  return known && static_cast<size_t>(&here - static_cast<const char*>(lowest)) >= kLeast;
}

// Work that somebody waits for, or nobody any more.
struct Pending {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  std::exception_ptr failure;
};

// Threads that run work, whether or not they were abandoned, and threads of others that are busy.
struct Threads {
  std::mutex mutex;
  std::condition_variable changed;
  size_t count = 0;
  size_t in_functions = 0;  // of Python's
  bool ending = false;      // Python waits for them
};
// Never destroyed: a thread may still look at it when the process ends.
Threads& threads() {
  static Threads& all = *new Threads;
  return all;
}

// --- the handler of SIGINT -----------------------------------------------------------------------

// A handler can see nothing but globals.
std::atomic<const StopOnInterrupt::Stop*> stop_now{nullptr};
std::atomic<bool> stop_called{false};
std::atomic<int> handlers_inside{0};
struct sigaction handler_before;

// Python was told not to handle the signal: it is ignored, or ends the process.
bool is_handled(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void on_interrupt(int signal, siginfo_t* info, void* context) {
  handlers_inside.fetch_add(1);
  if (const StopOnInterrupt::Stop* stop = stop_now.load()) {
    stop_called.store(true);
    stop->call(stop->self);
  }
  handlers_inside.fetch_sub(1);
  if (!is_handled(handler_before)) return;
  if (handler_before.sa_flags & SA_SIGINFO) {
    handler_before.sa_sigaction(signal, info, context);
  } else {
    handler_before.sa_handler(signal);
  }
}

// --- the child of a fork -------------------------------------------------------------------------

std::atomic<unsigned> fork_count{0};

// The child has one thread, the one that forked. What other threads held or did is nobody's here.
void begin_as_child() {
  fork_count.fetch_add(1);
  new (&threads()) Threads;  // its mutex may be held, and its count is of the parent's threads
  if (stop_now.exchange(nullptr) != nullptr) ::sigaction(SIGINT, &handler_before, nullptr);
  handlers_inside.store(0);
}

// --- the end of the process ----------------------------------------------------------------------

// As Python ends after Ctrl-C. Nothing else is torn down: threads still use it.
[[noreturn]] void end_now(py::error_already_set& asked) {
  const bool is_interrupt = asked.matches(PyExc_KeyboardInterrupt);
  asked.restore();
  if (is_interrupt) {
    PyErr_Clear();
  } else {
    PyErr_WriteUnraisable(nullptr);
  }
  for (const char* stream : {"stdout", "stderr"}) {
    PyObject* file = PySys_GetObject(stream);
    PyObject* flushed = file ? PyObject_CallMethod(file, "flush", nullptr) : nullptr;
    Py_XDECREF(flushed);
    PyErr_Clear();
  }
  if (is_interrupt) {
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);
  }
  ::_exit(EXIT_FAILURE);
}

void wait_for_abandoned_work() {
  constexpr std::chrono::seconds kMostInFunctions{2};
  const auto begun = std::chrono::steady_clock::now();
  try {
    while (true) {
      {
        const Unlocked without;
        std::unique_lock lock(threads().mutex);
        Threads& all = threads();
        all.ending = true;
        const auto is_quiet = [&] {
          const bool waited = std::chrono::steady_clock::now() - begun > kMostInFunctions;
          return all.count == 0 && (all.in_functions == 0 || waited);
        };
        if (all.changed.wait_for(lock, kWatchEvery, is_quiet)) return;
      }
      raise_pending_signals();
    }
  } catch (py::error_already_set& asked) {
    end_now(asked);
  }
}

}  // namespace

Unlocked::~Unlocked() noexcept(false) {
  struct Hang {
    bool armed = true;
    ~Hang() {
      while (armed) ::pause();
    }
  } if_unwound;
  PyEval_RestoreThread(state_);
  if_unwound.armed = false;
}

Busy::Busy(With with) : forks_(forks()) {
  if (on_main_thread()) return;
  const auto begin = [&](bool may) {
    const std::lock_guard guard(threads().mutex);
    if (threads().ending && !may) return false;
    count_ = with == With::kWork ? &threads().count : &threads().in_functions;
    ++*count_;
    return true;
  };
  if (begin(false)) return;
  const py::object thread = py::module_::import("threading").attr("current_thread")();
  if (!py::cast<bool>(thread.attr("daemon"))) {
    begin(true);
    return;
  }
  // It ends the thread without a word. What runs at the end of Python may wait for that.
  PyErr_SetNone(PyExc_SystemExit);
  throw py::error_already_set();
}

// In the child of a fork nobody counts what the parent had begun.
Busy::~Busy() {
  if (!count_ || forks_ != forks()) return;
  const std::lock_guard guard(threads().mutex);
  --*count_;
  threads().changed.notify_all();
}

// What was said and not told yet.
struct Progress::Said {
  struct Step {
    size_t done, total;
    std::string what;
  };
  std::mutex mutex;
  std::vector<Step> steps;
};

Progress::Progress(py::object function) : function_(std::move(function)) {
  if (function_.is_none()) return;
  if (!PyCallable_Check(function_.ptr()))
    throw py::type_error("argument `progress` is no function: give one of (done, total, what)");
  said_ = std::make_shared<Said>();
}

Progress::Say Progress::say() const {
  if (!said_) return nullptr;
  return [said = said_](size_t done, size_t total, std::string_view what) {
    const std::lock_guard guard(said->mutex);
    said->steps.push_back({done, total, std::string(what)});
  };
}

void Progress::tell() const {
  std::vector<Said::Step> steps;
  {
    const std::lock_guard guard(said_->mutex);
    steps.swap(said_->steps);
  }
  for (const Said::Step& s : steps) function_(s.done, s.total, s.what);
}

void run_interruptibly(std::function<void()> work, const Progress* progress,
                       const std::shared_ptr<std::atomic<bool>>& abandoned) {
  const bool is_told = progress && progress->is_asked();
  const Busy busy(is_told ? Busy::With::kFunctions : Busy::With::kWork);
  if (!on_main_thread() && !is_told && has_room()) {
    const Unlocked without;
    work();
    return;
  }
  const auto pending = std::make_shared<Pending>();
  {
    const Unlocked without;
    const std::lock_guard guard(threads().mutex);
    ++threads().count;
  }
  std::thread thread;
  try {
    thread = std::thread([pending = std::shared_ptr<Pending>(pending), work = std::move(work)]() mutable {
      try {
        work();
      } catch (...) {
        pending->failure = std::current_exception();
      }
      work = nullptr;  // what it owns ends before anybody is told
      {
        const std::lock_guard guard(pending->mutex);
        pending->has_ended = true;
        pending->ended.notify_all();
      }
      pending = nullptr;  // a failure that nobody waits for may be an exception of Python's
      const std::lock_guard guard(threads().mutex);
      --threads().count;
      threads().changed.notify_all();
    });
  } catch (...) {
    const std::lock_guard guard(threads().mutex);
    --threads().count;
    throw;
  }
  thread.detach();
  try {
    while (true) {
      {
        const Unlocked without;
        std::unique_lock lock(pending->mutex);
        if (pending->ended.wait_for(lock, kWatchEvery, [&] { return pending->has_ended; })) break;
      }
      if (is_told) progress->tell();
      raise_pending_signals();
    }
  } catch (...) {
    if (abandoned) abandoned->store(true);
    throw;
  }
  if (is_told) progress->tell();
  if (pending->failure) std::rethrow_exception(std::exchange(pending->failure, nullptr));
}

bool ContextMutex::taken(bool is_mine) {
  if (is_mine) forks_.store(forks());
  return is_mine;
}

void ContextMutex::lock() {
  while (!try_lock_for(kWatchEvery)) check_not_lost();
}

bool ContextMutex::try_lock() { return taken(mutex_.try_lock()); }

bool ContextMutex::try_lock_for(std::chrono::milliseconds time) { return taken(mutex_.try_lock_for(time)); }

void ContextMutex::unlock() {
  forks_.store(kFree);
  mutex_.unlock();
}

void ContextMutex::check_not_lost() const {
  const unsigned when = forks_.load();
  if (when == kFree || when == forks()) return;
  throw std::runtime_error(
      "the process was forked while another thread used the module: load or make it again here");
}

std::unique_lock<ContextMutex> lock_interruptibly(ContextMutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    mutex.check_not_lost();
    {
      const Unlocked without;
      if (lock.try_lock_for(kWatchEvery)) break;
    }
    raise_pending_signals();
  }
  return lock;
}

void wait_for_abandoned_work_at_exit() {
  threads();  // made here, and not in the child of a fork
  pthread_atfork(nullptr, nullptr, &begin_as_child);
  py::module_::import("atexit").attr("register")(py::cpp_function(&wait_for_abandoned_work));
}

StopOnInterrupt::StopOnInterrupt(const Stop& stop) {
  if (!on_main_thread() || stop_now.load() != nullptr) return;
  // The handler may be called before the second call below has said what it replaced: that is most
  // often what it was the last time.
  static const bool kAsked = ::sigaction(SIGINT, nullptr, &handler_before) == 0;
  if (!kAsked) return;
  stop_called.store(false);
  stop_now.store(&stop);
  struct sigaction now = {}, before = {};
  now.sa_sigaction = on_interrupt;
  now.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (::sigaction(SIGINT, &now, &before) != 0) {
    stop_now.store(nullptr);
    return;
  }
  handler_before = before;
  installed_ = active_ = true;
  if (!is_handled(before)) end();
}

void StopOnInterrupt::end() {
  if (!active_) return;
  active_ = false;
  ::sigaction(SIGINT, &handler_before, nullptr);
  stop_now.store(nullptr);
  while (handlers_inside.load() != 0) std::this_thread::yield();
}

bool StopOnInterrupt::was_called() const { return installed_ && stop_called.load(); }

void raise_pending_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

unsigned forks() { return fork_count.load(std::memory_order_relaxed); }

}  // namespace relay::python
