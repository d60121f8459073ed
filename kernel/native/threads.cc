#include "kernel/native/threads.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "runtime/denormals.h"

namespace relay::kernel::native {

struct Threads::Arena {
  tbb::task_arena arena;
  int64_t count;

  // Nothing is thrown: who calls is generated code, which exceptions cannot pass.
  int32_t run(int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) noexcept;
};

namespace {

int32_t run_serially(void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  return body(closure, 0, extent);
}

// The ranges of one loop, each of which is run once, and what the first of those that failed gave.
class Parts {
 public:
  static constexpr int64_t kMost = 1024;

  Parts(int64_t count, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure)
      : count_(count), extent_(extent), body_(body), closure_(closure) {}

  void run(int64_t p) {
    const uint64_t bit = uint64_t{1} << p % 64;
    if ((begun_[static_cast<size_t>(p / 64)].fetch_or(bit) & bit) != 0) return;
    const DenormalsScope as_the_caller(denormals_);
    const int32_t status = body_(closure_, extent_ * p / count_, extent_ * (p + 1) / count_);
    if (status == 0) return;
    const uint64_t mine = static_cast<uint64_t>(p) << 32 | static_cast<uint32_t>(status);
    for (uint64_t now = failed_; mine < now && !failed_.compare_exchange_weak(now, mine);) {
    }
  }
  int32_t status() const { return failed_ == kNone ? 0 : static_cast<int32_t>(failed_.load()); }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  const int64_t count_, extent_;
  int32_t (*const body_)(void*, int64_t, int64_t);
  void* const closure_;
  const Denormals denormals_ = denormals_here();  // of the thread that runs the loop
  std::atomic<uint64_t> begun_[kMost / 64] = {};
  std::atomic<uint64_t> failed_{kNone};  // the part in the upper half, so that the first one is the least
};

}  // namespace

int32_t Threads::Arena::run(int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                            void* closure) noexcept {
  const int64_t count_of_parts = std::min({count, extent, Parts::kMost});
  if (count_of_parts <= 1) return body(closure, 0, extent);
  Parts parts(count_of_parts, extent, body, closure);
  try {
    arena.execute([&] {
      tbb::parallel_for(
          int64_t{0}, count_of_parts, [&](int64_t p) { parts.run(p); }, tbb::static_partitioner());
    });
  } catch (...) {
    // Tasks take memory that there may not be: what did not begin is done here.
    for (int64_t p = 0; p < count_of_parts; ++p) parts.run(p);
  }
  return parts.status();
}

namespace {

// More threads than cores may be asked for. TBB has no more workers than cores otherwise, and warns
// on standard error.
void allow_workers(unsigned count) {
  static std::mutex mutex;
  static std::optional<tbb::global_control> control;
  static unsigned allowed = usable_cores();
  const std::lock_guard lock(mutex);
  if (count <= allowed) return;
  allowed = count;
  control.emplace(tbb::global_control::max_allowed_parallelism, count);
}

}  // namespace

Threads::Threads(unsigned count) {
  if (count <= 1) {
    parallel_.run = run_serially;
    return;
  }
  allow_workers(count);
  arena_ = std::make_unique<Arena>(Arena{tbb::task_arena(static_cast<int>(count)), count});
  parallel_.self = arena_.get();
  parallel_.run = [](void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                     void* closure) -> int32_t {
    return static_cast<Arena*>(self)->run(extent, body, closure);
  };
}

Threads::~Threads() = default;

}  // namespace relay::kernel::native
