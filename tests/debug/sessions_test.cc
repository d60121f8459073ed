// Runs tests/debug/sessions: what is typed at `relay debug`, and the whole text of the session.
// `--update` rewrites it.
//
// The RUN line has the options. Sections: `input` is the program p.relay, `file NAME` another file
// beside it, `exit code` how it ends (0 if there is none; names of sessions that end otherwise
// begin with fail_), and `session` the text, whose lines after "(relay) " are the script.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/cli.h"
#include "tests/support/checkout.h"
#include "tools/test_files/test_file.h"

namespace relay::tests {
namespace {

bool update = false;

constexpr std::string_view kPrompt = "(relay) ";

std::string script_of(const std::string& session) {
  std::istringstream lines(session);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kPrompt)) out += line.substr(kPrompt.size()) + "\n";
  }
  return out;
}

class SessionTest : public Cli {
 public:
  explicit SessionTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    tools::TestFile file = tools::read_test_file(path_);
    const std::string *input = file.find("input"), *session = file.find("session"),
                      *code = file.find("exit code");
    ASSERT_TRUE(input && session) << path_ << ": needs the sections `input` and `session`";
    write("p.relay", *input);
    write("script", script_of(*session));
    for (const auto& [name, text] : file.sections) {
      if (name.starts_with("file ")) {
        write(name.substr(5), text);
      } else {
        ASSERT_TRUE(name == "input" || name == "session" || name == "exit code")
            << path_ << ": there is no section `" << name << "`";
      }
    }
    std::istringstream words(file.command);
    std::vector<std::string> arguments;
    for (std::string w; words >> w;) arguments.push_back(w);
    ASSERT_FALSE(arguments.empty()) << path_;
    arguments.insert(arguments.begin() + 1, {"p.relay", "--script", "script"});
    const Ended ended = relay(arguments);
    EXPECT_EQ(ended.signal, 0) << path_;
    EXPECT_EQ(ended.err, "") << path_;
    EXPECT_EQ(ended.exit_code, code ? std::stoi(*code) : 0) << path_ << "\n" << ended.out;
    EXPECT_EQ(code != nullptr, std::filesystem::path(path_).filename().string().starts_with("fail_"))
        << path_;
    if (ended.out == *session) return;
    if (update) {
      file.set("session", ended.out);
      std::ofstream(in_checkout(path_)) << file.text();
      return;
    }
    EXPECT_EQ(ended.out, *session) << path_ << ": run `./dev update` and read the difference";
  }

 private:
  std::string path_;
};

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = relay::tests::wants_update(argc, argv);
  for (const std::string& path : relay::tools::test_files_beneath("tests/debug/sessions")) {
    testing::RegisterTest("Session", std::filesystem::path(path).stem().c_str(), nullptr, nullptr, __FILE__,
                          __LINE__,
                          [path]() -> relay::tests::Cli* { return new relay::tests::SessionTest(path); });
  }
  return RUN_ALL_TESTS();
}
