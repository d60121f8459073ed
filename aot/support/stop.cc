// What ends a run that is not well, and what ends it from outside; part of every artifact
// (see interface.cc).

// A plan ends with the number of a message instead of kTrapped. After kExternal, `code` is what a C
// function has given; after kDevice the machine has what a device said.
[[maybe_unused]] constexpr int32_t kTrapped = 1, kCancelled = -1, kLimit = -2, kTimedOut = -3, kExternal = -4,
                                   kDevice = -5;

inline int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// What may stop the runs of a context. The clock is read only where a run has a limit.
struct Stop {
  int cancelled;     // by any thread: with atomic built-ins only
  int64_t timeout;   // of each run, in nanoseconds; 0: none
  int64_t deadline;  // of this run; 0: none
  int32_t code;      // of the C function that failed

  void start_run() {
    deadline = 0;
    if (timeout > 0 && __builtin_add_overflow(nanoseconds(), timeout, &deadline)) deadline = INT64_MAX;
  }
  // Where the next kernel would begin. 0: it may go on.
  int32_t asked() const {
    if (__atomic_load_n(&cancelled, __ATOMIC_RELAXED)) return kCancelled;
    return deadline != 0 && nanoseconds() >= deadline ? kTimedOut : 0;
  }
  int32_t failed(int32_t with) {
    code = with;
    return kExternal;
  }
};
