// The machine of cuda_emulation.h: fibers for threads, and the launches that they run. What it
// watches follows in cuda_watch.cc, and the functions of the runtime that generated code calls in
// cuda_runtime.cc. One object for each library, compiled without the flag that puts calls in front
// of accesses.

#undef _FORTIFY_SOURCE  // its longjmp refuses to change stacks

#include "cuda_emulation.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace relay_emulation {

constexpr unsigned kMostThreads = 1024, kWarp = 32;
constexpr size_t kStackBytes = 256 << 10;

// Memory that a launch may access.
struct Range {
  uintptr_t begin, end;
  uint32_t shift;  // an element has 2^shift bytes
  bool writes, shared;
  uint32_t stamp;       // of what was noted about its elements; what has another stamp is from before
  uint64_t first_cell;  // of its elements' history
  char name[48];
};

// What happened to an element since the launch began; of shared memory, since the block began.
struct Cell {
  uint32_t stamp;
  uint32_t written, read;  // 0: not yet
  uint32_t write_block, write_thread, write_phase;
  uint32_t first_reading_block;
  // The readers of one block in one phase: one of them, and whether there were others.
  uint32_t read_block, read_thread, read_phase;
  bool many_readers;
};

enum class Wait : uint8_t { kNot, kBarrier, kShuffle, kEnded };

struct Fiber {
  ucontext_t context;  // how it begins; going on by one would ask the system for the mask of signals
  jmp_buf rest;        // what is left of it, once it has begun
  bool begun, idle;
};

struct Extents {
  unsigned x, y, z;
};

struct Thread {
  Wait wait;
  bool failed;
  int site;  // the line of the barrier, the distance of the shuffle
  Fiber* fiber;
  uint64_t given, taken;  // of a shuffle
};

// All of it zero at first.
struct Machine {
  pthread_mutex_t lock;
  uint64_t allocated;  // memory of the device
  // The launch.
  char launch_name[64], error[512];
  Range* ranges;  // those of arguments, then those of the block's shared memory
  size_t range_count, range_room, argument_count;
  size_t recent[2];  // the ranges that were accessed last
  bool overlap;      // of what is written with what is read
  Cell* cells;
  uint64_t cells_size, cells_used, argument_cells;
  uint32_t stamp;
  Extents grid, block;
  void (*body)(void*);
  void* call;
  // The block.
  uint32_t block_number, phase;
  Extents block_at;
  unsigned count, next, current;  // threads: all, the first that has not begun, the one that runs
  Thread threads[kMostThreads];
  Fiber fibers[kMostThreads];
  unsigned fiber_count;
  unsigned char* stacks;
  Fiber* fiber;  // that runs; null: the scheduler
  jmp_buf scheduler;
};

// One for this library.
inline Machine& machine() {
  static Machine m;
  return m;
}

Turn::Turn() { pthread_mutex_lock(&machine().lock); }
Turn::~Turn() { pthread_mutex_unlock(&machine().lock); }

inline Extents place(unsigned number, const Extents& extents) {
  return {number % extents.x, number / extents.x % extents.y, number / extents.x / extents.y};
}

// Says what is wrong, of the current thread. A thread is left where it is; the scheduler has to
// look for the text.
__attribute__((format(printf, 1, 2))) inline void stop(const char* format, ...) {
  Machine& m = machine();
  const Extents t = place(m.current, m.block);
  const int used =
      snprintf(m.error, sizeof m.error, "%s, block (%u, %u, %u), thread (%u, %u, %u): ", m.launch_name,
               m.block_at.x, m.block_at.y, m.block_at.z, t.x, t.y, t.z);
  va_list list;
  va_start(list, format);
  vsnprintf(m.error + used, sizeof m.error - static_cast<size_t>(used), format, list);
  va_end(list);
  if (m.fiber != nullptr) _longjmp(m.scheduler, 1);
}
inline bool stopped() { return machine().error[0] != 0; }

inline void clear_ranges(Machine& m) {
  m.range_count = m.argument_count = 0;
  m.cells_used = 0;
}

void name_launch(const char* name) {
  snprintf(machine().launch_name, sizeof machine().launch_name, "%s", name);
}

dim3 block_index() {
  const Extents& at = machine().block_at;
  return dim3(at.x, at.y, at.z);
}
dim3 thread_index() {
  const Extents at = place(machine().current, machine().block);
  return dim3(at.x, at.y, at.z);
}

bool has_failed(const int32_t* failure) { return *failure != 0; }
void fail(int32_t* failure, int32_t number) {
  Machine& m = machine();
  m.threads[m.current].failed = true;
  if (*failure < 0x7fffffff - number) *failure = 0x7fffffff - number;
}

// --- Threads ---

// From the current fiber to the scheduler, until it is resumed.
inline void leave(Machine& m) {
  if (_setjmp(m.fiber->rest) == 0) _longjmp(m.scheduler, 1);
}

inline void wait(Wait how, int site) {
  Machine& m = machine();
  Thread& t = m.threads[m.current];
  t.wait = how;
  t.site = site;
  t.fiber = m.fiber;
  leave(m);
}
void barrier(int line) { wait(Wait::kBarrier, line); }

void shuffle_down(void* value, size_t bytes, int distance) {
  Machine& m = machine();
  m.threads[m.current].given = 0;
  memcpy(&m.threads[m.current].given, value, bytes);
  wait(Wait::kShuffle, distance);
  memcpy(value, &m.threads[m.current].taken, bytes);
}

// A fiber runs threads until one of them waits; that thread keeps it.
inline void work() {
  Machine& m = machine();
  for (;;) {
    while (m.next < m.count) {
      m.current = m.next++;
      m.body(m.call);
      m.threads[m.current].wait = Wait::kEnded;
    }
    m.fiber->idle = true;
    leave(m);
  }
}

inline void resume(Fiber* f) {
  Machine& m = machine();
  m.fiber = f;
  f->idle = false;
  if (_setjmp(m.scheduler) == 0) {
    if (f->begun) _longjmp(f->rest, 1);
    f->begun = true;
    setcontext(&f->context);
  }
  m.fiber = nullptr;
}

inline Fiber* idle_fiber() {
  Machine& m = machine();
  for (unsigned i = 0; i < m.fiber_count; ++i) {
    if (m.fibers[i].idle) return &m.fibers[i];
  }
  Fiber& f = m.fibers[m.fiber_count];
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = m.stacks + kStackBytes * m.fiber_count;
  f.context.uc_stack.ss_size = kStackBytes;
  f.context.uc_link = nullptr;
  makecontext(&f.context, work, 0);
  f.begun = false;
  f.idle = true;
  ++m.fiber_count;
  return &f;
}

// Threads that wait for each other go on together.
inline bool release_barrier() {
  Machine& m = machine();
  const Thread* first = nullptr;
  unsigned ended = 0, shuffling = 0;
  for (unsigned i = 0; i < m.count; ++i) {
    const Thread& t = m.threads[i];
    if (t.wait == Wait::kEnded && !t.failed) ++ended, m.current = i;
    shuffling += t.wait == Wait::kShuffle;
    if (t.wait == Wait::kBarrier && first == nullptr) first = &t;
  }
  if (first == nullptr || shuffling > 0) return false;
  if (ended > 0) {
    stop("ends before the barrier in line %d, where others of its block wait", first->site);
    return false;
  }
  for (unsigned i = 0; i < m.count; ++i) {
    m.current = i;
    if (m.threads[i].wait != Wait::kBarrier || m.threads[i].site == first->site) continue;
    stop("waits at the barrier in line %d, and others of its block at that in line %d", m.threads[i].site,
         first->site);
    return false;
  }
  ++m.phase;
  for (unsigned i = 0; i < m.count && !stopped(); ++i) {
    if (m.threads[i].wait != Wait::kBarrier) continue;
    m.threads[i].wait = Wait::kNot;
    m.current = i;
    resume(m.threads[i].fiber);
  }
  return true;
}

inline bool release_warps() {
  Machine& m = machine();
  bool any = false;
  for (unsigned begin = 0; begin < m.count; begin += kWarp) {
    const unsigned end = begin + kWarp < m.count ? begin + kWarp : m.count;
    const Thread* first = nullptr;
    for (unsigned i = begin; i < end; ++i) {
      if (m.threads[i].wait == Wait::kShuffle && first == nullptr) first = &m.threads[i];
    }
    if (first == nullptr) continue;
    for (unsigned i = begin; i < end; ++i) {
      m.current = i;
      const Thread& t = m.threads[i];
      if (t.failed && t.wait == Wait::kEnded) continue;
      if (t.wait == Wait::kShuffle && t.site == first->site) continue;
      stop("does not come to the shuffle by %d, where others of its warp wait", first->site);
      return false;
    }
    const int distance = first->site;
    for (unsigned i = begin; i < end; ++i) {
      const unsigned from = i + static_cast<unsigned>(distance);
      m.threads[i].taken = m.threads[from < end ? from : i].given;
    }
    for (unsigned i = begin; i < end && !stopped(); ++i) {
      if (m.threads[i].wait != Wait::kShuffle) continue;
      m.threads[i].wait = Wait::kNot;
      m.current = i;
      resume(m.threads[i].fiber);
    }
    any = true;
  }
  return any;
}

inline void run_block() {
  Machine& m = machine();
  // What was noted of shared memory is the last block's.
  m.range_count = m.argument_count;
  m.cells_used = m.argument_cells;
  ++m.stamp;
  m.phase = 1;
  m.next = 0;
  for (unsigned i = 0; i < m.count; ++i) m.threads[i] = Thread();
  for (unsigned i = 0; i < m.fiber_count; ++i) m.fibers[i].idle = true;
  while (m.next < m.count && !stopped()) resume(idle_fiber());
  while (!stopped() && (release_warps() || release_barrier())) {
  }
}

// For all launches: programs with control flow have many small ones.
inline bool map_stacks(Machine& m) {
  if (m.stacks != nullptr) return true;
  void* stacks = mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) return false;
  m.stacks = static_cast<unsigned char*>(stacks);
  static const struct Unmap {
    ~Unmap() { munmap(machine().stacks, kStackBytes * kMostThreads); }
  } when_unloaded;
  (void)when_unloaded;
  return true;
}

cudaError_t launch(dim3 grid, dim3 block, void (*body)(void*), void* call) {
  Machine& m = machine();
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const bool fits = threads >= 1 && threads <= kMostThreads && block.z <= 64 && grid.x >= 1 && grid.y >= 1 &&
                    grid.z >= 1 && grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
  if (!fits) {
    snprintf(m.error, sizeof m.error,
             "%.63s: no GPU has a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads", m.launch_name, grid.x,
             grid.y, grid.z, block.x, block.y, block.z);
    clear_ranges(m);
    return cudaErrorInvalidConfiguration;
  }
  if (stopped()) m.fiber_count = 0;  // they are somewhere
  m.error[0] = 0;
  m.grid = {grid.x, grid.y, grid.z};
  m.block = {block.x, block.y, block.z};
  m.count = static_cast<unsigned>(threads);
  m.body = body;
  m.call = call;
  m.argument_count = m.range_count;
  m.argument_cells = m.cells_used;
  m.recent[0] = m.recent[1] = 0;
  m.overlap = false;
  for (size_t i = 0; i < m.range_count; ++i) {
    for (size_t k = 0; k < m.range_count; ++k) {
      const Range &a = m.ranges[i], &b = m.ranges[k];
      m.overlap |= a.writes && !b.writes && a.begin < b.end && b.begin < a.end;
    }
  }
  if (!map_stacks(m)) return cudaErrorMemoryAllocation;
  const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  for (uint64_t i = 0; i < blocks && !stopped(); ++i) {
    m.block_number = static_cast<uint32_t>(i);
    m.block_at = place(m.block_number, m.grid);
    run_block();
  }
  clear_ranges(m);
  ++m.stamp;
  return stopped() ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace relay_emulation
