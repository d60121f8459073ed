// What bounds a run: steps, depth, time, memory, and somebody who wants it to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace relay::interp {

// Memory of this process that is in use now, in bytes; 0 where the system does not say.
uint64_t resident_bytes();
// Three quarters of the memory of the machine, or of what the process may have of it. Running out of memory ends a process
// without a word on most systems, so that a limit below it is what lets a run end with a message.
uint64_t usable_bytes();

struct Limits {
  uint64_t fuel = UINT64_MAX;           // steps
  size_t max_depth = size_t{1} << 27;   // pending contexts
  uint64_t max_bytes = usable_bytes();  // of the whole process; looked at now and then
  std::optional<std::chrono::nanoseconds> max_time =
      {};                                     // from the start of the run; looked at between steps
  const std::atomic<bool>* cancel = nullptr;  // the run ends when it becomes true
};

// Watches one run. Throws Exhausted, which names the limit and the option that raises it.
class Watch {
 public:
  explicit Watch(const Limits& limits) : limits_(limits) {}

  uint64_t steps() const { return steps_; }
  void start() { began_ = std::chrono::steady_clock::now(); }
  void step() {
    if (++steps_ > limits_.fuel) out_of_fuel();
    if (limits_.max_time || (steps_ & kNow) == 0) look();
  }
  void depth(size_t contexts) const {
    if (contexts >= limits_.max_depth) too_deep();
  }
  // Somebody made a value of that size: after many of them memory is looked at, however few steps they took.
  void made(size_t bytes) {
    made_ += bytes;
    if (made_ > kMany) look_at_memory();
  }

 private:
  static constexpr uint64_t kNow = 0xfff;
  static constexpr uint64_t kMany = uint64_t{1} << 26;

  void look();
  void look_at_memory();
  [[noreturn]] void out_of_fuel() const;
  [[noreturn]] void too_deep() const;

  Limits limits_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  uint64_t steps_ = 0;
  uint64_t made_ = 0;
};

}  // namespace relay::interp
