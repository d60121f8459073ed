#include "interp/limits.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/cat.h"
#include "base/failure.h"
#include "base/failure_names.h"
#include "base/reasons.h"

namespace relay::interp {
namespace {

// The first number of a file of the system; nothing if it is not there or begins with a word.
std::optional<uint64_t> number_in(const char* path) {
  std::FILE* f = std::fopen(path, "r");
  if (!f) return std::nullopt;
  unsigned long long value = 0;
  const bool good = std::fscanf(f, "%llu", &value) == 1;
  std::fclose(f);
  return good ? std::optional<uint64_t>(value) : std::nullopt;
}

// "256 MiB", and below 10 MiB "5120 KiB".
std::string size_text(uint64_t bytes) {
  return bytes < (uint64_t{10} << 20) ? cat(bytes >> 10, " KiB") : cat(bytes >> 20, " MiB");
}

}  // namespace

uint64_t resident_bytes() {
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (!f) return 0;
  unsigned long long size = 0, resident = 0, files = 0;  // pages
  const bool read = std::fscanf(f, "%llu %llu %llu", &size, &resident, &files) == 3;
  std::fclose(f);
  if (!read) return 0;
  return (resident - std::min(resident, files)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void return_freed_memory() { ::malloc_trim(0); }

uint64_t usable_bytes() {
  static const uint64_t kBytes = [] {
    uint64_t bytes = UINT64_MAX;
    const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      if (const auto limit = number_in(path)) bytes = std::min(bytes, *limit);
    }
    rlimit address{};
    if (::getrlimit(RLIMIT_AS, &address) == 0 && address.rlim_cur != RLIM_INFINITY)
      bytes = std::min<uint64_t>(bytes, address.rlim_cur);
    return bytes == UINT64_MAX ? bytes : bytes / 4 * 3;
  }();
  return kBytes;
}

// A small bound is looked at more often: what passes it unseen is a small part of it.
Watch::Watch(const Limits& limits)
    : limits_(limits),
      looks_always_(limits.max_time || limits.cancel != nullptr),
      look_every_(std::clamp(limits.max_bytes / 64, uint64_t{1} << 16, uint64_t{1} << 26)) {}

void Watch::look() {
  if (limits_.cancel && limits_.cancel->load(std::memory_order_relaxed))
    throw Exhausted(std::string(kCancelled));
  if (limits_.max_time && std::chrono::steady_clock::now() - began_ > *limits_.max_time) {
    const double seconds = std::chrono::duration<double>(*limits_.max_time).count();
    throw Exhausted(fmt::format("{}{:g} s {}", kTimeReached, seconds, kTimeOption));
  }
  if ((steps_ & kNow) == 0) look_at_memory(0);
}

void Watch::look_at_memory(uint64_t more) {
  taken_ = 0;
  const auto fits = [&] {
    const uint64_t now = resident_bytes();
    return now <= limits_.max_bytes && more <= limits_.max_bytes - now;
  };
  if (fits()) return;
  return_freed_memory();
  if (fits()) return;
  throw Exhausted(cat(kMemoryReached, size_text(limits_.max_bytes), " of memory ", kMemoryOption));
}

void Watch::out_of_fuel() const { throw Exhausted(cat(kFuelReached, limits_.fuel, " steps ", kFuelOption)); }

void Watch::too_deep() const {
  throw Exhausted(cat(kDepthReached, limits_.max_depth, " deep ", kDepthOption));
}

}  // namespace relay::interp
