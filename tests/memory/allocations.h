// Failing allocation: malloc and its like, replaced for the whole program, so that one request of a
// test's choice finds no memory.
//
// operator new, the C library and every shared library call these functions. A program that links
// this library cannot be built with a sanitizer of addresses, which replaces them too.
#pragma once

#include <atomic>
#include <cstdint>

namespace relay::tests {

enum class Refuse {
  kOne,          // the request alone: those after it find memory, as when another program gave some back
  kAllFromThen,  // it and all after it: whatever cleans up has to do without
};

// While it lives, requests of all threads are counted, and that of number `nth`, from 1, is
// refused. There is one at a time.
class FailingAllocation {
 public:
  FailingAllocation(uint64_t nth, Refuse how);
  ~FailingAllocation() { end(); }
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  // Returns how many requests were refused, and refuses no more.
  uint64_t end();

 private:
  std::atomic<uint64_t> refused_{0};
};

// The same until the process ends, or begins another program. `count`, which may be shared with
// another process, gets how many requests were refused.
void refuse_until_exit(uint64_t nth, Refuse how, std::atomic<uint64_t>* count);

// Blocks that were taken and not given back.
int64_t live_blocks();

// From now on keeps who takes blocks, and forgets those that are given back. For one thread.
void remember_blocks();
// Prints to standard error where those were taken that are still there: a block a line,
// callers first to last.
void print_remembered_blocks();

}  // namespace relay::tests
