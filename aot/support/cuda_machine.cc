// The machine of cuda_emulation.h: fibers for threads, what each element of memory has seen, and
// the few functions of the runtime that generated code calls. One object for each library; compiled
// without the flag that puts calls in front of accesses.

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

// Without memory for what it notes there is no emulation.
inline void* or_end(void* memory) {
  if (memory == nullptr) abort();
  return memory;
}

inline Range* add_range(const char* name, const void* begin, uint64_t bytes, uint32_t element_bytes,
                        bool writes, bool shared) {
  Machine& m = machine();
  if (m.range_count == m.range_room) {
    m.range_room = 2 * m.range_room + 64;
    m.ranges = static_cast<Range*>(or_end(realloc(m.ranges, m.range_room * sizeof(Range))));
  }
  Range& r = m.ranges[m.range_count++];
  r.begin = reinterpret_cast<uintptr_t>(begin);
  r.end = r.begin + bytes;
  r.shift = static_cast<uint32_t>(__builtin_ctz(element_bytes));
  r.writes = writes;
  r.shared = shared;
  r.stamp = m.stamp;
  r.first_cell = m.cells_used;
  snprintf(r.name, sizeof r.name, "%s", name);
  if (writes) m.cells_used += bytes / element_bytes;
  if (m.cells_used > m.cells_size) {
    const uint64_t size = m.cells_used * 2 + 1024;
    Cell* more = static_cast<Cell*>(or_end(calloc(size, sizeof(Cell))));
    if (m.cells != nullptr) memcpy(more, m.cells, m.cells_size * sizeof(Cell));
    free(m.cells);
    m.cells = more;
    m.cells_size = size;
  }
  return &r;
}

void allow(const char* name, const void* begin, uint64_t bytes, uint32_t element_bytes, bool writes) {
  if (bytes > 0) add_range(name, begin, bytes, element_bytes, writes, false);
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

inline void say_race(const Range& r, uint64_t element, const char* now, const char* before, uint32_t block,
                     uint32_t thread) {
  Machine& m = machine();
  const Extents b = place(block, m.grid), t = place(thread, m.block);
  stop("%s element %llu of `%s`, which block (%u, %u, %u), thread (%u, %u, %u) %s, with no barrier between",
       now, static_cast<unsigned long long>(element), r.name, b.x, b.y, b.z, t.x, t.y, t.z, before);
}

inline void note(const Range& r, uint64_t element, bool write) {
  Machine& m = machine();
  Cell& c = m.cells[r.first_cell + element];
  if (c.stamp != r.stamp) {
    c = Cell();
    c.stamp = r.stamp;
  }
  const auto unordered = [&](uint32_t block, uint32_t thread, uint32_t phase) {
    return block != m.block_number || (thread != m.current && phase == m.phase);
  };
  const char* now = write ? "writes" : "reads";
  if (r.shared && !write && !c.written)
    stop("reads element %llu of `%s`, which nothing has written", static_cast<unsigned long long>(element),
         r.name);
  if (c.written && unordered(c.write_block, c.write_thread, c.write_phase))
    say_race(r, element, now, "wrote", c.write_block, c.write_thread);
  if (!write) {
    if (!c.read) c.first_reading_block = m.block_number;
    const bool same = c.read && c.read_block == m.block_number && c.read_phase == m.phase;
    if (!same) {
      c.many_readers = false;
      c.read_thread = m.current;
    } else if (c.read_thread != m.current) {
      c.many_readers = true;
      c.read_thread = m.current;
    }
    c.read = 1;
    c.read_block = m.block_number;
    c.read_phase = m.phase;
    return;
  }
  if (c.read && c.first_reading_block != m.block_number)
    say_race(r, element, now, "read", c.first_reading_block, 0);
  if (c.read &&
      (unordered(c.read_block, c.read_thread, c.read_phase) || (c.many_readers && c.read_phase == m.phase)))
    say_race(r, element, now, "or another of its block read", c.read_block, c.read_thread);
  c.written = 1;
  c.write_block = m.block_number;
  c.write_thread = m.current;
  c.write_phase = m.phase;
}

// The range that holds the address: one that is written, if there are several.
inline const Range* find_range(uintptr_t a) {
  Machine& m = machine();
  for (const size_t i : m.recent) {
    if (i >= m.range_count) continue;
    const Range& r = m.ranges[i];
    if ((r.writes || !m.overlap) && a >= r.begin && a < r.end) return &r;
  }
  const Range* found = nullptr;
  for (size_t i = 0; i < m.range_count; ++i) {
    const Range& r = m.ranges[i];
    if (a < r.begin || a >= r.end || (found != nullptr && !r.writes)) continue;
    found = &r;
    if (!m.overlap) break;
  }
  if (found != nullptr) {
    m.recent[1] = m.recent[0];
    m.recent[0] = static_cast<size_t>(found - m.ranges);
  }
  return found;
}

inline void access(const void* at, uint64_t bytes, bool write) {
  Machine& m = machine();
  if (m.fiber == nullptr) return;
  const uintptr_t a = reinterpret_cast<uintptr_t>(at), stacks = reinterpret_cast<uintptr_t>(m.stacks);
  if (a >= stacks && a < stacks + kStackBytes * kMostThreads) return;
  const Range* r = find_range(a);
  const char* does = write ? "writes" : "reads";
  const auto element = [&](const Range& of) {
    return static_cast<long long>(a - of.begin) / (1ll << of.shift);
  };
  const auto elements = [](const Range& of) {
    return static_cast<unsigned long long>((of.end - of.begin) >> of.shift);
  };
  if (r == nullptr) {
    const Range* near = nullptr;
    for (size_t i = 0; i < m.range_count; ++i) {
      const Range& other = m.ranges[i];
      if (near == nullptr || (a >= other.begin && (a < near->begin || other.begin > near->begin)))
        near = &other;
    }
    if (near == nullptr) return stop("%s memory, of which it has none", does);
    return stop("%s outside of its memory: at element %lld of `%s`, which has %llu", does, element(*near),
                near->name, elements(*near));
  }
  if (write && !r->writes)
    return stop("writes element %lld of `%s`, which is only read", element(*r), r->name);
  if (a + bytes > r->end)
    return stop("%s %llu bytes at element %lld of `%s`, which has %llu", does,
                static_cast<unsigned long long>(bytes), element(*r), r->name, elements(*r));
  if (!r->writes) return;
  for (uint64_t e = (a - r->begin) >> r->shift; e <= (a + bytes - 1 - r->begin) >> r->shift; ++e)
    note(*r, e, write);
}

void copy_16(void* to, const void* from) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0)
    stop("copies 16 bytes %s an address that is not aligned for them",
         reinterpret_cast<uintptr_t>(to) % 16 != 0 ? "to" : "from");
  access(from, 16, false);
  access(to, 16, true);
  memcpy(to, from, 16);
}

bool has_failed(const int32_t* failure) { return *failure != 0; }
void fail(int32_t* failure, int32_t number) {
  Machine& m = machine();
  m.threads[m.current].failed = true;
  if (*failure < 0x7fffffff - number) *failure = 0x7fffffff - number;
}

void* enter_shared(void* memory, uint64_t bytes, uint32_t element_bytes, const char* name) {
  Machine& m = machine();
  for (size_t i = m.argument_count; i < m.range_count; ++i) {
    if (m.ranges[i].begin == reinterpret_cast<uintptr_t>(memory)) return memory;
  }
  add_range(name, memory, bytes, element_bytes, true, true);
  memset(memory, 0xff, bytes);  // NaN
  return memory;
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

// --- The runtime ---

static uint64_t relay_emulated_number(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr && *text != 0 ? strtoull(text, nullptr, 10) : otherwise;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(relay_emulated_number("RELAY_EMULATED_DEVICES", 1));
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor
               ? static_cast<int>(relay_emulated_number("RELAY_EMULATED_CAPABILITY", 99))
               : 0;
  return cudaSuccess;
}
// In front of each piece: how large it is.
cudaError_t cudaMalloc(void** memory, size_t size) {
  relay_emulation::Turn turn;
  uint64_t& allocated = relay_emulation::machine().allocated;
  const uint64_t most = relay_emulated_number("RELAY_EMULATED_MEMORY", UINT64_MAX);
  void* place = nullptr;
  if (size > most || allocated > most - size || posix_memalign(&place, 256, size + 256) != 0)
    return cudaErrorMemoryAllocation;
  allocated += size;
  memcpy(place, &size, sizeof size);
  *memory = static_cast<unsigned char*>(place) + 256;
  memset(*memory, 0xff, size);  // NaN
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  relay_emulation::Turn turn;
  void* place = static_cast<unsigned char*>(memory) - 256;
  size_t size;
  memcpy(&size, place, sizeof size);
  relay_emulation::machine().allocated -= size;
  free(place);
  return cudaSuccess;
}

struct relay_emulated_stream {
  struct Copy {
    void* to;
    const void* from;
    size_t size;
  };
  Copy waiting[32];  // in order
  unsigned count;
  uint64_t copies;  // since it was waited for
};

void relay_emulation::catch_up(cudaStream_t stream) {
  if (stream == nullptr) return;  // there everything happens at once
  for (unsigned i = 0; i < stream->count; ++i)
    memcpy(stream->waiting[i].to, stream->waiting[i].from, stream->waiting[i].size);
  stream->count = 0;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  if (stream == nullptr) {
    if (size > 0) memcpy(to, from, size);
    return cudaSuccess;
  }
  if (stream->copies == relay_emulated_number("RELAY_EMULATED_COPIES", UINT64_MAX))
    return cudaErrorInvalidValue;
  ++stream->copies;
  if (size == 0) return cudaSuccess;
  if (stream->count == sizeof stream->waiting / sizeof *stream->waiting) relay_emulation::catch_up(stream);
  stream->waiting[stream->count++] = {to, from, size};
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  if (size > 0) memset(to, value, size);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = static_cast<cudaStream_t>(calloc(1, sizeof(relay_emulated_stream)));
  return *stream != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  if (stream != nullptr) stream->copies = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchFailure: return relay_emulation::machine().error;
    default: return "invalid argument";
  }
}

// --- What the compiler's -fsanitize=thread calls ---

#define RELAY_EMULATED_ACCESS(size)                                                        \
  void __tsan_read##size(void* at) { relay_emulation::access(at, size, false); }           \
  void __tsan_write##size(void* at) { relay_emulation::access(at, size, true); }           \
  void __tsan_unaligned_read##size(void* at) { relay_emulation::access(at, size, false); } \
  void __tsan_unaligned_write##size(void* at) { relay_emulation::access(at, size, true); } \
  void __tsan_read_write##size(void* at) { relay_emulation::access(at, size, true); }      \
  void __tsan_unaligned_read_write##size(void* at) { relay_emulation::access(at, size, true); }
extern "C" {
RELAY_EMULATED_ACCESS(1)
RELAY_EMULATED_ACCESS(2)
RELAY_EMULATED_ACCESS(4)
RELAY_EMULATED_ACCESS(8)
RELAY_EMULATED_ACCESS(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* at, unsigned long size) { relay_emulation::access(at, size, false); }
void __tsan_write_range(void* at, unsigned long size) { relay_emulation::access(at, size, true); }
void* __tsan_memset(void* to, int value, unsigned long size) {
  relay_emulation::access(to, size, true);
  return memset(to, value, size);
}
void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
  relay_emulation::access(from, size, false);
  relay_emulation::access(to, size, true);
  return memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, unsigned long size) {
  relay_emulation::access(from, size, false);
  relay_emulation::access(to, size, true);
  return memmove(to, from, size);
}
}
