#include "tests/memory/allocations.h"

#include <execinfo.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The C library's own functions, by the names under which it keeps them for replacements.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
}

namespace relay::tests {
namespace {

// None of these allocates, and none has a constructor that would run after the first request.
std::atomic<bool> counting{false};
std::atomic<bool> all_from_then{false};
std::atomic<uint64_t> left{0};  // requests until the first that is refused
std::atomic<uint64_t>* refusals = nullptr;
std::atomic<int64_t> live{0};

bool is_refused() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const uint64_t before = left.load();
  const bool refused = before == 0 ? all_from_then.load() : left.fetch_sub(1) == 1;
  if (refused) {
    ++*refusals;
    errno = ENOMEM;
  }
  return refused;
}

// Blocks whose takers are remembered: a table of fixed size, in which an address has its
// place by its bits.
struct Remembered {
  void* memory;
  void* callers[12];
  int depth;
};
constexpr size_t kMostRemembered = 1 << 14;
Remembered remembered[kMostRemembered];
bool remembers = false, busy = false;

Remembered* find(void* memory, void* wanted) {
  const size_t first = reinterpret_cast<uintptr_t>(memory) / 16 * 2654435761u;
  for (size_t i = 0; i < 64; ++i) {
    Remembered& r = remembered[(first + i) % kMostRemembered];
    if (r.memory == wanted) return &r;
  }
  return nullptr;
}

void* counted(void* memory) {
  if (memory == nullptr) return memory;
  live.fetch_add(1, std::memory_order_relaxed);
  if (!remembers || busy) return memory;
  busy = true;  // who is asked for callers may ask for memory
  if (Remembered* r = find(memory, nullptr)) {
    r->memory = memory;
    r->depth = backtrace(r->callers, 12);
  }
  busy = false;
  return memory;
}

void forget(void* memory) {
  if (Remembered* r = remembers ? find(memory, memory) : nullptr) r->memory = nullptr;
}

}  // namespace

void refuse_until_exit(uint64_t nth, Refuse how, std::atomic<uint64_t>* count) {
  left = nth;
  refusals = count;
  all_from_then = how == Refuse::kAllFromThen;
  counting = true;
}

FailingAllocation::FailingAllocation(uint64_t nth, Refuse how) { refuse_until_exit(nth, how, &refused_); }
uint64_t FailingAllocation::end() {
  counting = false;
  return refused_;
}

int64_t live_blocks() { return live; }

void remember_blocks() { remembers = true; }
void print_remembered_blocks() {
  remembers = false;
  for (const Remembered& r : remembered) {
    if (r.memory == nullptr) continue;
    dprintf(STDERR_FILENO, "a block was taken by\n");
    backtrace_symbols_fd(r.callers, r.depth, STDERR_FILENO);
  }
}

}  // namespace relay::tests

extern "C" {

void* malloc(size_t size) {
  using namespace relay::tests;
  return is_refused() ? nullptr : counted(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  using namespace relay::tests;
  return is_refused() ? nullptr : counted(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  using namespace relay::tests;
  if (is_refused()) return nullptr;
  if (memory == nullptr) return counted(__libc_realloc(memory, size));
  void* out = __libc_realloc(memory, size);
  if (out == nullptr && size > 0) return nullptr;
  forget(memory);
  live.fetch_sub(1, std::memory_order_relaxed);
  return counted(out);
}
void* memalign(size_t alignment, size_t size) {
  using namespace relay::tests;
  return is_refused() ? nullptr : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
void free(void* memory) {
  if (memory != nullptr) relay::tests::live.fetch_sub(1, std::memory_order_relaxed);
  if (memory != nullptr) relay::tests::forget(memory);
  __libc_free(memory);
}

}  // extern "C"
