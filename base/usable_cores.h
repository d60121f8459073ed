// How many cores this process may use: those of its affinity mask, and no more than its control
// group has time for.
//
// A container with `--cpus=2` may run on every core of its machine, for the time of two: with more
// threads than that, all of them wait. This file is part of artifacts too, as text: it is C++17 and
// needs nothing of ours.
#ifndef RELAY_BASE_USABLE_CORES_H_
#define RELAY_BASE_USABLE_CORES_H_

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace relay {

// The beginning of a small file, as a text. False if it cannot be read.
inline bool read_beginning(const char* path, char* text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = read(file, text, size - 1);
  close(file);
  text[count > 0 ? count : 0] = '\0';
  return count >= 0;
}

// The cores that `cpu.max` has time for, rounded up: 2 for "150000 100000", the microseconds that
// all threads may run within a period. 0 if it sets no limit.
// Linux: Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files".
inline unsigned cores_of_quota(const char* cpu_max) {
  char* end = nullptr;
  const unsigned long long quota = strtoull(cpu_max, &end, 10);
  if (end == cpu_max || *end != ' ') return 0;  // "max 100000"
  const unsigned long long period = strtoull(end, nullptr, 10);
  if (quota == 0 || period == 0) return 0;
  const unsigned long long cores = quota / period + (quota % period != 0);
  return cores < UINT_MAX ? static_cast<unsigned>(cores) : UINT_MAX;
}

// The cores that the control group of this process has time for, and all that it is in; 0 if none
// sets a limit. `membership` says which group that is, and `groups` is where groups are folders.
inline unsigned cores_of_group(const char* membership = "/proc/self/cgroup",
                               const char* groups = "/sys/fs/cgroup") {
  char text[PATH_MAX];
  if (!read_beginning(membership, text, sizeof text)) return 0;
  char* group = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");  // of version 2
  if (!group) return 0;
  group = strchr(group, '/');
  if (!group) return 0;
  group[strcspn(group, "\n")] = '\0';
  unsigned least = 0;
  for (;;) {
    char path[2 * PATH_MAX], limit[64];
    const int length = snprintf(path, sizeof path, "%s%s/cpu.max", groups, group);
    if (length > 0 && static_cast<size_t>(length) < sizeof path &&
        read_beginning(path, limit, sizeof limit)) {
      const unsigned cores = cores_of_quota(limit);
      if (cores != 0 && (least == 0 || cores < least)) least = cores;
    }
    char* last = strrchr(group, '/');
    if (!last) return least;
    *last = '\0';  // the group that this one is in
  }
}

// At least 1.
inline unsigned usable_cores() {
  cpu_set_t mask[64] = {};  // one has room for 1024 cores, and the kernel refuses one that is too small
  int cores = 1;
  if (sched_getaffinity(0, sizeof mask, mask) == 0) cores = CPU_COUNT_S(sizeof mask, mask);
  const unsigned allowed = cores > 0 ? static_cast<unsigned>(cores) : 1, quota = cores_of_group();
  return quota != 0 && quota < allowed ? quota : allowed;
}

}  // namespace relay

#endif  // RELAY_BASE_USABLE_CORES_H_
