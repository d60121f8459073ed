// Long work and Ctrl-C.
//
// Python's own handler of SIGINT only sets a flag, which nobody reads while C++ code runs. So work
// that cannot be stopped runs on a thread of its own, and the caller watches the flag. A run of a
// model can be stopped: the handler tells it.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace relay::python {

namespace py = pybind11;

// Lets go of the GIL for a scope. A thread that asks for it back when Python has begun to end is
// unwound by Python 3.11, through destructors that need the GIL: it waits for the process to end
// instead.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() noexcept(false);  // else the unwinding ends the process
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// What another thread than the main one is in the middle of. Python ends while threads that are
// daemons go on: the statics that work uses are torn down then, and a thread that wants the GIL is
// unwound through destructors that need it. So Python waits for the end of what was begun, and what
// a daemon begins after that raises SystemExit. Where functions of Python's are called, which may
// never return, the wait is a short one.
class Busy {
 public:
  enum class With : uint8_t { kWork, kFunctions };
  explicit Busy(With with);  // needs the GIL
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  size_t* count_ = nullptr;
  unsigned forks_ = 0;
};

// How far long work is, for a function of Python's: `progress(done, total, what)`. The work says it
// on its own thread. The thread that waits for the work calls the function, so it may draw.
class Progress {
 public:
  using Say = std::function<void(size_t done, size_t total, std::string_view what)>;

  // None: nobody asks.
  explicit Progress(py::object function);

  // For the work, which may outlive this. Null if nobody asks.
  Say say() const;
  bool is_asked() const { return said_ != nullptr; }
  // Calls the function for all that was said since. Raises what it raises.
  void tell() const;

 private:
  struct Said;
  py::object function_;
  std::shared_ptr<Said> said_;
};

// Runs the work without the GIL and returns when it has ended. Rethrows what it throws. On the main
// thread Ctrl-C returns at once, with KeyboardInterrupt: the work is abandoned, which means that it
// ends by itself on its thread. So the work must own all that it uses. It is abandoned, too, if the
// function that is told of its progress raises something. `abandoned` then becomes true: work that
// may be endless looks at it.
void run_interruptibly(std::function<void()> work, const Progress* progress = nullptr,
                       const std::shared_ptr<std::atomic<bool>>& abandoned = nullptr);

// Held by the thread that uses a module's context. A fork copies a held mutex without the thread
// that would release it: such a mutex is lost to the child.
class ContextMutex {
 public:
  void lock();  // throws std::runtime_error if the mutex is lost
  bool try_lock();
  bool try_lock_for(std::chrono::milliseconds time);
  void unlock();
  void check_not_lost() const;  // throws the same

 private:
  static constexpr unsigned kFree = ~0U;
  bool taken(bool is_mine);

  std::timed_mutex mutex_;
  std::atomic<unsigned> forks_{kFree};  // how often the process was forked when it was taken
};

// Waits for the mutex without the GIL; Ctrl-C ends the wait. Nobody may wait for a mutex with the
// GIL: who has the mutex may need the GIL to go on. Raises RuntimeError if the mutex is lost.
std::unique_lock<ContextMutex> lock_interruptibly(ContextMutex& mutex);

// Makes Python wait for abandoned work before it ends: threads must not outlive the interpreter. A
// child of a fork waits for its own work alone. Ctrl-C during the wait ends the process at once.
void wait_for_abandoned_work_at_exit();

// While it lives, Ctrl-C calls `stop` from the signal handler, and then Python's own handler. Does
// nothing on other threads than the main one, to which Python gives no signals. `stop` must be safe
// in a signal handler, and must outlive this.
class StopOnInterrupt {
 public:
  struct Stop {
    void (*call)(void* self);
    void* self;
  };
  explicit StopOnInterrupt(const Stop& stop);
  ~StopOnInterrupt() { end(); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

  // No call of `stop` begins or runs after this.
  void end();
  bool was_called() const;

 private:
  bool installed_ = false;  // at any time
  bool active_ = false;     // now
};

// Raises KeyboardInterrupt, or whatever the handler of a pending signal raises. Needs the GIL.
void raise_pending_signals();

// How often this process was forked: what was made before a fork has lost its threads after it.
unsigned forks();

}  // namespace relay::python
