#include "kernel/native/subprocess.h"

#include <gtest/gtest.h>

namespace relay::kernel::native {
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

}  // namespace
}  // namespace relay::kernel::native
