#include "kernel/native/parallel.h"

#include <sched.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <vector>

namespace relay::kernel::native {

struct Threads::Arena {
  tbb::task_arena arena;
  int64_t count;
};

namespace {

int32_t run_serially(void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  return body(closure, 0, extent);
}

}  // namespace

unsigned usable_cores() {
  // The kernel refuses a set that is too small for the machine, and a cpu_set_t has room for 1024 cores.
  for (size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    const size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0)
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, mask.data())));
  }
  return 1;
}

Threads::Threads(unsigned count) {
  if (count <= 1) {
    parallel_.run = run_serially;
    return;
  }
  arena_ = std::make_unique<Arena>(Arena{tbb::task_arena(static_cast<int>(count)), count});
  parallel_.self = arena_.get();
  parallel_.run = [](void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                     void* closure) -> int32_t {
    auto& a = *static_cast<Arena*>(self);
    const int64_t parts = std::min(a.count, extent);
    if (parts <= 1) return body(closure, 0, extent);
    std::vector<int32_t> status(static_cast<size_t>(parts));
    a.arena.execute([&] {
      tbb::parallel_for(
          int64_t{0}, parts,
          [&](int64_t p) {
            status[static_cast<size_t>(p)] = body(closure, extent * p / parts, extent * (p + 1) / parts);
          },
          tbb::static_partitioner());
    });
    const auto failed = std::find_if(status.begin(), status.end(), [](int32_t s) { return s != 0; });
    return failed == status.end() ? 0 : *failed;
  };
}

Threads::~Threads() = default;

}  // namespace relay::kernel::native
