// What the command line has besides its commands: nearest names, help, version,
// completion, errors as JSON.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/relay.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

std::vector<nlohmann::json> objects(const std::string& lines) {
  std::vector<nlohmann::json> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

class CommandLine : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }
  // What a shell is told of an unfinished command line.
  std::string completed(std::vector<std::string> words) const {
    words.insert(words.begin(), {"completion", "--words", "--"});
    return works(words);
  }
};

TEST_F(CommandLine, AMisspeltNameHasItsNearest) {
  refused({"verfy", "m.relay"}, kUsage, {"no command `verfy`", "did you mean `verify`?", "check, fmt"});
  refused({"run", "m.relay", "--engin", "jit"}, kUsage, {"no option `--engin`", "did you mean `--engine`?"});
  refused({"run", "m.relay", "--engin=jit"}, kUsage, {"no option `--engin`", "did you mean `--engine`?"});
  refused({"run", "m.relay", "--jsn"}, kUsage, {"no option `--jsn`", "did you mean `--json`?"});
  refused({"run", "m.relay", "--engine", "grpah"}, kUsage, {"no engine `grpah`", "did you mean `graph`?"});
  refused({"compile", "m.relay", "--target", "avx3"}, kUsage, {"no target `avx3`", "did you mean `avx2`?"});
  refused({"opt", "m.relay", "--passes", "fold-constant"}, kUsage,
          {"[bad-pipeline]", "no pass `fold-constant`", "did you mean `fold-constants`?"});
  refused({"opt", "m.relay", "--print-after", "chnaged"}, kUsage, {"did you mean `changed`?"});
  refused({"ops", "nn.sofmax"}, kUsage, {"no operator `nn.sofmax`", "nn.softmax"});
  refused({"run", "m.relay", "--input-shapes", "X:[3]"}, kUsage,
          {"`X`, which is no input", "did you mean `x`?"});
  refused({"run", "m.relay", "--function", "mian"}, kUsage, {"did you mean `main`?"});
  refused({"help", "cmopile"}, kUsage, {"no command `cmopile`", "did you mean `compile`?"});
}

TEST_F(CommandLine, OptReportsWhatPassesMade) {
  const std::string text = works({"opt", "m.relay", "-O1", "--report"});
  for (const char* part :
       {"static dataflow", "passes ", "(the program)", "fold-constants", "1 kernel, each counted once"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const nlohmann::json j = nlohmann::json::parse(works({"opt", "m.relay", "-O1", "--report", "--json"}));
  EXPECT_EQ(j["features"]["if"], 0);
  EXPECT_EQ(j["passes"].back()["kernels"], 1);
  EXPECT_EQ(j["mentions"], nlohmann::json({{"main", nlohmann::json::array()}}));
  works({"opt", "m.relay", "-O1", "--report", "--emit", "kernel", "-o", "k.txt"});
  EXPECT_NE(read("k.txt").find("kernel k0_add"), std::string::npos);
  refused({"opt", "m.relay", "-O1", "--report", "--emit", "kernel"}, kUsage, {"--report", "-o FILE"});
}

TEST_F(CommandLine, OptReportsWhichRulesApplied) {
  write("r.relay", "def @main(%x: Tensor[(n, 4), int32]) { add(multiply(%x, 1), add(%x, 0)) }\n");
  const std::string text = works({"opt", "r.relay", "-O1", "--report"});
  EXPECT_NE(text.find("rule add-of-zero"), std::string::npos) << text;
  const nlohmann::json j = nlohmann::json::parse(works({"opt", "r.relay", "-O1", "--report", "--json"}));
  size_t applied = 0;
  for (const auto& pass : j["passes"]) {
    if (pass["pass"] != "simplify") {
      EXPECT_TRUE(pass["rules"].empty()) << pass;
    } else {
      applied = pass["rules"].value("add-of-zero", 0);
    }
  }
  EXPECT_EQ(applied, 1u) << j;
}

// Libraries that relay uses have messages of their own, which mean nothing to a user.
TEST_F(CommandLine, NoLibrarySpeaksToTheUser) {
  write("dense.relay", "def @main(%x: Tensor[(64, 64), float32]) { nn.dense(%x, %x) }\n");
  for (const std::string engine : {"jit", "graph"}) {
    const Ended ended = relay({"run", "dense.relay", "--engine", engine, "--threads", "16", "-q"});
    EXPECT_EQ(ended.err, "") << engine;
    EXPECT_EQ(ended.exit_code, kOk);
  }
  refused({"compile", "m.relay", "--emit", "pakcage"}, kUsage,
          {"no form `pakcage`", "did you mean `package`?"});
  refused({"run", "m.relay", "--engine"}, kUsage, {"--engine needs a value"});
}

TEST_F(CommandLine, WhatIsNearToNothingHasNoGuess) {
  for (const auto& arguments : {Words{"transmogrify"}, {"run", "m.relay", "--transmogrify"}}) {
    const Ended ended = refused(arguments, kUsage, {"transmogrify"});
    EXPECT_EQ(ended.err.find("did you mean"), std::string::npos) << ended.err;
  }
}

TEST_F(CommandLine, HelpOfACommandIsTheSameEitherWay) {
  EXPECT_EQ(works({"help"}), works({"--help"}));
  for (const std::string command : {"run", "compile", "help", "completion"})
    EXPECT_EQ(works({"help", command}), works({command, "--help"})) << command;
}

TEST_F(CommandLine, TheVersionIsThatOfTheChangelog) {
  const std::string version = works({"--version"});
  std::ifstream changelog("CHANGELOG.md");
  std::string first;
  while (std::getline(changelog, first) && !(first.starts_with("## ") && std::isdigit(first[3]))) continue;
  const std::string number = first.substr(3, first.find(' ', 3) - 3);
  EXPECT_TRUE(version.starts_with("relay " + number + "\n")) << version << first;

  const nlohmann::json j = nlohmann::json::parse(works({"--version", "--json"}));
  EXPECT_EQ(j.at("relay"), number);
  EXPECT_EQ(j.at("c_interface"), RELAY_ABI_VERSION);
  EXPECT_EQ(j.at("text"), "0.0.5");
  EXPECT_EQ(j.at("json"), 1);
}

TEST_F(CommandLine, ErrorsAreOneObjectALine) {
  write("bad.relay", "def @main(%x: Tensor[(2), float32]) {\n  add(%x, %y) + %z\n}\n");
  const std::vector<nlohmann::json> found =
      objects(refused({"check", "bad.relay", "--json"}, kBadModel, {"unknown-variable"}).err);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at("slug"), "unknown-variable");
  EXPECT_EQ(found[0].at("severity"), "error");
  EXPECT_EQ(found[0].at("place").at("file"), "bad.relay");
  EXPECT_EQ(found[0].at("place").at("line"), 2);
  EXPECT_EQ(found[0].at("place").at("column"), 11);
  EXPECT_EQ(found[1].at("place").at("column"), 17);

  const std::vector<nlohmann::json> usage =
      objects(refused({"run", "m.relay", "--engine", "no\"ne\n", "--json"}, kUsage, {"no engine"}).err);
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0].at("exit"), kUsage);
  EXPECT_NE(usage[0].at("message").get<std::string>().find("no\"ne\n"), std::string::npos);
}

TEST_F(CommandLine, ColoursAreForTerminalsAlone) {
  const Ended ended = relay({"check", "none.relay"});
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos);
}

TEST_F(CommandLine, CommandsOptionsAndNamesAreCompleted) {
  EXPECT_EQ(completed({"ver"}), "verify\n");
  EXPECT_EQ(completed({"help", "com"}), "compile\ncompletion\n");
  EXPECT_EQ(completed({"run", "m.relay", "--eng"}), "--engine\n");
  EXPECT_EQ(completed({"run", "m.relay", "--engine", "aot-"}), "aot-cpp\naot-cuda\n");
  EXPECT_EQ(completed({"run", "m.relay", "--engine=aot-"}), "--engine=aot-cpp\n--engine=aot-cuda\n");
  EXPECT_EQ(completed({"verify", "m.relay", "--engines", "interp,j"}), "interp,jit\n");
  EXPECT_EQ(completed({"compile", "m.relay", "--emit", "pa"}), "package\n");
  EXPECT_EQ(completed({"opt", "m.relay", "--passes", "dead"}), "dead-code\n");
  EXPECT_EQ(completed({"ops", "nn.softm"}), "nn.softmax\n");
  EXPECT_EQ(completed({"completion", "f"}), "fish\n");
  EXPECT_NE(completed({""}).find("run\n"), std::string::npos);
  EXPECT_NE(completed({}).find("run\n"), std::string::npos);
}

TEST_F(CommandLine, WhereAFileIsMeantTheShellCompletes) {
  EXPECT_EQ(completed({"run", "m."}), "");
  EXPECT_EQ(completed({"run", "m.relay", "--inputs", ""}), "");
  EXPECT_EQ(completed({"nonsense", "--help"}), "--help\n");  // nothing is run, and nothing refused
}

TEST_F(CommandLine, EveryShellHasItsScript) {
  for (const std::string shell : {"bash", "zsh", "fish"})
    EXPECT_NE(works({"completion", shell}).find("completion --words --"), std::string::npos) << shell;
  refused({"completion"}, kUsage, {"shell", "relay completion --help"});
  refused({"completion", "csh"}, kUsage, {"csh", "bash"});
}

// The script as bash runs it: what COMPREPLY holds after a Tab.
TEST_F(CommandLine, BashCompletes) {
  write("tab.sh",
        "source <(\"$1\" completion bash)\n"
        "COMP_LINE=\"$1 compile m.relay --target cpu:avx2,avx512-v\"\n"
        "COMP_POINT=${#COMP_LINE}\n"
        "_relay_completion\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const Ended ended =
      run({.command = {"/bin/bash", path("tab.sh"), of_checkout("tools/relay")}, .folder = path("")});
  EXPECT_EQ(ended.out, "avx2,avx512-vnni\n") << ended.err;
}

}  // namespace
}  // namespace relay::tests
