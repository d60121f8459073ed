// Work of the compiler on several threads of this process.
#pragma once

#include <cstddef>
#include <functional>

#include "base/usable_cores.h"

namespace relay {

// Calls `work` on so many threads at once, the caller's among them, and waits for all of them. Then
// throws what one of them threw. Threads that cannot be started are done without: each call has to
// look for work until there is none.
void on_threads(size_t count, const std::function<void()>& work);

// Calls `work` once with each number below `count`, in ascending order, on at most `at_once`
// threads. After a call has thrown, no further one begins. Then throws what the least of the
// numbers threw, which is what one thread would have met first.
void for_each_at_once(size_t count, size_t at_once, const std::function<void(size_t)>& work);

}  // namespace relay
