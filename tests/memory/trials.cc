#include "tests/memory/trials.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/cat.h"
#include "base/failure.h"
#include "tools/session.h"

namespace relay::tests {
namespace {

constexpr uint64_t kAllUpTo = 64, kGrowth = 20;
constexpr int kMostFailures = 5;  // of one trial that are shown

bool is_thorough() {
  const char* wanted = std::getenv("RELAY_ALLOCATIONS");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

bool shows_lost_blocks() { return std::getenv("RELAY_LOST_BLOCKS") != nullptr; }

struct Attempt {
  enum End { kResult, kOutOfMemory, kWrong };
  End end;
  std::string text;  // the result, or what went wrong
  uint64_t refused;
};

Attempt attempt(const Trial& trial, void* prepared, uint64_t nth, Refuse how) {
  // The text is made when there is memory again.
  Attempt out = {Attempt::kWrong, {}, 0};
  const char* of_type = nullptr;
  FailingAllocation failing(nth, how);
  try {
    out.text = trial.act(prepared);
    out.end = Attempt::kResult;
  } catch (const std::bad_alloc&) {
    out.end = Attempt::kOutOfMemory;
  } catch (const Exhausted&) {
    out.end = Attempt::kOutOfMemory;
  } catch (const OutOfMemory&) {
    out.end = Attempt::kOutOfMemory;
  } catch (const std::exception& e) {
    failing.end();
    of_type = typeid(e).name();
    out.text = cat("threw ", of_type, ": ", e.what());
  }
  out.refused = failing.end();
  return out;
}

const char* name_of(Refuse how) { return how == Refuse::kOne ? "only it" : "all from it on"; }

// What a copy of the process writes back: whether a request was refused, and what is wrong.
std::string child_of(const Trial& trial, const std::string& right, uint64_t k, Refuse how) {
  const auto judged = [&](const Attempt& a, const char* when, Refuse refuse) -> std::string {
    if (a.end == Attempt::kOutOfMemory && a.refused > 0) return {};
    if (a.end == Attempt::kResult && a.text == right) return {};
    return cat(when, " (", name_of(refuse), "): ",
               a.end == Attempt::kResult        ? cat("another result:\n", a.text.substr(0, 2000))
               : a.end == Attempt::kOutOfMemory ? "out of memory without a refusal"
                                                : a.text);
  };
  constexpr uint64_t kNone = UINT64_MAX;
  std::shared_ptr<void> prepared = trial.prepare();
  const Attempt cold = attempt(trial, prepared.get(), k, how);
  std::string wrong = judged(cold, "the first time", how);
  if (wrong.empty() && cold.refused > 0)
    wrong = judged(attempt(trial, prepared.get(), kNone, how), "again, with memory", how);
  prepared.reset();
  if (wrong.empty() && cold.refused > 0) {
    const Refuse other = how == Refuse::kOne ? Refuse::kAllFromThen : Refuse::kOne;
    const int64_t before = live_blocks();
    if (shows_lost_blocks()) remember_blocks();
    {
      prepared = trial.prepare();
      const Attempt warm = attempt(trial, prepared.get(), k, other);
      wrong = judged(warm, "the second time", other);
      prepared.reset();
    }
    if (const int64_t lost = live_blocks() - before; wrong.empty() && lost > trial.may_lose) {
      if (shows_lost_blocks()) print_remembered_blocks();
      wrong = cat("the second time (", name_of(other), "): ", lost, " blocks of memory are lost");
    }
  }
  return cat(cold.refused > 0 ? "refused\n" : "enough\n", wrong);
}

}  // namespace

void throw_reported(const Diagnostics& diagnostics) {
  if (tools::exit_code_of(diagnostics) == tools::kLimit) throw OutOfMemory("a limit");
  throw std::logic_error(join(diagnostics.all(), "; ", [](const Diagnostic& d) {
    return cat(d.message(), " [", d.slug().name(), "]");
  }));
}

uint64_t next_request(uint64_t k) {
  return k < kAllUpTo || is_thorough() ? k + 1 : k + std::max<uint64_t>(1, k / kGrowth);
}

std::string in_copy(const std::function<std::string()>& child, std::string& ended) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("cannot start a process");
  if (pid == 0) {
    close(ends[0]);
    const std::string text = child();
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(ends[1], text.data() + done, text.size() - done);
      if (n < 0) _exit(1);
      done += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  ended.clear();
  if (WIFSIGNALED(status)) ended = cat("ended by a signal: ", strsignal(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) ended = cat("exited with ", WEXITSTATUS(status));
  return out;
}

uint64_t refuse_each(const Trial& trial) {
  // As tools/main.cc does: exceptions may pass through the C library.
  void* caller;
  backtrace(&caller, 1);
  std::string ended;
  const std::string right = in_copy([&] { return trial.act(trial.prepare().get()); }, ended);
  EXPECT_EQ(ended, "") << "with all memory";
  if (!ended.empty()) return 0;
  if (const char* only = std::getenv("RELAY_REQUEST")) {
    const Refuse how = std::string_view(only).ends_with("+") ? Refuse::kAllFromThen : Refuse::kOne;
    EXPECT_EQ(child_of(trial, right, std::strtoull(only, nullptr, 10), how), "refused\n");
    return UINT64_MAX;
  }
  int failures = 0;
  uint64_t tried = 0;
  for (uint64_t k = 1;; k = next_request(k)) {
    // Neighbours take turns, so that each way is tried all along.
    const Refuse how = ++tried % 2 != 0 ? Refuse::kOne : Refuse::kAllFromThen;
    const std::string said = in_copy([&] { return child_of(trial, right, k, how); }, ended);
    const bool refused = said.starts_with("refused");
    const std::string wrong = !ended.empty() ? ended : said.substr(said.find("\n") + 1);
    EXPECT_EQ(wrong, "") << "request " << k << " was refused, " << name_of(how);
    if (ended.empty() && !refused) return k;
    if (!wrong.empty() && ++failures == kMostFailures) return k;
  }
}

}  // namespace relay::tests
