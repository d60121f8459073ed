
// What the machine (cuda_machine.cc, which comes before this file) watches: which memory a launch
// may access, and in which order threads access an element.

namespace relay_emulation {

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

void* enter_shared(void* memory, uint64_t bytes, uint32_t element_bytes, const char* name) {
  Machine& m = machine();
  for (size_t i = m.argument_count; i < m.range_count; ++i) {
    if (m.ranges[i].begin == reinterpret_cast<uintptr_t>(memory)) return memory;
  }
  add_range(name, memory, bytes, element_bytes, true, true);
  memset(memory, 0xff, bytes);  // NaN
  return memory;
}

}  // namespace relay_emulation

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
