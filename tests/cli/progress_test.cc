// What may take more than a second says on a terminal what it does, and nothing of it elsewhere.
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cat.h"
#include "base/slug.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

// Runs `relay` with the arguments on a terminal. Returns what it showed there.
std::string on_terminal(const std::vector<std::string>& arguments, int exit_code = kOk) {
  std::vector<std::string> words{of_checkout("tools/relay")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  EXPECT_GE(child, 0);
  if (child == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  std::string out;
  char part[4096];
  for (ssize_t n; (n = ::read(terminal, part, sizeof part)) > 0;) out.append(part, static_cast<size_t>(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == exit_code) << out;
  return out;
}

struct Case {
  Words arguments, steps;
};

class ProgressTest : public Cli {};

TEST_F(ProgressTest, CommandsSayWhatTheyDo) {
  const std::string model = mnist(), text = path("m.relay");
  const Case cases[] = {
      {{"check", model}, {"reading: ", "check: interp"}},
      {{"import", model, "-o", text}, {"reading: ", "writing: ", "wrote "}},
      {{"compile", model, "--emit", "cpp", "-o", path("m.cc")},
       {"reading: ", "compile: optimising", "wrote "}},
      {{"verify", model, "--inputs", mnist_inputs(), "--engines", "interp,jit"},
       {"reading: ", "verify: preparing"}},
  };
  for (const Case& c : cases) {
    const std::string shown = on_terminal(c.arguments);
    size_t at = 0;
    for (const std::string& step : c.steps) {
      const size_t next = shown.find("\r\x1b[K" + step, at);
      EXPECT_NE(next, std::string::npos) << step << " in " << shown;
      if (next != std::string::npos) at = next;
    }
  }
}

TEST_F(ProgressTest, FilesAndPipesGetNothingOfIt) {
  const Ended ended = relay({"check", mnist()});
  EXPECT_EQ(ended.exit_code, kOk);
  EXPECT_EQ(ended.err.find("reading"), std::string::npos) << ended.err;
}

TEST_F(ProgressTest, PeopleAreToldWhatToDoAboutARefusal) {
  write("m.relay", "def @main(%x: float32) { %y }\n");
  const std::string wrong = path("m.relay");
  const std::string hint = cat(Slug("unknown-variable").remedy(), " `relay explain unknown-variable`");
  EXPECT_NE(on_terminal({"check", wrong}, kBadModel).find(hint), std::string::npos);
  EXPECT_EQ(on_terminal({"check", wrong, "--quiet"}, kBadModel).find(hint), std::string::npos);
  const Ended elsewhere = relay({"check", wrong});
  EXPECT_EQ(elsewhere.exit_code, kBadModel);
  EXPECT_EQ(elsewhere.err.find(hint), std::string::npos) << elsewhere.err;
}

}  // namespace
}  // namespace relay::tests
