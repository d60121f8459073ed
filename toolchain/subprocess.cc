#include "toolchain/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <semaphore>

#include "base/cat.h"
#include "base/escape.h"
#include "base/interruption.h"
#include "base/parallel.h"

extern char** environ;

namespace relay::toolchain {
namespace {

// This program's variables, with another folder for temporary files.
std::vector<std::string> environment_for(const std::string& folder) {
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e) {
    if (folder.empty() || std::strncmp(*e, "TMPDIR=", 7) != 0) out.push_back(*e);
  }
  if (!folder.empty()) out.push_back("TMPDIR=" + folder);
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string first_lines(std::string_view text) {
  constexpr int kMost = 8;
  std::string out;
  for (int i = 0; i < kMost && !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += cat("  ", text.substr(0, std::min<size_t>(end, 300)), "\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Ends of a pipe; those that are open are closed with it.
struct Pipe {
  int ends[2] = {-1, -1};
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
};

// What becomes of the child's streams, folder and signals. The first call that failed says
// why in `failed`.
struct Spawning {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = 0;

  Spawning() {
    note(posix_spawn_file_actions_init(&actions));
    note(posix_spawnattr_init(&attributes));
  }
  Spawning(const Spawning&) = delete;
  ~Spawning() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  void note(int error) {
    if (failed == 0) failed = error;
  }
};

// A child that was started. It is ended, if it is still there, when nobody waits for it any more.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  ~Child() {
    if (number_ == 0) return;
    end();
    wait();
  }

  int start(const std::vector<char*>& argv, const std::vector<char*>& variables, Spawning& how) {
    const Uninterrupted starting;
    how.note(posix_spawnattr_setsigmask(&how.attributes, &starting.before()));
    if (how.failed != 0) return how.failed;
    const int failed =
        posix_spawnp(&number_, argv[0], &how.actions, &how.attributes, argv.data(), variables.data());
    if (failed == 0) {
      fleeting_.processes(number_);
    } else {
      number_ = 0;
    }
    return failed;
  }
  void end() const { kill(-number_, SIGKILL); }
  // Its status, when it has ended.
  int wait() {
    // Registered as long as the number is the child's own.
    siginfo_t ended;
    while (waitid(P_PID, static_cast<id_t>(number_), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    stop_if_interrupted();
    fleeting_.keep();
    int status = 0;
    while (waitpid(number_, &status, 0) < 0 && errno == EINTR) {
    }
    number_ = 0;
    return status;
  }

 private:
  pid_t number_ = 0;
  Fleeting fleeting_;
};

// Reads what it says until it ends, or ends it when its time is over: then false.
bool listen(int from, const Child& child, int seconds, std::string& said) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{from, POLLIN, 0};
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      child.end();
      return false;
    }
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (said.size() < kMostOutput) said.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

Finished run(const std::vector<std::string>& command, const std::string& folder, int seconds) {
  Finished done;
  Pipe out;
  if (pipe2(out.ends, O_CLOEXEC) != 0) {
    done.problem = std::string("cannot make a pipe: ") + std::strerror(errno);
    return done;
  }
  const std::vector<std::string> variables = environment_for(folder);
  const std::vector<char*> argv = pointers(command), envp = pointers(variables);
  int failed = 0;
  Child child;
  {
    Spawning how;
    how.note(posix_spawn_file_actions_addopen(&how.actions, 0, "/dev/null", O_RDONLY, 0));
    how.note(posix_spawn_file_actions_adddup2(&how.actions, out.ends[1], 1));
    how.note(posix_spawn_file_actions_adddup2(&how.actions, out.ends[1], 2));
    if (!folder.empty()) how.note(posix_spawn_file_actions_addchdir_np(&how.actions, folder.c_str()));
    // A group of its own, so that what it starts can be stopped with it.
    how.note(posix_spawnattr_setflags(
        &how.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
    how.note(posix_spawnattr_setpgroup(&how.attributes, 0));
    // What this program ignores, another one may count on.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    how.note(posix_spawnattr_setsigdefault(&how.attributes, &defaults));
    failed = child.start(argv, envp, how);
  }
  out.close_end(1);
  if (failed == ENOMEM) throw std::bad_alloc();
  if (failed != 0) {
    done.problem = "cannot run " + command[0] + ": " + std::strerror(failed);
    return done;
  }
  const bool in_time = listen(out.ends[0], child, seconds, done.output);
  out.close_end(0);
  const int status = child.wait();
  if (!in_time)
    done.problem = command[0] + " took more than " + std::to_string(seconds) + " s and was stopped";
  if (WIFEXITED(status)) done.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && done.problem.empty()) {
    done.problem = command[0] + " was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return done;
}

namespace {

// A core, for as long as it lives.
class Core {
 public:
  Core() { free().acquire(); }
  ~Core() { free().release(); }
  Core(const Core&) = delete;

 private:
  using Cores = std::counting_semaphore<>;

  static Cores& free() {
    static Cores& all = make();
    return all;
  }
  // Never destroyed: threads that nobody waits for may hold one when the program ends.
  static Cores& make() {
    static Cores& all = *new Cores(usable_cores());
    // The threads that held some are in the parent alone.
    ::pthread_atfork(nullptr, nullptr, [] { new (&all) Cores(usable_cores()); });
    return all;
  }
};

}  // namespace

std::vector<Finished> run_all(const std::vector<std::vector<std::string>>& commands,
                              const std::string& folder, int seconds, unsigned at_once) {
  std::vector<Finished> results(commands.size());
  for_each_at_once(commands.size(), at_once, [&](size_t i) {
    const Core core;
    results[i] = run(commands[i], folder, seconds);
  });
  return results;
}

std::string failure(const std::vector<std::string>& command, const Finished& f) {
  if (!f.problem.empty()) return f.problem;
  if (f.exit_code == 0) return {};
  // Notes and where a text was included from only push the cause out of sight; a linker's cause
  // stands before the line with that word.
  const bool compiles = std::find(command.begin(), command.end(), "-c") != command.end();
  std::string_view text = f.output;
  if (const size_t at = text.find("error:"); compiles && at != std::string_view::npos) {
    const size_t line = text.rfind('\n', at);
    text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);
  }
  return cat(command[0], " failed:\n", first_lines(text), "  command: ", join(command, " ", shell_word),
             "\n");
}

}  // namespace relay::toolchain
