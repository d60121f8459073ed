#include "tests/fuzz/campaign.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <new>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RELAY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RELAY_SANITIZED 1
#endif
#endif

#ifdef RELAY_SANITIZED
// A sanitizer reserves address space without end, so that only it can say when there is not enough
// memory. Where a place in the program is wanted, an abort tells it.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=0:handle_abort=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
#endif

namespace relay::fuzz {
namespace {

#ifdef RELAY_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr unsigned kSlowDown = kSanitized ? 20 : 1;
constexpr uint64_t kBatch = 2000;

// What the child leaves behind, however it ends.
struct Shared {
  uint64_t index, accepted, refused, trapped, not_run, exhausted, slowest_index;
  double slowest;
  char wrong[4096];
};

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

uint64_t address_space() {
  uint64_t pages = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_memory(const InputLimits& limits) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (kSanitized) return;
  const uint64_t most = address_space() + (limits.memory_mib << 20);
  const rlimit memory{most, most};
  CHECK(::setrlimit(RLIMIT_AS, &memory) == 0, "memory cannot be limited");
}

// The child is ended by a signal when its time is over: of the processor, because the machine may
// be busy with other things, and on the clock, in case it waits for something.
void start_clock(const InputLimits& limits) {
  const itimerval cpu{{0, 0}, {static_cast<time_t>(limits.cpu_seconds * kSlowDown), 0}};
  ::setitimer(ITIMER_PROF, &cpu, nullptr);
  ::alarm(30 * limits.cpu_seconds * kSlowDown);
}

Outcome read_guarded(const Reader& reader, const std::string& bytes, const InputLimits& limits) {
  try {
    return reader.read(bytes);
  } catch (const Exhausted&) {
    return {Outcome::Kind::kExhausted};
  } catch (const std::bad_alloc&) {
    return {Outcome::Kind::kWrong, cat("it needs more than ", limits.memory_mib, " MiB")};
  } catch (const std::exception& e) {
    return {Outcome::Kind::kWrong, cat("it threw: ", e.what())};
  }
}

// The frame of a stack trace, "operator() op/tensor/repeat.cc:150", if it is in a file of
// ours; else empty.
std::string frame_of_ours(const std::string& line) {
  const size_t in = line.find(" in "), place = line.rfind(' ');
  if (line.find("    #") != 0 || in == std::string::npos || place <= in) return {};
  const bool ours = std::isalpha(static_cast<unsigned char>(line[place + 1])) != 0;
  return ours && line.find(':', place) != std::string::npos ? cat(" at ", line.substr(place + 1))
                                                            : std::string();
}

// The line of a sanitizer's report, or of ours, that says what went wrong, and the first place
// of ours beneath it; in brackets, and empty if there is none. Addresses and numbers of
// processes are left out.
std::string telling_line(const std::string& errors) {
  constexpr std::string_view kMarks[] = {
      "runtime error: ", "AddressSanitizer: ", "internal error: ", "Assertion '", "terminate called"};
  std::string found, place;
  for (size_t begin = 0; begin < errors.size() && place.empty();) {
    const size_t end = std::min(errors.find('\n', begin), errors.size());
    const std::string line = errors.substr(begin, end - begin);
    begin = end + 1;
    if (!found.empty()) {
      place = frame_of_ours(line);
      continue;
    }
    for (const std::string_view mark : kMarks) {
      const size_t at = line.find(mark);
      if (at == std::string::npos || !found.empty()) continue;
      found = mark == kMarks[0] ? line.substr(0, 300) : line.substr(at, 300);
      if (mark != kMarks[1]) continue;
      for (const std::string_view rest : {" on ", " trying ", " (pc"})
        found = found.substr(0, found.find(rest));
    }
  }
  return found.empty() ? "" : cat(" (", found, place, ")");
}

// C++ code cannot be told by a sanitizer that there is not enough memory, as it is otherwise
// by std::bad_alloc.
bool is_short_of_memory(const std::string& what) {
  return what.find("AddressSanitizer: allocator is out of memory") != std::string::npos ||
         what.find("AddressSanitizer: requested allocation size") != std::string::npos;
}

// Findings with one key are one mistake, most likely: numbers that an input brought are left out.
std::string key_of(const std::string& what) {
  const size_t from = what.find("error: ");
  std::string out;
  for (size_t i = 0; i < what.size(); ++i) {
    if (i < from || std::isdigit(static_cast<unsigned char>(what[i])) == 0) out += what[i];
  }
  return out;
}

// Runs `work` in a child, and says how the child ended: an empty text if as it should.
class Child {
 public:
  Child() {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "there is no memory to share with a child");
    shared_ = static_cast<Shared*>(memory);
    errors_ = ::memfd_create("errors", 0);
    CHECK(errors_ >= 0, "there is no file for the errors of a child");
  }
  ~Child() {
    ::munmap(shared_, sizeof(Shared));
    ::close(errors_);
  }
  Child(const Child&) = delete;

  Shared& shared() { return *shared_; }

  // What it prints as errors is shown, or kept to say what was wrong.
  std::string run(const InputLimits& limits, bool show, const std::function<void(Shared&)>& work) {
    *shared_ = {};
    CHECK(::ftruncate(errors_, 0) == 0 && ::lseek(errors_, 0, SEEK_SET) == 0, "errors cannot be dropped");
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    CHECK(pid >= 0, "fork failed");
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever is interrupted leaves nothing running
      if (!show) ::dup2(errors_, STDERR_FILENO);
      limit_memory(limits);
      work(*shared_);
      ::_exit(shared_->wrong[0] == '\0' ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (shared_->wrong[0] != '\0') return shared_->wrong;
    if (WIFEXITED(status)) {
      return WEXITSTATUS(status) == 0
                 ? ""
                 : cat("it ended the process with ", WEXITSTATUS(status), telling_line(errors()));
    }
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF || signal == SIGALRM) return cat("it took more than ", limits.cpu_seconds, " s");
    return cat("it was ended by ", ::strsignal(signal), telling_line(errors()));
  }

 private:
  std::string errors() const {
    std::string out(size_t{64} << 10, '\0');
    const ssize_t length = ::pread(errors_, out.data(), out.size(), 0);
    out.resize(length > 0 ? static_cast<size_t>(length) : 0);
    return out;
  }

  Shared* shared_;
  int errors_;
};

// Copies as much as fits, and is never empty.
void set_wrong(Shared& shared, const std::string& what) {
  const std::string text = what.empty() ? "it is wrong" : what.substr(0, sizeof(shared.wrong) - 1);
  std::memcpy(shared.wrong, text.data(), text.size());
}

}  // namespace

void Tally::add(const Tally& other) {
  done += other.done;
  accepted += other.accepted;
  refused += other.refused;
  trapped += other.trapped;
  not_run += other.not_run;
  exhausted += other.exhausted;
  repeated += other.repeated;
  seconds += other.seconds;
  if (other.slowest > slowest) {
    slowest = other.slowest;
    slowest_index = other.slowest_index;
  }
  for (const Finding& f : other.findings) {
    const bool is_new = std::none_of(findings.begin(), findings.end(), [&](const Finding& known) {
      return key_of(known.what) == key_of(f.what);
    });
    if (is_new) findings.push_back(f);
    repeated += is_new ? 0 : 1;
  }
}

Tally run_campaign(const Reader& reader, uint64_t seed, uint64_t first, uint64_t count, Deadline end,
                   const InputLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  reader.seeds();  // made once, and not in every child
  Tally out;
  Child child;
  uint64_t next = first;
  while (next < first + count && std::chrono::steady_clock::now() < end &&
         out.findings.size() < kMostFindings) {
    const uint64_t stop = std::min(first + count, next + kBatch);
    const std::string wrong = child.run(limits, false, [&](Shared& shared) {
      for (shared.index = next; shared.index < stop && std::chrono::steady_clock::now() < end;
           ++shared.index) {
        const std::string bytes = mutation(reader, seed, shared.index);
        const double begin = cpu_seconds();
        start_clock(limits);
        const Outcome outcome = read_guarded(reader, bytes, limits);
        const double took = cpu_seconds() - begin;
        if (took > shared.slowest) {
          shared.slowest = took;
          shared.slowest_index = shared.index;
        }
        switch (outcome.kind) {
          case Outcome::Kind::kAccepted: ++shared.accepted; break;
          case Outcome::Kind::kRefused: ++shared.refused; break;
          case Outcome::Kind::kTrapped: ++shared.trapped; break;
          case Outcome::Kind::kNotRun: ++shared.not_run; break;
          case Outcome::Kind::kExhausted: ++shared.exhausted; break;
          case Outcome::Kind::kWrong: set_wrong(shared, outcome.text); return;
        }
      }
    });
    const Shared& shared = child.shared();
    Tally part;
    part.accepted = shared.accepted;
    part.refused = shared.refused;
    part.trapped = shared.trapped;
    part.not_run = shared.not_run;
    part.exhausted = shared.exhausted;
    part.slowest = shared.slowest;
    part.slowest_index = shared.slowest_index;
    next = std::max(next, shared.index);
    if (is_short_of_memory(wrong)) {
      ++part.exhausted;
      ++next;
    } else if (!wrong.empty()) {
      part.findings.push_back({next, wrong, mutation(reader, seed, next)});
      ++next;
    }
    out.add(part);
  }
  out.done = next - first;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

std::string replay(const Reader& reader, const std::string& bytes, bool show, const InputLimits& limits) {
  Child child;
  return child.run(limits, show, [&](Shared& shared) {
    start_clock(limits);
    const Outcome outcome = read_guarded(reader, bytes, limits);
    if (outcome.kind == Outcome::Kind::kWrong) {
      set_wrong(shared, outcome.text);
    } else {
      std::fputs(outcome.text.c_str(), stderr);
    }
  });
}

std::string shrink(const Reader& reader, const Finding& finding, std::chrono::seconds most,
                   const InputLimits& limits) {
  const auto end = std::chrono::steady_clock::now() + most;
  // What is wrong may quote the input, which changes: the first words must stay.
  const auto kind = [](const std::string& what) { return what.substr(0, what.find(':')); };
  const std::string wanted = kind(finding.what);
  std::string out = finding.bytes;
  for (size_t length = std::max<size_t>(out.size() / 2, 1);; length /= 2) {
    for (size_t at = 0; at < out.size();) {
      if (std::chrono::steady_clock::now() > end) return out;
      std::string shorter = out;
      shorter.erase(at, length);
      if (kind(replay(reader, shorter, false, limits)) == wanted) {
        out = std::move(shorter);
      } else {
        at += length;
      }
    }
    if (length <= 1) return out;
  }
}

}  // namespace relay::fuzz
