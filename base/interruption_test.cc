#include "base/interruption.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "base/file.h"

namespace relay {
namespace {

// How a process ends that does this; it tells what it likes through the pipe.
int status_of(const std::function<void(int to)>& body, std::string& said) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(20);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

void say(int to, const std::string& text) {
  EXPECT_EQ(write(to, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Interruption, RemovesTemporaryFoldersWithAllThatIsInThem) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::string path;
    const int status = status_of(
        [&](int to) {
          clean_up_when_interrupted();
          TemporaryFolder folder, other;
          if (!folder.make().empty() || !other.make().empty()) return;
          mkdir((folder.path() + "/inner").c_str(), 0700);
          for (int i = 0; i < 300; ++i) {
            const std::string name = folder.path() + "/inner/a rather long name " + std::to_string(i);
            close(open(name.c_str(), O_CREAT | O_WRONLY, 0600));
          }
          say(to, folder.path());
          raise(signal);
        },
        path);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    ASSERT_NE(path, "");
    EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
  }
}

// A second signal finds another thread than the one that is removing things, and must not end the
// program before that is done.
TEST(Interruption, SeveralSignalsAreAsGoodAsOne) {
  std::string path;
  const int status = status_of(
      [&](int to) {
        clean_up_when_interrupted();
        TemporaryFolder folder;
        if (!folder.make().empty()) return;
        for (int i = 0; i < 3000; ++i)
          close(open((folder.path() + "/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600));
        std::thread other([] {
          while (true) pause();
        });
        say(to, folder.path());
        const pid_t self = getpid();
        if (fork() == 0) {
          for (int i = 0; i < 200; ++i) {
            kill(self, i % 2 == 0 ? SIGTERM : SIGINT);
            usleep(100);
          }
          _exit(0);
        }
        other.join();
      },
      path);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  ASSERT_NE(path, "");
  EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
}

TEST(Interruption, EndsProcessesThatWereStarted) {
  std::string said;
  const int status = status_of(
      [&](int to) {
        clean_up_when_interrupted();
        // Holds the pipe open: reading it would not end if the process lived on.
        char name[] = "sleep", time[] = "60";
        char* const argv[] = {name, time, nullptr};
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        pid_t child = 0;
        Fleeting fleeting;
        if (posix_spawnp(&child, name, nullptr, &attributes, argv, environ) != 0) return;
        fleeting.processes(child);
        say(to, "started");
        raise(SIGINT);
      },
      said);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(said, "started");
}

// What is written whole is no longer fleeting, and what another process has made
// never was this one's.
TEST(Interruption, WhatIsKeptStays) {
  TemporaryFolder outer;
  ASSERT_EQ(outer.make(), "");
  const std::string kept = outer.path() + "/kept";
  std::string said;
  const int status = status_of(
      [&](int) {
        clean_up_when_interrupted();
        if (!write_file_atomically(kept, "x").empty()) return;
        raise(SIGINT);
      },
      said);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(access(kept.c_str(), F_OK), 0);
}

TEST(Interruption, ASignalThatIsIgnoredStaysSo) {
  std::string said;
  const int status = status_of(
      [&](int to) {
        signal(SIGHUP, SIG_IGN);
        clean_up_when_interrupted();
        raise(SIGHUP);
        say(to, "went on");
      },
      said);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(said, "went on");
}

}  // namespace
}  // namespace relay
