// What bounds a run: steps, depth, time, memory, and somebody who wants it to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/tensor.h"

namespace relay::interp {

// Memory of this process that is in use now, in bytes; 0 where the system does not say. This is
// what the process allocated for itself: tensors, values, pending evaluations, the model,
// compiled code. Program files and mapped files do not count, because the system can drop and
// read them again.
uint64_t resident_bytes();
// Gives memory that was freed back to the system, so that `resident_bytes` does not count it.
void return_freed_memory();
// Three quarters of the memory of the machine, or of what the process may have of it. Running out
// of memory ends a process without a word on most systems, so that a limit below it is what lets a
// run end with a message.
uint64_t usable_bytes();

struct Limits {
  // Endless recursion reaches it within seconds and a gigabyte. Programs a million
  // calls deep still run.
  static constexpr size_t kDepth = size_t{1} << 20;

  uint64_t fuel = UINT64_MAX;           // steps, and work within them; a loop may be as long as it likes
  size_t max_depth = kDepth;            // pending contexts
  uint64_t max_bytes = usable_bytes();  // as resident_bytes() counts them
  std::optional<std::chrono::nanoseconds> max_time =
      {};                                     // from the start of the run; looked at between steps
  const std::atomic<bool>* cancel = nullptr;  // the run ends when it becomes true
};

// Watches one run. Throws Exhausted, which names the limit and the option that raises it.
class Watch : public MemoryBound {
 public:
  explicit Watch(const Limits& limits);

  uint64_t steps() const { return steps_; }
  // A run begins. Under a bound that somebody chose memory is looked at: the model, its inputs and
  // compiled code may be too large already.
  void start() {
    began_ = std::chrono::steady_clock::now();
    if (limits_.max_bytes < usable_bytes()) look_at_memory(0);
  }
  void step() {
    if (++steps_ + work_ > limits_.fuel) out_of_fuel();
    if (looks_always_ || (steps_ & kNow) == 0) look();
  }
  // A step, like a kernel whose loops are long, did as much again as many steps do.
  void work() {
    if (steps_ + ++work_ > limits_.fuel) out_of_fuel();
    look();
  }
  void depth(size_t contexts) const {
    if (contexts >= limits_.max_depth) too_deep();
  }
  // Somebody is about to take so many bytes. Memory is looked at before a large piece, and after
  // many small ones.
  void before(size_t bytes) override {
    taken_ += bytes;
    if (taken_ >= look_every_) look_at_memory(bytes);
  }

 private:
  static constexpr uint64_t kNow = 0xfff;

  void look();
  void look_at_memory(uint64_t more);  // before `more` bytes are taken
  [[noreturn]] void out_of_fuel() const;
  [[noreturn]] void too_deep() const;

  Limits limits_;
  bool looks_always_;  // a step may be a large operator, and somebody waits
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  uint64_t steps_ = 0, work_ = 0;
  uint64_t look_every_;  // bytes
  uint64_t taken_ = 0;   // bytes since memory was looked at
};

}  // namespace relay::interp
