// What works: help, the models that ship with the project, texts that come back as they were.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// The lines of docs/command-line.md between this heading and the next one.
std::vector<std::string> section(const std::string& heading) {
  std::ifstream in("docs/command-line.md");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const size_t hashes = line.find_first_not_of('#');
    if (hashes == 0 || hashes == std::string::npos) {
      if (inside) out.push_back(line);
    } else {
      inside = line.substr(hashes + 1) == heading;
    }
  }
  return out;
}

// Rows of a section's tables whose first cell is code.
std::vector<std::string> rows(const std::string& heading) {
  std::vector<std::string> out;
  for (const std::string& line : section(heading)) {
    if (line.starts_with("| `")) out.push_back(line);
  }
  return out;
}

std::set<std::string> options_in(const std::string& text) {
  static const std::regex option("(^|[ `\\[,])(--?[a-zA-Z][a-z-]*)");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it) out.insert((*it)[2]);
  return out;
}

std::string command_in(const std::string& row) {
  std::smatch word;
  return std::regex_search(row, word, std::regex("`([a-z]+)")) ? word[1].str() : "";
}

// What the page says of each command: its row, and its section if there is one.
std::map<std::string, std::string> documented_commands() {
  std::map<std::string, std::string> out;
  for (const std::string& row : rows("Commands")) {
    const std::string command = command_in(row);
    out[command] = row;
    for (const std::string& line : section(command)) out[command] += "\n" + line;
  }
  return out;
}

class Help : public Cli {};

TEST_F(Help, ListsEveryCommandThatIsDocumented) {
  const std::string help = works({"--help"});
  const auto commands = documented_commands();
  EXPECT_GE(commands.size(), 16u);
  for (const auto& [command, text] : commands)
    EXPECT_NE(help.find("  " + command + " "), std::string::npos) << command << "\n" << help;
}

TEST_F(Help, OfACommandListsEveryOptionThatIsDocumented) {
  size_t options = 0;
  for (const auto& [command, text] : documented_commands()) {
    const std::string help = works({command, "--help"});
    const std::set<std::string> listed = options_in(help), documented = options_in(text);
    options += documented.size();
    for (const std::string& option : documented)
      EXPECT_TRUE(listed.contains(option)) << command << " " << option << "\n" << help;
    for (const std::string option : {"--help", "--json", "--quiet"})
      EXPECT_TRUE(listed.contains(option)) << command << " " << option << "\n" << help;
  }
  EXPECT_GE(options, 40u);
}

TEST_F(Help, EndsInAnExampleOfOptionsThatItLists) {
  constexpr std::string_view kMark = "\nExample: ";
  for (const auto& [command, text] : documented_commands()) {
    const std::string help = works({command, "--help"});
    const size_t at = help.find(kMark);
    ASSERT_NE(at, std::string::npos) << command << "\n" << help;
    const std::string example = help.substr(at + kMark.size());
    EXPECT_NE(example.find("relay " + command), std::string::npos) << example;
    const std::set<std::string> listed = options_in(help.substr(0, at));
    for (const std::string& option : options_in(example))
      EXPECT_TRUE(listed.contains(option)) << command << " " << option;
  }
}

TEST_F(Help, OfRunListsTheOptionsThatManyCommandsHave) {
  const std::set<std::string> listed = options_in(works({"run", "--help"}));
  const std::vector<std::string> documented = rows("Options that many commands have");
  EXPECT_GE(documented.size(), 12u);
  for (const std::string& row : documented) {
    for (const std::string& option : options_in(row.substr(0, row.find('|', 1)))) {
      EXPECT_TRUE(listed.contains(option)) << option;
    }
  }
}

TEST_F(Help, ExitCodesAreDocumented) {
  std::ifstream in("docs/command-line.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (int code = kOk; code <= kInternal; ++code)
    EXPECT_NE(text.str().find("\n| " + std::to_string(code) + " | "), std::string::npos) << code;
}

// What --help says of the levels is true of programs.
TEST_F(Help, EveryLevelDoesMore) {
  for (const std::string command : {"run", "compile", "opt", "bench"}) {
    const std::string help = works({command, "--help"});
    for (const std::string level : {"0: each operator a kernel", "1: simplified and fused",
                                    "2: laid out for the", "3: recursion over what is known is unrolled"})
      EXPECT_NE(help.find(level), std::string::npos) << command << ": " << level;
  }
  write("third.relay", "def @main(%x: Tensor[(8), float32]) { divide(%x, 3f) }\n");
  const auto kernels = [&](const std::string& model, const std::string& level) {
    return works({"opt", model, level, "--emit", "kernel"});
  };
  EXPECT_NE(kernels("third.relay", "-O0"), kernels("third.relay", "-O1"));
  EXPECT_NE(kernels(mnist(), "-O1"), kernels(mnist(), "-O2"));
  EXPECT_EQ(kernels("third.relay", "-O1"), kernels("third.relay", "-O2"));
  EXPECT_NE(kernels("third.relay", "-O2"), kernels("third.relay", "-O3"));
}

// --- the models that ship with the project -------------------------------------------------------

class Examples : public Cli {
 protected:
  static std::vector<fs::path> models() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator("examples/models")) {
      if (entry.is_directory()) out.push_back(fs::absolute(entry.path()) / "model.onnx");
    }
    return out;
  }
};

TEST_F(Examples, AreSound) {
  EXPECT_GE(models().size(), 3u);
  for (const fs::path& model : models()) {
    const std::string facts = works({"check", model});
    EXPECT_NE(facts.find("input  "), std::string::npos) << model << "\n" << facts;
    EXPECT_NE(facts.find("result "), std::string::npos) << model << "\n" << facts;
    const auto json = nlohmann::json::parse(works({"check", model, "--json"}));
    EXPECT_FALSE(json.at("inputs").empty()) << model;
    EXPECT_FALSE(json.at("operators").empty()) << model;
  }
}

TEST_F(Examples, AnImportedModelIsTheSameModel) {
  works({"import", mnist(), "-o", "m.relay"});
  EXPECT_EQ(works({"check", "m.relay"}), works({"check", mnist()}));
  EXPECT_EQ(works({"run", "m.relay", "-i", mnist_inputs()}), works({"run", mnist(), "-i", mnist_inputs()}));
}

TEST_F(Examples, FormattingTwiceIsFormattingOnce) {
  works({"import", mnist(), "-o", "m.relay"});
  const auto once = contents();
  works({"fmt", "-w", "m.relay"});
  EXPECT_EQ(contents(), once);
  write("untidy.relay", "def   @main( %x:Tensor[(3),float32] ) {add(%x,%x)}");
  write("tidy.relay", works({"fmt", "untidy.relay"}));
  EXPECT_EQ(works({"fmt", "tidy.relay"}), read("tidy.relay"));
  works({"fmt", "-w", "untidy.relay"});
  EXPECT_EQ(read("untidy.relay"), read("tidy.relay"));
}

TEST_F(Examples, FormattingKeepsEveryConstant) {
  std::string elements;
  for (int i = 0; i < 300; ++i) elements += (i > 0 ? ", " : "") + std::to_string(i) + ".5";
  write("m.relay",
        "def @main() { add(tensor([" + elements + "], float32), const(\"half\", tensor(0.5, float32))) }");
  const std::string values = works({"run", "m.relay", "--print", "300"});
  EXPECT_NE(values.find("300]"), std::string::npos) << values;
  write("printed.relay", works({"fmt", "m.relay"}));
  EXPECT_EQ(works({"run", "printed.relay", "--print", "300"}), values);
  works({"fmt", "-w", "m.relay"});
  EXPECT_EQ(works({"run", "m.relay", "--print", "300"}), values);
  EXPECT_EQ(works({"fmt", "m.relay"}), read("m.relay"));
}

TEST_F(Examples, ConstantsThatAreNotPrintedAreMentioned) {
  for (const std::string command : {"import", "opt"}) {
    const Ended ended = relay({command, mnist()});
    EXPECT_EQ(ended.exit_code, kOk);
    EXPECT_NE(ended.err.find("large constants are only named"), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("-o FILE.relay"), std::string::npos) << ended.err;
  }
}

TEST_F(Examples, EveryEngineGivesTheSameAnswer) {
  works({"run", mnist(), "-i", mnist_inputs(), "-o", "interp.npz"});
  for (const std::string engine : {"jit", "graph", "aot-cpp", "aot-cuda"}) {
    works({"run", mnist(), "-i", mnist_inputs(), "--engine", engine, "-o", engine + ".npz"});
    works({"verify", mnist(), "-i", mnist_inputs(), "--engines", "interp", "--expected", engine + ".npz"});
  }
}

TEST_F(Examples, ResultsAreJson) {
  const auto outputs = nlohmann::json::parse(works({"run", mnist(), "-i", mnist_inputs(), "--json"}));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].at("shape"), nlohmann::json({1, 10}));
  EXPECT_EQ(outputs[0].at("values").size(), 10u);
  const auto verified = nlohmann::json::parse(
      works({"verify", mnist(), "-i", mnist_inputs(), "--engines", "interp", "--json"}));
  EXPECT_EQ(verified.at("verdict"), "agrees");
  EXPECT_EQ(verified.at("programs")[0].at("engines")[0].at("verdict"), "agrees");
  const auto timed = nlohmann::json::parse(
      works({"bench", mnist(), "--engine", "interp", "--repeat", "2", "--warmup", "0", "--json"}));
  EXPECT_GT(timed.at("p50"), 0.0);
}

TEST_F(Examples, DumpsAreNumberedAndCanBeFedBack) {
  works({"opt", mnist(), "--passes", "fold-constants,fuse", "--dump-dir", "dumps"});
  for (const std::string file : {"00-input", "01-fold-constants", "02-fuse"})
    works({"check", "dumps/" + file + ".relay"});
}

}  // namespace
}  // namespace relay::tests
