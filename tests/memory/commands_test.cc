// The `relay` command without memory for one request: exit code 5 and a message, and each file is
// as it was or as it should be.
//
// The program's own main() runs in copies of this process, so that a trial takes as long as the
// command does. Everything that it asks for counts, from the first option to the last destructor;
// what other programs ask for that it starts does not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/cat.h"
#include "base/file.h"
#include "tests/memory/programs.h"
#include "tests/memory/trials.h"
#include "tools/session.h"

int relay_main(int argc, char** argv);  // of tools/main.cc

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

constexpr int kMostFailures = 5;

std::string bytes_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

Files files_in(const std::string& folder) {
  Files out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      out[entry.path().lexically_relative(folder).string()] = bytes_of(entry.path());
  }
  return out;
}

struct Ended {
  int code = -1, signal = 0;
  std::string out, err;
  Files files;
  uint64_t refused = 0;
};

class Commands : public testing::Test {
 protected:
  // Files in the folder in which commands run.
  Files given = {{"m.relay", std::string(kLanguage)}, {"net.relay", std::string(kNetwork)}};

  // Refuses requests of the command one after the other until there are no more. Files that it
  // makes are made in an empty place and, every other time, in that of files of the same names.
  void refuse_each(const Words& command, const std::string& input = {}) {
    const Ended right = run(command, input, given, 0, Refuse::kOne);
    ASSERT_EQ(right.signal, 0) << right.err;
    ASSERT_EQ(right.code, tools::kOk) << right.err;
    Files there = right.files;
    for (auto& [name, bytes] : there) {
      if (!given.contains(name)) bytes = "what was there";
    }
    int failures = 0;
    uint64_t tried = 0;
    for (uint64_t k = 1;; k = next_request(k)) {
      const Refuse how = ++tried % 2 != 0 ? Refuse::kOne : Refuse::kAllFromThen;
      const Files& before = tried / 2 % 2 != 0 ? there : given;
      const Ended ended = run(command, input, before, k, how);
      if (ended.refused == 0 && ended.code == right.code && ended.signal == 0) {
        EXPECT_GT(tried, 40u);
        return;
      }
      const std::string wrong = judge(ended, right, before);
      EXPECT_EQ(wrong, "") << join(command, " ") << ": request " << k << " was refused, "
                           << (how == Refuse::kOne ? "only it" : "all from it on");
      if (!wrong.empty() && ++failures == kMostFailures) return;
    }
  }

 private:
  // What is wrong with the end of a command; empty if nothing is.
  static std::string judge(const Ended& ended, const Ended& right, const Files& before) {
    if (ended.signal != 0) return cat("ended by a signal: ", strsignal(ended.signal), "\n", ended.err);
    if (ended.code == tools::kOk) {
      if (ended.out != right.out) return cat("another result:\n", ended.out, ended.err);
      return ended.files == right.files ? "" : "other files";
    }
    if (ended.code != tools::kLimit) return cat("exit code ", ended.code, "\n", ended.err);
    // The debugger answers on standard output.
    if (!ended.err.ends_with("\n") && ended.out.find("not enough memory") == std::string::npos)
      return cat("no message: ", ended.err);
    // What is said and what is written happen one after the other.
    size_t fresh = 0, old = 0;
    for (const auto& [name, bytes] : right.files) {
      const auto is = ended.files.find(name), was = before.find(name);
      const bool is_there = is != ended.files.end(), was_there = was != before.end();
      if (was_there && was->second == bytes) continue;  // no output
      if (is_there && is->second == bytes) {
        ++fresh;
      } else if (is_there == was_there && (!is_there || is->second == was->second)) {
        ++old;
      } else {
        return cat("half a file: ", name);
      }
    }
    if (fresh > 0 && old > 0) return "some files are new and others are not";
    for (const auto& [name, bytes] : ended.files) {
      if (!right.files.contains(name) && !before.contains(name)) return cat("a file is left: ", name);
    }
    return {};
  }

  Ended run(const Words& command, const std::string& input, const Files& files, uint64_t nth, Refuse how) {
    TemporaryFolder folder, temporary, streams;
    for (TemporaryFolder* f : {&folder, &temporary, &streams}) EXPECT_EQ(f->make(), "");
    for (const auto& [name, bytes] : files) {
      fs::create_directories(fs::path(folder.path() + "/" + name).parent_path());
      std::ofstream(folder.path() + "/" + name, std::ios::binary) << bytes;
    }
    std::ofstream(streams.path() + "/in") << input;
    auto* count = static_cast<std::atomic<uint64_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    // For debuggers: RELAY_REQUEST=17, or 17+ for all from it on, is tried in this process,
    // which ends with it.
    const char* only = std::getenv("RELAY_REQUEST");
    if (only != nullptr) {
      nth = std::strtoull(only, nullptr, 10);
      how = std::string_view(only).ends_with("+") ? Refuse::kAllFromThen : Refuse::kOne;
    }
    const pid_t child = only != nullptr ? 0 : fork();
    if (child == 0) become(command, folder.path(), temporary.path(), streams.path(), nth, how, count);
    int status = 0;
    waitpid(child, &status, 0);
    Ended out;
    if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
    if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
    out.out = bytes_of(streams.path() + "/out");
    out.err = bytes_of(streams.path() + "/err");
    out.files = files_in(folder.path());
    for (const auto& [name, bytes] : files_in(temporary.path())) out.files["temporary " + name] = bytes;
    out.refused = *count;
    munmap(count, 4096);
    return out;
  }

  // An exception that leaves main() ends the process here, as in the real command. Unwinding
  // further would remove the folders, which belong to the parent.
  [[noreturn]] static void become(const Words& command, const std::string& folder,
                                  const std::string& temporary, const std::string& streams, uint64_t nth,
                                  Refuse how, std::atomic<uint64_t>* count) noexcept {
    const auto stream = [&](int number, const char* name, int flags) {
      const int file = open((streams + name).c_str(), flags, 0600);
      if (file < 0 || dup2(file, number) < 0) _exit(99);
      close(file);
    };
    stream(0, "/in", O_RDONLY);
    stream(1, "/out", O_WRONLY | O_CREAT);
    stream(2, "/err", O_WRONLY | O_CREAT);
    setenv("TMPDIR", temporary.c_str(), 1);
    setenv("XDG_CACHE_HOME", streams.c_str(), 1);
    if (chdir(folder.c_str()) != 0) _exit(99);
    static std::vector<std::string> words{"relay"};
    words.insert(words.end(), command.begin(), command.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (nth > 0) refuse_until_exit(nth, how, count);
    exit(relay_main(static_cast<int>(words.size()), argv.data()));
  }
};

TEST_F(Commands, Check) { refuse_each({"check", "m.relay"}); }
TEST_F(Commands, RunAndKeepTheResult) {
  refuse_each({"run", "net.relay", "--engine", "interp", "-o", "out.npz"});
}
TEST_F(Commands, RunAndSayTheResult) {
  refuse_each({"run", "net.relay", "--engine", "interp", "--json", "-o", "out.safetensors"});
}
TEST_F(Commands, RunAndKeepAFolderOfResults) {
  refuse_each({"run", "net.relay", "--engine", "interp", "-o", "out"});
}
TEST_F(Commands, Optimise) { refuse_each({"opt", "m.relay", "-o", "out.relay"}); }
TEST_F(Commands, Format) { refuse_each({"fmt", "m.relay"}); }
TEST_F(Commands, WriteSource) { refuse_each({"compile", "net.relay", "--emit", "cpp", "-o", "out.cc"}); }
TEST_F(Commands, WriteAGraph) { refuse_each({"compile", "net.relay", "--emit", "graph", "-o", "out"}); }
TEST_F(Commands, ListOperators) { refuse_each({"ops", "--json"}); }
TEST_F(Commands, Explain) { refuse_each({"explain", "missing-else"}); }
TEST_F(Commands, Debug) {
  refuse_each({"debug", "m.relay"}, "break @sum\ncontinue\nprint %so_far\ncontinue\n");
}

}  // namespace
}  // namespace relay::tests
