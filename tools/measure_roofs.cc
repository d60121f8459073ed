// The measuring half of roofs.h: loops that do nothing but arithmetic, or nothing but reading,
// compiled for each feature set by the compiler that compiles kernels.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>

#include "base/cat.h"
#include "base/file.h"
#include "base/parallel.h"
#include "target/host.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"
#include "tools/roofs.h"

namespace relay::tools {
namespace {

constexpr int kTrials = 25;
constexpr double kTrialSeconds = 0.004;  // shorter than what a scheduler gives a process at a time
// So a large buffer is read piece by piece, and a trial goes on where the one before it ended:
// before a piece is read again, all others have been.
constexpr size_t kPiece = size_t{4} << 20;

// Twelve sums keep two units busy that take four or five cycles each, and fit sixteen registers
// with their operands. The values tend to 1: nothing becomes infinite, or so small that
// arithmetic gets slow.
constexpr std::string_view kLoops = R"(
#include <stdint.h>
#define RELAY_EXPORT extern "C" __attribute__((visibility("default")))
#define RELAY_TWELVE(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)

typedef float V __attribute__((vector_size(RELAY_BYTES), may_alias));

#ifdef __aarch64__
#define RELAY_IN_REGISTER(v) "+w"(v)
#else
#define RELAY_IN_REGISTER(v) "+x"(v)
#endif

RELAY_EXPORT float multiply_add(int64_t times) {
  V x = V{} + 0.999f, y = V{} + 0.001f;
#define RELAY_DECLARE(i) V a##i = V{} + 1.0f / (i + 1);
  RELAY_TWELVE(RELAY_DECLARE)
  for (int64_t t = 0; t < times; ++t) {
#define RELAY_STEP(i) a##i = a##i * x + y;
    RELAY_TWELVE(RELAY_STEP)
    __asm__ volatile("" : RELAY_IN_REGISTER(x), RELAY_IN_REGISTER(y));
  }
  V sum = V{};
#define RELAY_ADD(i) sum += a##i;
  RELAY_TWELVE(RELAY_ADD)
  return sum[0];
}

RELAY_EXPORT float read_bytes(const unsigned char* from, int64_t bytes, int64_t times) {
  V a0 = {}, a1 = {}, a2 = {}, a3 = {}, a4 = {}, a5 = {}, a6 = {}, a7 = {};
  for (int64_t t = 0; t < times; ++t) {
    for (int64_t i = 0; i < bytes; i += 8 * RELAY_BYTES) {
      const V* p = (const V*)(from + i);
      a0 += p[0], a1 += p[1], a2 += p[2], a3 += p[3], a4 += p[4], a5 += p[5], a6 += p[6], a7 += p[7];
    }
    __asm__ volatile("" ::: "memory");
  }
  const V sum = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7));
  return sum[0];
}

#if defined(__AVX512VNNI__) || defined(__AVX512BF16__)
typedef int32_t I __attribute__((vector_size(64)));
#define RELAY_DOT(name, instruction)                                                       \
  RELAY_EXPORT float name(int64_t times) {                                                 \
    I x = I{}, y = I{};                                                                    \
    RELAY_TWELVE(RELAY_ZERO)                                                               \
    for (int64_t t = 0; t < times; ++t) {                                                  \
      RELAY_TWELVE(RELAY_##instruction)                                                    \
    }                                                                                      \
    I sum = I{};                                                                           \
    RELAY_TWELVE(RELAY_ADD)                                                                \
    return (float)sum[0];                                                                  \
  }
#define RELAY_ZERO(i) I a##i = I{};
#define RELAY_vpdpbusd(i) __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(a##i) : "v"(x), "v"(y));
#define RELAY_vdpbf16ps(i) __asm__ volatile("vdpbf16ps %2, %1, %0" : "+v"(a##i) : "v"(x), "v"(y));
#endif
#ifdef __AVX512VNNI__
RELAY_DOT(int8_dot, vpdpbusd)
#endif
#ifdef __AVX512BF16__
RELAY_DOT(bf16_dot, vdpbf16ps)
#endif
)";

constexpr int kSums = 12;

double now(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Seconds that work took of a core, and that passed meanwhile: when others had the core, the
// second is larger.
struct Spent {
  double core = 0, passed = 0;
};

Spent spent(const std::function<void()>& work) {
  const double core = now(CLOCK_THREAD_CPUTIME_ID), passed = now(CLOCK_MONOTONIC);
  work();
  return {now(CLOCK_THREAD_CPUTIME_ID) - core, now(CLOCK_MONOTONIC) - passed};
}

// The cores that the process may use, by number.
std::vector<size_t> cores() {
  std::vector<size_t> out;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (size_t c = 0; c < CPU_SETSIZE; ++c) {
    if (CPU_ISSET(c, &set)) out.push_back(c);
  }
  return out;
}

// Runs `work(0)` to `work(n - 1)`, each on a core of its own, all at once. One alone stays on the
// thread that calls.
std::vector<Spent> together(size_t n, const std::vector<size_t>& cores,
                            const std::function<void(size_t)>& work) {
  std::vector<Spent> out(n);
  if (n == 1) {
    out[0] = spent([&] { work(0); });
    return out;
  }
  std::atomic<size_t> ready{0};
  std::atomic<bool> given_up{false};
  std::vector<std::thread> threads;
  const auto start = [&](size_t i) {
    threads.emplace_back([&, i] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cores[i], &one);
      sched_setaffinity(0, sizeof one, &one);
      ++ready;
      while (ready < n && !given_up) std::this_thread::yield();
      if (!given_up) out[i] = spent([&] { work(i); });
    });
  };
  try {
    threads.reserve(n);
    for (size_t i = 0; i < n; ++i) start(i);
  } catch (...) {
    given_up = true;
    for (std::thread& t : threads) t.join();
    throw;
  }
  for (std::thread& t : threads) t.join();
  return out;
}

class Measurement {
 public:
  Measurement() : cores_(cores()) {}

  // All cores are at least as fast as one, however the trials went.
  Rate rate(double amount, const std::function<void(size_t, int64_t)>& work) {
    const double one = rate_of(1, amount, work);
    return {one, std::max(one, rate_of(cores_.size(), amount, work))};
  }
  // The best rate of the trials of so many cores, where `work(core, times)` does `amount` for
  // each of `times`.
  double rate_of(size_t n, double amount, const std::function<void(size_t, int64_t)>& work) {
    int64_t times = 1;
    while (together(1, cores_, [&](size_t i) { work(i, times); })[0].core < kTrialSeconds) times *= 2;
    double best = 0;
    for (int t = 0; t < kTrials; ++t) {
      double rate = 0;
      for (const Spent& s : together(n, cores_, [&](size_t i) { work(i, times); })) {
        rate += amount * static_cast<double>(times) / s.core / 1e9;
        all_.core += s.core;
        all_.passed += s.passed;
      }
      best = std::max(best, rate);
    }
    return best;
  }
  // The share of the time that others had the cores.
  double disturbed() const { return std::max(0.0, 1 - all_.core / all_.passed); }
  size_t core_count() const { return cores_.size(); }

 private:
  std::vector<size_t> cores_;
  Spent all_;
};

// Pages of zeros that are all there.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    place_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place_ == MAP_FAILED) {
      place_ = nullptr;
      return;
    }
    madvise(place_, bytes, MADV_HUGEPAGE);
    // Written: pages that were only read would all be the one page of zeros.
    for (size_t i = 0; i < bytes; i += 4096) static_cast<unsigned char*>(place_)[i] = 0;
  }
  ~Memory() {
    if (place_) munmap(place_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  const unsigned char* data() const { return static_cast<const unsigned char*>(place_); }

 private:
  void* place_;
  size_t bytes_;
};

double number_of_system(int name) { return static_cast<double>(std::max(0L, sysconf(name))); }

// Beyond every cache, but at most a quarter of what memory is free.
size_t largest_set(const Roofs& roofs) {
  const double free = number_of_system(_SC_AVPHYS_PAGES) * number_of_system(_SC_PAGESIZE);
  size_t bytes = size_t{256} << 20;
  while (static_cast<double>(bytes) < 2 * roofs.l3_bytes && static_cast<double>(bytes) * 8 < free) bytes *= 2;
  return bytes;
}

std::string open_loops(const target::Target& target, TemporaryFolder& folder, toolchain::Library& library) {
  if (std::string wrong = folder.make(); !wrong.empty()) return wrong;
  toolchain::CompileOptions options;
  options.target = target;
  const std::string path = folder.path() + "/loops.so";
  const std::string text = cat("#define RELAY_BYTES ", target.cpu.vector_bytes, "\n", kLoops);
  if (std::string wrong = toolchain::build_library({{"loops.cc", text}}, options, folder.path(), path);
      !wrong.empty())
    return wrong;
  return library.open(path);
}

}  // namespace

std::string measure_roofs(Roofs& out, const std::function<void(std::string_view)>& progress) {
  out = {};
  out.processor = target::processor_name();
  out.trials = kTrials;
  out.l1_bytes = static_cast<double>(target::cache_bytes(1));
  out.l2_bytes = static_cast<double>(target::cache_bytes(2));
  out.l3_bytes = static_cast<double>(target::cache_bytes(3));
  Measurement m;
  out.cores = usable_cores();
  volatile float keep = 0;
  int64_t vector_bytes = 0;  // of the target before
  for (const std::string& name : target::native_names()) {
    const target::Target target = target::target_of(name);
    if (!target::cannot_run(target).empty()) continue;
    progress("arithmetic of " + name);
    TemporaryFolder folder;
    toolchain::Library library;
    if (std::string wrong = open_loops(target, folder, library); !wrong.empty()) return wrong;
    struct Loop {
      const char *symbol, *operation;
      int operations;  // for each float32 of a vector
    };
    for (const Loop& loop : {Loop{"multiply_add", "float32 multiply-add", 2}, Loop{"int8_dot", "int8 dot", 8},
                             Loop{"bf16_dot", "bfloat16 dot", 4}}) {
      auto* run = reinterpret_cast<float (*)(int64_t)>(library.find(loop.symbol));
      // What a target does no better than the one before it is not measured again.
      const bool is_known = std::any_of(out.peaks.begin(), out.peaks.end(), [&](const Peak& p) {
        return p.operation == loop.operation && vector_bytes == target.cpu.vector_bytes;
      });
      if (!run || is_known) continue;
      const auto amount = static_cast<double>(loop.operations * target.cpu.lanes() * kSums);
      out.peaks.push_back(
          {name, loop.operation, m.rate(amount, [&](size_t, int64_t times) { keep = run(times); })});
    }
    vector_bytes = target.cpu.vector_bytes;
  }
  TemporaryFolder folder;
  toolchain::Library library;
  if (std::string wrong = open_loops(target::target_of("native"), folder, library); !wrong.empty())
    return wrong;
  auto* read =
      reinterpret_cast<float (*)(const unsigned char*, int64_t, int64_t)>(library.find("read_bytes"));
  if (!read) return "the loops for measuring lack `read_bytes`";
  const size_t most = largest_set(out);
  const Memory memory(most);
  if (!memory.data()) return cat("there is no memory for a buffer of ", most, " bytes");
  for (size_t bytes = size_t{16} << 10; bytes <= most; bytes *= 2) {
    progress(cat("reading ", bytes, " bytes"));
    // Parts of whole steps of the loop.
    const auto part = [&](size_t n) { return static_cast<int64_t>(bytes / n / 4096 * 4096); };
    const auto rate_of = [&](size_t n) {
      const int64_t piece = std::min(part(n), static_cast<int64_t>(kPiece)), pieces = part(n) / piece;
      std::vector<int64_t> next(n);  // by core
      return m.rate_of(n, static_cast<double>(piece), [&](size_t i, int64_t times) {
        const unsigned char* mine = memory.data() + static_cast<int64_t>(i) * part(n);
        if (pieces == 1) keep = read(mine, piece, times);
        for (int64_t t = 0; t < times && pieces > 1; ++t)
          keep = read(mine + next[i]++ % pieces * piece, piece, 1);
      });
    };
    if (part(m.core_count()) == 0) continue;
    const double one = rate_of(1);
    out.readings.push_back({static_cast<double>(bytes), {one, std::max(one, rate_of(m.core_count()))}});
  }
  out.disturbed = m.disturbed();
  return {};
}

}  // namespace relay::tools
