// Small programs in batches: an engine compiles many of them as one, because a compiler
// takes long to start.
//
// A batch has no result if the engine refuses or fails on one of its programs. Such a batch is
// halved until the program to blame is alone.
#pragma once

#include <cstddef>
#include <functional>

namespace relay::tools {

// Enough that a compiler's start does not count, and few enough that a batch is soon taken apart.
inline constexpr size_t kMostInBatch = 48;

// Calls `run(begin, end)` for ranges that cover [0, count) in order. `run` returns false if the
// batch has no result, and must return true for a single program.
void run_in_batches(size_t count, const std::function<bool(size_t begin, size_t end)>& run);

}  // namespace relay::tools
