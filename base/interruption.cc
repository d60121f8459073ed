#include "base/interruption.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace relay {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A signal handler may not allocate, lock or throw: hence a table of fixed size, and one of the
// program's few globals.
struct Place {
  enum State : int { kFree, kBeingFilled, kPath, kProcesses };
  std::atomic<int> state{kFree};
  pid_t owner = 0;  // a child after fork has the table, and no right to what is in it
  pid_t group = 0;
  char path[PATH_MAX] = {};
};
constexpr size_t kPlaces = 64;
Place places[kPlaces];
std::atomic<bool> interrupted{false};
std::atomic<int> busy{0};  // threads that are between making something and registering it

size_t reserve() {
  for (size_t i = 0; i < kPlaces; ++i) {
    int expected = Place::kFree;
    if (!places[i].state.compare_exchange_strong(expected, Place::kBeingFilled)) continue;
    places[i].owner = getpid();
    return i + 1;
  }
  return 0;
}

// What follows runs in the handler: system calls and the stack only.

// Removes a file, or a folder of folders up to a depth that temporary folders never have.
bool remove_at(int folder, const char* name, int depth) {
  if (unlinkat(folder, name, 0) == 0) return true;
  const int inner = depth > 0 ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (inner < 0) return false;
  alignas(dirent64) char entries[4096];
  // Removing entries may hide others from a pass over them: until a pass removes none.
  for (bool removed = true; removed && lseek(inner, 0, SEEK_SET) == 0;) {
    removed = false;
    for (long bytes; (bytes = syscall(SYS_getdents64, inner, entries, sizeof entries)) > 0;) {
      for (long at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
        at += entry->d_reclen;
        const char* n = entry->d_name;
        const bool is_dots = n[0] == '.' && (n[1] == 0 || (n[1] == '.' && n[2] == 0));
        removed |= !is_dots && remove_at(inner, n, depth - 1);
      }
    }
  }
  close(inner);
  return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

// Other threads may be about to register something. This one is not: it would have
// the signal blocked.
void wait_for_others() {
  const timespec moment{0, 1000000};
  for (int i = 0; i < 2000 && busy > 0; ++i) nanosleep(&moment, nullptr);
}

void on_signal(int signal) {
  // Another thread has a signal already, and ends the program when it is done: ending it now would
  // leave the rest behind.
  if (interrupted.exchange(true)) return;
  const int before = errno;
  wait_for_others();
  for (Place& p : places) {
    if (p.state != Place::kProcesses || p.owner != getpid()) continue;
    kill(-p.group, SIGKILL);
    siginfo_t ended;
    waitid(P_PID, static_cast<id_t>(p.group), &ended,
           WEXITED | WNOWAIT);  // its status belongs to who started it
  }
  for (Place& p : places) {
    if (p.state == Place::kPath && p.owner == getpid()) remove_without_memory(p.path);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this handler returns
  errno = before;
}

sigset_t all_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : kSignals) sigaddset(&set, s);
  return set;
}

}  // namespace

void remove_without_memory(const char* path) { remove_at(AT_FDCWD, path, 8); }

void clean_up_when_interrupted() {
  for (int s : kSignals) {
    struct sigaction action = {};
    if (sigaction(s, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_mask = all_signals();
    action.sa_flags = SA_RESTART;
    sigaction(s, &action, nullptr);
  }
}

Uninterrupted::Uninterrupted() {
  const sigset_t set = all_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  ++busy;
  if (!interrupted) return;
  --busy;
  stop_if_interrupted();
}

Uninterrupted::~Uninterrupted() {
  --busy;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Fleeting::path(std::string_view path) {
  if (path.size() >= PATH_MAX || (place_ = reserve()) == 0) return;
  Place& p = places[place_ - 1];
  std::memcpy(p.path, path.data(), path.size());
  p.path[path.size()] = 0;
  p.state = Place::kPath;
}

void Fleeting::processes(pid_t group) {
  if ((place_ = reserve()) == 0) return;
  places[place_ - 1].group = group;
  places[place_ - 1].state = Place::kProcesses;
}

void Fleeting::keep() {
  if (place_ != 0) places[place_ - 1].state = Place::kFree;
  place_ = 0;
}

void stop_if_interrupted() {
  while (interrupted) pause();
}

}  // namespace relay
