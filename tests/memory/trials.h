// Trials of failing allocation: the k-th request of what is tried finds no memory, for many k, each
// in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/diagnostics.h"
#include "tests/memory/allocations.h"

namespace relay::tests {

// Something of Relay's that may run out of memory.
struct Trial {
  // Makes what it works on, with all the memory that it needs. May give null.
  std::function<std::shared_ptr<void>()> prepare = [] { return nullptr; };
  // Does it; returns all that came of it. Without memory it throws std::bad_alloc,
  // Exhausted or OutOfMemory.
  std::function<std::string(void* prepared)> act;
  // Blocks that libraries of others lose when a constructor of theirs finds no memory.
  int64_t may_lose = 0;
};

// What these libraries lose.
inline constexpr int64_t kLostByProtobuf = 1;  // a message that is in no list yet
inline constexpr int64_t kLostByZip =
    2;  // an entry that could not be opened; the C library's time zone, kept anew
inline constexpr int64_t kLostByJson = 40;  // an object from a list: what its constructor has made

// A diagnostic of the kind "limit" said that there is not enough memory.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws OutOfMemory if the errors come to a limit, and std::logic_error with their text if they do
// not. For trials whose call has failed.
[[noreturn]] void throw_reported(const Diagnostics& diagnostics);

// Which requests are refused: all up to some, then fewer and fewer. All of them in the nightly run
// (RELAY_ALLOCATIONS=all).
uint64_t next_request(uint64_t k);

// Refuses request after request until there are no more. In each process:
//   * the first time that anything is done, and the trial ends as out of memory, or with the right
//     result where whoever asked could do without;
//   * the same again with all memory gives the right result, on the same prepared state;
//   * once more with a refusal, and all memory that was taken meanwhile is given back.
//     RELAY_LOST_BLOCKS=1 shows who took it.
// RELAY_REQUEST=17, or 17+ for all from it on, tries that alone and in this process, for debuggers.
// The test fails for each request that comes to anything else, such as std::terminate. Returns how
// many requests there are.
uint64_t refuse_each(const Trial& trial);

// Runs `child` in a copy of this process; what it returns is what it writes back. `ended` is empty
// if it exited with 0, or says how it ended.
std::string in_copy(const std::function<std::string()>& child, std::string& ended);

}  // namespace relay::tests
