#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace relay::tests {
namespace {

constexpr int kNotStarted = 127;

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
};

void limit(int what, uint64_t most) {
  const rlimit both{most, most};
  if (most != 0) setrlimit(static_cast<__rlimit_resource_t>(what), &both);
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e) {
    const std::string line = *e;
    if (!added.contains(line.substr(0, line.find('=')))) out.push_back(line);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child: streams, limits, folder, program. Does not return.
[[noreturn]] void become(const Invocation& i, int in, Pipe& out, Pipe& err, char** argv, char** environment) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(i.input.empty() ? nothing : in, 0);
  dup2(i.output == Output::kFull ? full : out.ends[1], 1);
  dup2(err.ends[1], 2);
  if (i.output == Output::kClosed) close(1);
  if (i.no_input) close(0);
  limit(RLIMIT_AS, i.memory);
  limit(RLIMIT_FSIZE, i.file_bytes);
  limit(RLIMIT_CORE, 1);
  if (i.folder.empty() || chdir(i.folder.c_str()) == 0) execve(argv[0], argv, environment);
  _exit(kNotStarted);
}

// Everything that comes out of both pipes until they are closed; false if that takes too long.
bool drain(Pipe& out, Pipe& err, int seconds, Ended& ended) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  pollfd waits[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
  std::string* texts[] = {&ended.out, &ended.err};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(waits, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    for (int k = 0; k < 2; ++k) {
      if (waits[k].fd < 0 || waits[k].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t n = read(waits[k].fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        waits[k].fd = -1;
      } else {
        texts[k]->append(buffer, static_cast<size_t>(n));
      }
    }
  }
  return true;
}

}  // namespace

Ended run(const Invocation& invocation) {
  Pipe in, out, err;
  // It fits a pipe, so it can be written before there is a reader.
  if (write(in.ends[1], invocation.input.data(), invocation.input.size()) !=
      static_cast<ssize_t>(invocation.input.size()))
    throw std::runtime_error("cannot write the input");
  in.close_end(1);
  if (invocation.output == Output::kGone) out.close_end(0);
  const std::vector<std::string> environment = environment_with(invocation.environment);
  const std::vector<char*> argv = pointers(invocation.command), envp = pointers(environment);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0)
    become(invocation, in.ends[0], out, err, const_cast<char**>(argv.data()),
           const_cast<char**>(envp.data()));
  out.close_end(1);
  err.close_end(1);
  Ended ended;
  const bool in_time = drain(out, err, invocation.seconds, ended);
  if (!in_time) kill(-child, SIGKILL);
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  ended.most_memory = static_cast<uint64_t>(used.ru_maxrss) << 10;
  if (!in_time) throw std::runtime_error(invocation.command[0] + " did not end; it said: " + ended.err);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (ended.exit_code == kNotStarted) throw std::runtime_error("cannot run " + invocation.command[0]);
  return ended;
}

}  // namespace relay::tests
