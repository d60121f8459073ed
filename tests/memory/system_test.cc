// What asks the system for more than memory, without memory: files, folders, processes and threads
// are given back all the same.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "kernel/native/threads.h"
#include "tests/memory/allocations.h"
#include "toolchain/subprocess.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
namespace native = kernel::native;

// Refuses request after request of `act`; `judge` is called after each with memory again, and told
// whether `act` came to its end.
void refuse_each(const std::function<void()>& act, const std::function<void(bool ended)>& judge) {
  for (const Refuse how : {Refuse::kOne, Refuse::kAllFromThen}) {
    uint64_t refused = 1;
    for (uint64_t k = 1; refused > 0; ++k) {
      SCOPED_TRACE(k);
      bool ended = false;
      FailingAllocation failing(k, how);
      try {
        act();
        ended = true;
      } catch (const std::bad_alloc&) {
      }
      refused = failing.end();
      EXPECT_TRUE(ended || refused > 0);
      judge(ended);
    }
  }
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    out[entry.path().filename().string()] = text.str();
  }
  return out;
}

ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

TEST(FailingAllocation, OfFilesLeavesAllOrNone) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string first = folder.path() + "/first", second = folder.path() + "/second";
  const std::map<std::string, std::string> before = {{"second", "old"}},
                                           after = {{"first", "1"}, {"second", "2"}};
  const auto restore = [&] {
    fs::remove(first);
    std::ofstream(second) << "old";
  };
  restore();
  const ptrdiff_t files = open_files();
  refuse_each(
      [&] {
        const FileContents both[] = {{first, "1"}, {second, "2"}};
        (void)write_files_atomically(both);
      },
      [&](bool ended) {
        EXPECT_EQ(files_in(folder.path()), ended ? after : before);
        EXPECT_EQ(open_files(), files);
        restore();
      });
}

TEST(FailingAllocation, OfATemporaryFolderLeavesNone) {
  TemporaryFolder around;
  ASSERT_EQ(around.make(), "");
  setenv("TMPDIR", around.path().c_str(), 1);
  refuse_each(
      [] {
        TemporaryFolder inner;
        if (inner.make().empty()) (void)write_file_atomically(inner.path() + "/file", "text");
      },
      [&](bool) { EXPECT_TRUE(fs::is_empty(around.path())); });
  unsetenv("TMPDIR");
}

TEST(FailingAllocation, OfAProcessLeavesNone) {
  const ptrdiff_t files = open_files();
  toolchain::Finished done;
  refuse_each([&] { done = toolchain::run({"/bin/sh", "-c", "echo said; exit 3"}, "/", 60); },
              [&](bool ended) {
                if (ended) {
                  EXPECT_EQ(done.output, "said\n");
                  EXPECT_EQ(done.exit_code, 3);
                  EXPECT_EQ(done.problem, "");
                }
                EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
                EXPECT_EQ(errno, ECHILD);
                EXPECT_EQ(open_files(), files);
              });
}

// What one thread throws reaches the caller when all have ended.
TEST(FailingAllocation, OfAThreadReachesTheCaller) {
  std::atomic<int> at_work = 0;
  refuse_each(
      [&] {
        std::atomic<int> next = 0;
        on_threads(3, [&] {
          ++at_work;
          try {
            while (next++ < 20) std::string(100, 'x').append("y");
          } catch (...) {
            --at_work;
            throw;
          }
          --at_work;
        });
      },
      [&](bool) { EXPECT_EQ(at_work, 0); });
}

// Generated code spreads its loops over threads, and no exception passes through it.
TEST(FailingAllocation, OfALoopOverThreadsIsDoneWithoutThem) {
  const native::Threads threads(3);
  std::vector<int> times(100);
  const auto body = [](void* closure, int64_t begin, int64_t end) -> int32_t {
    for (int64_t i = begin; i < end; ++i)
      ++(*static_cast<std::vector<int>*>(closure))[static_cast<size_t>(i)];
    return begin <= 50 && 50 < end ? 7 : 0;
  };
  int32_t status = 0;
  refuse_each([&] { status = threads.parallel()->run(threads.parallel()->self, 100, body, &times); },
              [&](bool ended) {
                EXPECT_TRUE(ended);
                EXPECT_EQ(status, 7);
                EXPECT_EQ(times, std::vector<int>(100, 1));
                times.assign(100, 0);
              });
}

}  // namespace
}  // namespace relay::tests
