// `relay debug` as it is started: options, scripts, exit codes, ONNX models, two versions of a
// program, the terminal; and the session of docs/debugging.md.
#include <fcntl.h>
#include <onnx/onnx_pb.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Debug : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

// --- options and scripts -------------------------------------------------------------------------

TEST_F(Debug, AScriptAndStandardInputAreTheSame) {
  write("script", "step\nprint x\ncontinue\n");
  const std::string text = works({"debug", "m.relay", "--fill", "range", "--script", "script"});
  EXPECT_TRUE(has(text, "(relay) print x\n  %x = Tensor[(3,), float32] [0, 1, 2]\n")) << text;
  EXPECT_EQ(works({"debug", "m.relay", "--fill", "range"}, {.input = "step\nprint x\ncontinue\n"}), text);
  EXPECT_EQ(works({"debug", "m.relay", "--fill", "range"}, {.input = "step\r\nprint x\r\ncontinue"}), text);
}

TEST_F(Debug, WithoutInputItSaysWhereTheProgramStands) {
  EXPECT_TRUE(works({"debug", "m.relay"}).starts_with("start of @main at m.relay:1:"));
  EXPECT_TRUE(works({"debug", "m.relay"}, {.no_input = true}).starts_with("start of @main at m.relay:1:"));
}

TEST_F(Debug, BreakpointsMayBeOptions) {
  const std::string text =
      works({"debug", "m.relay", "--fill", "ones", "--break", "add if max > 5", "--break", "add if max > 1"},
            {.input = "continue\n"});
  EXPECT_TRUE(has(text, "breakpoint 2: add if max > 1\n")) << text;
}

TEST_F(Debug, WrongUseIsRefused) {
  refused({"debug", "m.relay", "--break", "nn.conv"}, kUsage,
          {"--break nn.conv", "no operator and no value `nn.conv`", "nn.conv2d"});
  refused({"debug", "m.relay", "--script", "nowhere"}, kUsage, {"nowhere"});
  refused({"debug", "nowhere.relay"}, kUsage, {"nowhere.relay"});
  refused({"debug", "m.relay", "--function", "f"}, kUsage, {"[no-such-function]", "main"});
  refused({"debug", "m.relay", "--fill", "blue"}, kUsage, {"--fill blue"});
  refused({"debug", "m.relay", "--inputs", "nowhere.npz"}, kUsage, {"nowhere.npz"});
  write("bad.relay", "def @main() { add(1) }");
  refused({"debug", "bad.relay"}, kBadModel, {"bad.relay:1:15"});
}

TEST_F(Debug, JsonIsALineACommand) {
  std::istringstream lines(works({"debug", "m.relay", "--json"}, {.input = "step\nstep\nquit\n"}));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_TRUE(has(all[0].at("output"), "start of @main"));
  EXPECT_EQ(all[1].at("command"), "step");
  EXPECT_TRUE(has(all[1].at("output"), "before `add`"));
  EXPECT_TRUE(has(all[2].at("output"), "value of `add`"));
}

TEST_F(Debug, QuietIsWithoutTheCommands) {
  EXPECT_EQ(works({"debug", "m.relay", "-q", "--fill", "ones"}, {.input = "print x[0]\n"}).find("(relay)"),
            std::string::npos);
}

TEST_F(Debug, AnOutputThatIsFullEndsTheSession) {
  refused({"debug", "m.relay"}, kLimit, {"standard output"},
          {.output = Output::kFull, .input = "step\nstep\n"});
}

// --- two versions of a program -------------------------------------------------------------------

class Versions : public Debug {
 protected:
  void SetUp() override {
    Debug::SetUp();
    write("old.relay", version("add(%0, 1f)"));
    works({"debug", "old.relay", "--fill", "ones"}, {.input = "record t.jsonl\n"});
  }
  // The text around has moved, which does not count.
  static std::string version(const std::string& middle) {
    return "\n// a line\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = multiply(%x, 3f);\n  %1 = " + middle +
           ";\n  nn.relu(%1)\n}\n";
  }
  std::string replayed(const std::string& text, Exit code, const std::string& options = "") const {
    write("new.relay", text);
    const Ended ended =
        relay({"debug", "new.relay", "--fill", "ones"}, {.input = "replay t.jsonl" + options + "\n"});
    EXPECT_EQ(ended.exit_code, code) << ended.out << ended.err;
    return ended.out;
  }
};

TEST_F(Versions, TheSameGivesTheSame) {
  EXPECT_TRUE(has(replayed(version("add(%0, 1f)"), kOk), "no difference: 3 values, all as in the trace\n"));
}

TEST_F(Versions, TheFirstValueThatDiffersIsNamed) {
  const std::string text = replayed(version("add(%0, 2f)"), kMismatch);
  EXPECT_TRUE(has(text, "value of `add` at new.relay:5:8 in @main")) << text;
  EXPECT_TRUE(has(text, "value 2 of the trace, `add` at old.relay:5:8 differs\n")) << text;
  EXPECT_TRUE(has(text, "trace Tensor[(2,), float32]: min 4, max 4")) << text;
  EXPECT_TRUE(has(text, "now   Tensor[(2,), float32]: min 5, max 5")) << text;
}

TEST_F(Versions, AnotherOperatorIsADifference) {
  EXPECT_TRUE(has(replayed(version("subtract(%0, -1f)"), kMismatch),
                  "value 2 of the trace, `add` at old.relay:5:8: the program evaluates `subtract`\n"));
}

TEST_F(Versions, MoreOrLessIsADifference) {
  EXPECT_TRUE(has(replayed(version("nn.relu(nn.relu(add(%0, 1f)))"), kMismatch),
                  "the trace ends (value) after 3 values, the program goes on\n"));
  EXPECT_TRUE(has(replayed("def @main(%x: Tensor[(2), float32]) { multiply(%x, 3f) }", kMismatch),
                  "the program ends (value) after 1 value, the trace goes on with `add` at old.relay:5:8\n"));
}

TEST_F(Versions, ATrapIsADifference) {
  const std::string text =
      replayed(version("add(%0, cast(floor_divide(1, subtract(1, 1)), dtype=\"float32\"))"), kMismatch);
  EXPECT_TRUE(has(text, "value 2 of the trace, `add` at old.relay:5:8: the program evaluates `subtract`"))
      << text;
  write("traps.relay", "def @main(%x: int32) { floor_divide(1, %x) }");
  EXPECT_TRUE(has(
      relay({"debug", "traps.relay", "--fill", "zeros"}, {.input = "record t.jsonl\nreplay t.jsonl\n"}).out,
      "no difference: 0 values, all as in the trace\n"));
  write("none.relay", "def @main(%x: int32) { %x }");
  EXPECT_TRUE(has(relay({"debug", "none.relay"}, {.input = "replay t.jsonl\n"}).out,
                  "the end differs\n  trace trap"));
}

TEST_F(Versions, WithinATolerance) {
  const std::string near = version("add(%0, 1.001f)");
  EXPECT_TRUE(has(replayed(near, kMismatch), "value 2 of the trace"));
  EXPECT_TRUE(has(replayed(near, kMismatch, " within 1e-4"), "value 2 of the trace"));
  EXPECT_TRUE(has(replayed(near, kOk, " within 1e-3"), "no difference: 3 values, all as in the trace\n"));
}

TEST_F(Versions, ATraceIsJsonLinesThatSayWhatTheyAre) {
  std::istringstream lines(read("t.jsonl"));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0], (nlohmann::json{{"relay_trace", 1}, {"function", "main"}}));
  EXPECT_EQ(all[1].at("operator"), "multiply");
  EXPECT_EQ(all[1].at("span"), "old.relay:4:8");
  EXPECT_EQ(all[1].at("tensors")[0].at("max"), 3);
  EXPECT_EQ(all[4].at("end"), "value");
}

TEST_F(Versions, WhatIsNoTraceIsRefused) {
  const std::string good = read("t.jsonl");
  const std::string head = good.substr(0, good.find('\n') + 1), second = good.substr(head.size());
  const std::pair<std::string, std::string> kRows[] = {
      {"", "t.jsonl:0: it is no trace"},
      {"def @main() { 1 }", "t.jsonl:1: the line is no JSON object"},
      {"{}", "t.jsonl:1: it is no trace"},
      {"{\"relay_trace\": 7}", "t.jsonl:1: its version is 7, this program reads 1"},
      {"{\"relay_trace\": " + std::string(100000, '[') + std::string(100000, ']') + "}",
       "t.jsonl:1: its version is ?"},
      {head, "t.jsonl:1: the trace is cut off after 0 values"},
      {head + second.substr(0, 40), "t.jsonl:2: the line is no JSON object"},
      {head + "[1]\n", "t.jsonl:2: the line is no JSON object"},
      {head + "{\"operator\": \"multiply\", \"tensors\": [3]}\n", "t.jsonl:2: a tensor is no JSON object"},
      {head + std::string((1 << 26) + 1, 'x') + "\n", "t.jsonl:2: the line is too long"},
  };
  for (const auto& [text, expected] : kRows) {
    write("t.jsonl", text);
    EXPECT_TRUE(has(replayed(version("add(%0, 1f)"), kUsage), "refused: " + expected)) << text.substr(0, 80);
  }
  // What a file may say that fits nowhere is a difference, not a crash.
  for (const std::string odd :
       {"{\"operator\": 3}", "{\"tensors\": 3, \"operator\": \"multiply\"}",
        "{\"operator\": \"multiply\", \"tensors\": [{\"shape\": [[[]]]}]}", "{\"end\": 3}"}) {
    write("t.jsonl", head + odd + "\n");
    EXPECT_TRUE(has(replayed(version("add(%0, 1f)"), kMismatch), "trace")) << odd;
  }
}

TEST_F(Versions, WhatCannotBeWrittenIsSaid) {
  const auto before = contents();
  const Ended ended = relay({"debug", "old.relay"}, {.input = "record nowhere/t.jsonl\nwhere\n"});
  EXPECT_EQ(ended.exit_code, kUsage);
  EXPECT_TRUE(has(ended.out, "refused: ") && has(ended.out, "nowhere/t.jsonl")) << ended.out;
  EXPECT_EQ(contents(), before);
}

// --- ONNX ----------------------------------------------------------------------------------------

TEST_F(Debug, AnOnnxModelIsItsListing) {
  const Ended ended =
      relay({"debug", mnist(), "-i", mnist_inputs()},
            {.input = "list\nbreak nn.relu\ncontinue\nwhere\nlist\nbacktrace\nnext\nshape result\n"
                      "delete 1\nbreak nn.max_pool2d\ncontinue\nenv\nprint Plus30_Output_0[0, 0, 0, 0:4]\n"
                      "delete 2\nbreak 10\ncontinue\ndelete 3\ncontinue\nlist\n"});
  EXPECT_EQ(ended.exit_code, kOk) << ended.out << ended.err;
  EXPECT_TRUE(has(ended.out, "before `nn.relu` at ")) << ended.out;
  // The first of two, with what it is given: the order is that of the listing.
  EXPECT_TRUE(has(ended.out, "model.onnx:4:1 in @main\n      4 | Relu \"ReLU32\"")) << ended.out;
  EXPECT_TRUE(has(ended.out, "        | ^~~~")) << ended.out;
  EXPECT_TRUE(has(ended.out, "(relay) shape result\n  (1, 8, 28, 28)\n")) << ended.out;
  EXPECT_TRUE(has(ended.out, "\n  ReLU32_Output_0 = Tensor[(1, 8, 28, 28), float32]")) << ended.out;
  EXPECT_TRUE(has(ended.out, "  Plus30_Output_0[0, 0, 0, 0:4] = Tensor[(4,), float32]")) << ended.out;
  EXPECT_TRUE(has(ended.out, "before `reshape` at ")) << ended.out;
  EXPECT_TRUE(has(ended.out, "the program ended with\n  Tensor[(1, 10), float32]")) << ended.out;
}

// --- the terminal --------------------------------------------------------------------------------

// A program at a terminal of its own: what is typed when it has said what it is waited for.
class Terminal {
 public:
  Terminal(const std::string& folder, const std::vector<std::string>& command) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    const std::string name = ptsname(master_);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    setenv("TERM", "dumb", 1);
    child_ = fork();
    if (child_ != 0) return;
    setsid();
    const int slave = open(name.c_str(), O_RDWR);
    ioctl(slave, TIOCSCTTY, 0);
    for (int fd = 0; fd <= 2; ++fd) dup2(slave, fd);
    if (chdir(folder.c_str()) == 0) execv(argv[0], argv.data());
    _exit(127);
  }
  ~Terminal() {
    if (child_ > 0) kill(child_, SIGKILL);
    if (child_ > 0) waitpid(child_, nullptr, 0);
    if (master_ >= 0) close(master_);
  }

  // Reads until the text has come; false if it does not.
  bool says(const std::string& text) {
    for (int patience = kPatience; patience > 0; --patience) {
      if (const size_t at = heard_.find(text); at != std::string::npos) {
        heard_.erase(0, at + text.size());
        return true;
      }
      pollfd wait{master_, POLLIN, 0};
      char buffer[4096];
      if (poll(&wait, 1, kWaitMilliseconds) <= 0) continue;
      const ssize_t n = ::read(master_, buffer, sizeof buffer);
      if (n <= 0) return false;
      heard_.append(buffer, static_cast<size_t>(n));
    }
    return false;
  }
  void type(const std::string& text) {
    EXPECT_EQ(::write(master_, text.data(), text.size()), ssize_t(text.size()));
  }
  // -1 if the program does not end.
  int exit_code() {
    int status = 0;
    for (int patience = kPatience; patience > 0; --patience) {
      if (waitpid(child_, &status, WNOHANG) == child_) {
        child_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      usleep(kWaitMilliseconds * 1000);
    }
    return -1;
  }
  const std::string& heard() const { return heard_; }

 private:
  static constexpr int kPatience = 200,
                       kWaitMilliseconds = 50;  // ten seconds, of which only a failure needs many
  int master_ = -1;
  pid_t child_ = -1;
  std::string heard_;
};

std::string program() { return std::filesystem::absolute("tools/relay").string(); }

TEST_F(Debug, OnATerminalLinesAreCompletedAndRepeated) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "libreadline cannot be opened beside AddressSanitizer";
#endif
  Terminal t(path(""), {program(), "debug", "m.relay", "--fill", "ones"});
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("br\t ad\t\n");  // `break` and `breakpoints` begin alike: as far as both go
  ASSERT_TRUE(t.says("breakpoint 1: add\r\n")) << t.heard();
  t.type("pri\tx\n");
  ASSERT_TRUE(t.says("%x = Tensor[(3,), float32] [1, 1, 1]")) << t.heard();
  t.type("\x1b[A\n");  // the line before
  ASSERT_TRUE(t.says("%x = Tensor[(3,), float32] [1, 1, 1]")) << t.heard();
  t.type("st\t\n");
  ASSERT_TRUE(t.says("refused: `st` may be step or statistics")) << t.heard();
  t.type("s\n");
  ASSERT_TRUE(t.says("before `add`")) << t.heard();
  t.type("\n");
  ASSERT_TRUE(t.says("value of `add`")) << t.heard();
  t.type("continue\nprint \t\n");  // of a program that has ended only the result is there
  ASSERT_TRUE(t.says("result = Tensor[(3,), float32] [2, 2, 2]")) << t.heard();
  // Between two lines the terminal is not the session's, and the end of input would be lost.
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("\x04");
  EXPECT_EQ(t.exit_code(), kOk);
}

TEST_F(Debug, ControlCAtThePromptThrowsTheLineAway) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "libreadline cannot be opened beside AddressSanitizer";
#endif
  Terminal t(path(""), {program(), "debug", "m.relay", "--fill", "ones"});
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("nonsense");
  ASSERT_TRUE(t.says("nonsense")) << t.heard();
  t.type("\x03");
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("continue\n");
  ASSERT_TRUE(t.says("continue\r\nthe program ended with")) << t.heard();
  // Between two lines the terminal is not the session's, and the end of input would be lost.
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("\x04");
  EXPECT_EQ(t.exit_code(), kOk);
}

TEST_F(Debug, ControlCStopsTheProgramAndNotTheSession) {
  write("forever.relay", "def @main() -> int32 { @f(1) }\ndef @f(%i: int32) -> int32 { @f(add(%i, 1)) }\n");
  Terminal t(path(""), {program(), "debug", "forever.relay"});
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("continue\n");
  ASSERT_TRUE(t.says("continue"));
  usleep(300 * 1000);
  t.type("\x03");
  ASSERT_TRUE(t.says("interrupted")) << t.heard();
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("quit\n");
  EXPECT_EQ(t.exit_code(), kOk);
}

// An empty file is found before the machine's own library, and is none.
TEST_F(Debug, WithoutReadlineATerminalGivesPlainLines) {
  write("libreadline.so.8", "");
  setenv("LD_LIBRARY_PATH", path("").c_str(), 1);
  Terminal t(path(""), {program(), "debug", "m.relay", "--fill", "ones"});
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(t.says("apt-get install libreadline8")) << t.heard();
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("nonsense\x03print x\n");  // control-C throws away what was begun
  ASSERT_TRUE(t.says("%x = Tensor[(3,), float32] [1, 1, 1]")) << t.heard();
  ASSERT_TRUE(t.says("(relay) ")) << t.heard();
  t.type("\x04");
  EXPECT_EQ(t.exit_code(), kOk);
}

// --- docs/debugging.md ---------------------------------------------------------------------------

// The blocks of code of a page, by the word after their fence.
std::vector<std::pair<std::string, std::string>> blocks(const std::string& page) {
  std::ifstream in(page);
  std::vector<std::pair<std::string, std::string>> out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) out.emplace_back(line.substr(3), "");
    } else if (inside) {
      out.back().second += line + "\n";
    }
  }
  return out;
}

TEST_F(Debug, TheGuideShowsWhatHappens) {
  size_t sessions = 0;
  std::vector<std::string> arguments;
  for (const auto& [kind, text] : blocks("docs/debugging.md")) {
    if (kind.starts_with("relay ")) write(kind.substr(6), text);
    if (kind == "sh" && text.starts_with("./relay debug ")) {
      arguments.clear();
      std::istringstream words(text.substr(8));
      for (std::string w; words >> w;) arguments.push_back(w);
    }
    if (kind != "text session") continue;
    ++sessions;
    std::istringstream lines(text);
    std::string script;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("(relay)")) script += line.substr(line.size() > 8 ? 8 : 7) + "\n";
    }
    EXPECT_EQ(relay(arguments, {.input = script}).out, text)
        << "session " << sessions << " of docs/debugging.md";
  }
  EXPECT_GE(sessions, 2u);
}

}  // namespace
}  // namespace relay::tests
