#include "kernel/native/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/cat.h"
#include "base/escape.h"
#include "base/interruption.h"

extern char** environ;

namespace relay::kernel::native {
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

}  // namespace

Finished run(const std::vector<std::string>& command, const std::string& folder, int seconds) {
  Finished done;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    done.problem = std::string("cannot make a pipe: ") + std::strerror(errno);
    return done;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // A group of its own, so that what it starts can be stopped with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  // What this program ignores, another one may count on.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const std::vector<std::string> variables = environment_for(folder);
  const std::vector<char*> argv = pointers(command), envp = pointers(variables);
  pid_t child = 0;
  Fleeting fleeting;
  int failed = 0;
  {
    const Uninterrupted starting;
    posix_spawnattr_setsigmask(&attributes, &starting.before());
    failed = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
    if (failed == 0) fleeting.processes(child);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    done.problem = "cannot run " + command[0] + ": " + std::strerror(failed);
    return done;
  }
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{ends[0], POLLIN, 0};
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill(-child, SIGKILL);
      done.problem = command[0] + " took more than " + std::to_string(seconds) + " s and was stopped";
      break;
    }
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (done.output.size() < kMostOutput) done.output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  // Registered as long as the number is the child's own.
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  stop_if_interrupted();
  fleeting.keep();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) done.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && done.problem.empty()) {
    done.problem = command[0] + " was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return done;
}

std::vector<Finished> run_all(const std::vector<std::vector<std::string>>& commands,
                              const std::string& folder, int seconds, unsigned at_once) {
  std::vector<Finished> results(commands.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < commands.size(); i = next++) results[i] = run(commands[i], folder, seconds);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < at_once && i < commands.size(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return results;
}

std::string failure(const std::vector<std::string>& command, const Finished& f) {
  if (!f.problem.empty()) return f.problem;
  if (f.exit_code == 0) return {};
  // Notes and where a text was included from only push the cause out of sight; a linker's cause stands before the
  // line with that word.
  const bool compiles = std::find(command.begin(), command.end(), "-c") != command.end();
  std::string_view text = f.output;
  if (const size_t at = text.find("error:"); compiles && at != std::string_view::npos) {
    const size_t line = text.rfind('\n', at);
    text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);
  }
  return cat(command[0], " failed:\n", first_lines(text), "  command: ", join(command, " ", shell_word),
             "\n");
}

}  // namespace relay::kernel::native
