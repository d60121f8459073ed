// What a command line writes, and what is said of one that is refused.
#include "tools/options/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tools/options/values.h"

namespace relay::tools {
namespace {

using Words = std::vector<std::string>;

// A program with one command, `run`, and what its options wrote.
class Options : public testing::Test {
 protected:
  Options() {
    Command program = line_.program();
    program.flag("--json", &json_, "results as JSON");
    line_.add_version_flag("the version");
    Command run = program.command("run", "run a model");
    run.option("model", &model_, "a model").required();
    run.option("-t,--threads", &threads_, "threads of a run").check(count(1, 8)).shows_default();
    run.option("--form", &form_, "its form").check(one_of("form", {"so", "package"}));
    run.option("--max-time", &max_time_, "seconds").kind("SECONDS");
    run.option("--levels", &levels_, "opt levels").separated_by_commas().one_at_a_time();
    run.option("--page", &page_, "a file").expects(0, 1).kind("[FILE]");
    run.option("--secret", &form_, "nobody's business").hidden();
    run.action([this, run] {
      ++runs_;
      page_given_ = run.given("--page");
    });
  }

  Parsed parse(Words words) {
    std::vector<const char*> argv = {"program"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return line_.parse(static_cast<int>(argv.size()), argv.data());
  }
  // What is wrong with the words.
  std::string wrong(Words words) {
    const Parsed parsed = parse(std::move(words));
    EXPECT_EQ(parsed.end, Parsed::End::kRefused);
    EXPECT_EQ(runs_, 0);
    return parsed.text;
  }

  CommandLine line_{"A program.", "relay"};
  bool json_ = false, page_given_ = false;
  std::string model_, form_ = "so", page_;
  int threads_ = 1, runs_ = 0;
  std::optional<std::chrono::nanoseconds> max_time_;
  std::vector<int> levels_;
};

TEST_F(Options, WriteTheirVariables) {
  const Parsed parsed = parse(
      {"run", "--threads=4", "--levels", "0,3", "m.onnx", "--levels", "1", "--max-time", "1.5", "--json"});
  EXPECT_EQ(parsed.end, Parsed::End::kRan) << parsed.text;
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(model_, "m.onnx");
  EXPECT_EQ(threads_, 4);
  EXPECT_EQ(levels_, (std::vector<int>{0, 3, 1}));
  EXPECT_EQ(max_time_, std::chrono::milliseconds(1500));
  EXPECT_EQ(form_, "so");
  EXPECT_TRUE(json_) << "an option of the program stands behind the command";
}

TEST_F(Options, AreGivenWithoutAValueToo) {
  EXPECT_EQ(parse({"run", "m.onnx", "--page"}).end, Parsed::End::kRan);
  EXPECT_TRUE(page_given_);
  EXPECT_EQ(page_, "");
  const Command run = line_.program().commands()[0];
  EXPECT_TRUE(run.given("model"));
  EXPECT_FALSE(run.given("--threads"));
  EXPECT_FALSE(run.given("--nothing"));
}

TEST_F(Options, AreRefusedWithWhatTheirCheckSays) {
  EXPECT_EQ(wrong({"run", "m.onnx", "-t", "9"}), "--threads: `9` is not a whole number from 1 to 8");
  EXPECT_EQ(wrong({"run", "m.onnx", "--form", "pakcage"}),
            "--form: there is no form `pakcage`; did you mean `package`? There are: so, package");
  EXPECT_EQ(wrong({"run", "m.onnx", "--threads"}), "--threads needs a value");
  EXPECT_EQ(wrong({"run"}), "model is required");
}

TEST_F(Options, SayWhichWordsNothingTakes) {
  const Parsed option = parse({"run", "m.onnx", "--threds", "2"});
  EXPECT_EQ(option.end, Parsed::End::kRefused);
  ASSERT_TRUE(option.command.has_value());
  EXPECT_EQ(option.command->name(), "run");
  EXPECT_EQ(option.unknown, (Words{"--threds", "2"}));
  const Parsed command = parse({"rum"});
  EXPECT_EQ(command.end, Parsed::End::kRefused);
  EXPECT_FALSE(command.command.has_value());
  EXPECT_EQ(command.unknown, Words{"rum"});
  EXPECT_EQ(parse({}).end, Parsed::End::kRefused) << "one of the commands is needed";
  EXPECT_EQ(runs_, 0);
}

TEST_F(Options, AreShownByHelp) {
  const Parsed asked = parse({"run", "--help"});
  EXPECT_EQ(asked.end, Parsed::End::kAsksHelp);
  const std::string help = line_.program().commands()[0].help();
  EXPECT_EQ(asked.text, help);
  EXPECT_NE(help.find("Usage: relay run [OPTIONS] model"), std::string::npos) << help;
  EXPECT_NE(help.find("-t,--threads INT:1 to 8=1"), std::string::npos) << help;
  EXPECT_NE(help.find("--max-time SECONDS"), std::string::npos) << help;
  EXPECT_EQ(help.find("--secret"), std::string::npos) << help;
  EXPECT_EQ(parse({"--version"}).end, Parsed::End::kAsksVersion);
}

TEST_F(Options, AreKnownToCompletion) {
  const std::vector<KnownOption> all = line_.program().commands()[0].options();
  const auto named = [&](const std::string& name) {
    for (const KnownOption& o : all) {
      if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return o;
    }
    ADD_FAILURE() << name;
    return KnownOption{};
  };
  EXPECT_EQ(named("--threads").names, (Words{"--threads", "-t"}));
  EXPECT_EQ(named("--form").kind, "TEXT:{so,package}");
  EXPECT_TRUE(named("--form").takes_value);
  EXPECT_FALSE(named("--json").takes_value) << "of the program";
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const KnownOption& o) { return o.names.empty(); }), 1);
}

TEST(Programs, WithoutCommandsReportByThemselves) {
  const auto report = [](std::vector<const char*> argv) {
    CommandLine line("A program.");
    int rounds = 5;
    line.program().option("--rounds", &rounds, "how many").check(count(1, 10));
    return line.parse_or_report(static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(report({"program", "--rounds", "3"}), std::nullopt);
  EXPECT_EQ(report({"program", "--help"}), 0);
  EXPECT_NE(report({"program", "--rounds", "11"}).value_or(0), 0);
}

}  // namespace
}  // namespace relay::tools
