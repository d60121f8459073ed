#include "toolchain/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/cat.h"
#include "base/file.h"

namespace relay::toolchain {
namespace {

constexpr int kEnough = 60;  // seconds

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(Subprocess, SaysWhatWasSaidAndHowItEnded) {
  const Finished done = run(shell("echo out; echo wrong >&2; pwd; exit 3"), "/", kEnough);
  EXPECT_EQ(done.output, "out\nwrong\n/\n");
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_EQ(done.problem, "");
}

TEST(Subprocess, NoShellSeesAnArgument) {
  EXPECT_EQ(run({"printf", "%s", "$HOME; `id`"}, "", kEnough).output, "$HOME; `id`");
}

TEST(Subprocess, WhatDoesNotStartSaysWhy) {
  const Finished done = run({"/no/such/program"}, "", kEnough);
  EXPECT_EQ(done.exit_code, -1);
  EXPECT_EQ(done.problem, "cannot run /no/such/program: No such file or directory");
}

TEST(Subprocess, WhatTakesTooLongIsStopped) {
  const Finished done = run(shell("echo begun; sleep 600"), "", 1);
  EXPECT_EQ(done.output, "begun\n");
  EXPECT_EQ(done.exit_code, -1);
  EXPECT_EQ(done.problem, "/bin/sh took more than 1 s and was stopped");
}

TEST(Subprocess, ASignalIsNamed) {
  const Finished done = run(shell("kill -9 $$"), "", kEnough);
  EXPECT_EQ(done.exit_code, -1);
  EXPECT_EQ(done.problem, "/bin/sh was ended by signal 9");
}

TEST(Subprocess, OutputIsCut) {
  const Finished done = run(shell("head -c 3000000 /dev/zero"), "", kEnough);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_GE(done.output.size(), kMostOutput);
  EXPECT_LT(done.output.size(), 2 * kMostOutput);
}

TEST(Subprocess, ResultsAreInTheOrderOfTheCommands) {
  std::vector<std::vector<std::string>> commands;
  for (int i = 0; i < 9; ++i) commands.push_back(shell("exit " + std::to_string(i)));
  const std::vector<Finished> done = run_all(commands, "", kEnough, 3);
  ASSERT_EQ(done.size(), commands.size());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(done[static_cast<size_t>(i)].exit_code, i);
}

TEST(Subprocess, AFailureShowsTheCommandAsAShellTakesIt) {
  const std::vector<std::string> command = shell("echo it is so >&2; exit 1");
  const std::string text = failure(command, run(command, "", kEnough));
  EXPECT_NE(text.find("it is so"), std::string::npos) << text;
  EXPECT_NE(text.find("/bin/sh -c 'echo it is so >&2; exit 1'"), std::string::npos) << text;
  EXPECT_EQ(failure(shell("true"), run(shell("true"), "", kEnough)), "");
}

TEST(Subprocess, ArgumentsAreNotSeenByAShell) {
  const Finished f = run({"printf", "%s|", "$HOME", "a b", "`id`", "; false"}, "", 10);
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.output, "$HOME|a b|`id`|; false|");
}

TEST(Subprocess, FailuresAreTold) {
  EXPECT_EQ(run({"false"}, "", 10).exit_code, 1);
  const Finished missing = run({"no-such-program-at-all"}, "", 10);
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.problem.find("no-such-program-at-all"), std::string::npos) << missing.problem;
  const Finished slow = run({"sleep", "30"}, "", 1);
  EXPECT_EQ(slow.exit_code, -1);
  EXPECT_NE(slow.problem, "");
}

// This program may ignore a signal; a compiler that it starts must still end by it.
TEST(Subprocess, HasTheUsualSignals) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  const Finished done = run({"sh", "-c", "kill -PIPE $$; echo went on"}, "", 20);
  signal(SIGPIPE, before);
  EXPECT_NE(done.problem.find(cat("signal ", SIGPIPE)), std::string::npos) << done.problem << done.output;
}

TEST(Subprocess, TemporaryFilesGoToItsFolder) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  EXPECT_EQ(run({"sh", "-c", "echo $TMPDIR; pwd"}, folder.path(), 20).output,
            cat(folder.path(), "\n", folder.path(), "\n"));
}

TEST(Subprocess, OutputIsCutAtItsLimit) {
  const Finished f = run({"head", "-c", "3000000", "/dev/zero"}, "", 20);
  EXPECT_LE(f.output.size(), kMostOutput);
  EXPECT_EQ(f.exit_code, 0);
}

TEST(Subprocess, ResultsKeepTheOrderOfTheCommands) {
  std::vector<std::vector<std::string>> commands;
  for (int i = 0; i < 9; ++i) commands.push_back({"printf", "%s", std::to_string(i)});
  const std::vector<Finished> done = run_all(commands, "", 20, 3);
  ASSERT_EQ(done.size(), 9u);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(done[static_cast<size_t>(i)].output, std::to_string(i));
}

// The programs that are running at a fork are the parent's alone.
TEST(Subprocess, AChildOfAForkHasAllCores) {
  std::thread busy([] { run_all(std::vector(64, shell("sleep 0.2")), "", kEnough, 64); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // where it would wait for ever
    ::_exit(run_all({shell("exit 7")}, "", kEnough, 1)[0].exit_code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  busy.join();
}

}  // namespace
}  // namespace relay::toolchain
