// relay verify: several programs at once, exec tests, every operator, the report.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Verify : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    fs::create_directories(path("tests/more"));
    write("tests/sum.relay",
          "RUN exec\nThe sum.\n---- input\n"
          "def @main(%x: Tensor[(2), float32]) { add(%x, 1f) }\n"
          "def @any(%x: Tensor[(n), float32]) { sqrt(add(%x, 1f)) }\n"
          "---- calls\n@main([1, 2]) == [2, 3]  // a comment\n@any([3, 8, 0]) ~ [2, 3, 1]\n");
    write("tests/more/refused.relay",
          "RUN exec\nDoes not check.\n---- input\ndef @main(%x: Tensor[(2), float32]) { add(%x, @none) }\n"
          "---- calls\n@main([1, 2]) rejected \"@none\"\n");
    fs::create_directories(path("models/net/inputs"));
    fs::create_directories(path("models/net/outputs"));
    write("models/net/model.relay", "def @main(%x: Tensor[(2), float32]) { negative(exp(%x)) }\n");
    write("zero.relay", "def @main() { zeros(shape=[2], dtype=\"float32\") }\n");
    works({"run", "zero.relay", "-o", "models/net/inputs"});
    fs::rename(path("models/net/inputs/output.npy"), path("models/net/inputs/x.npy"));
    works({"run", "models/net/model.relay", "-i", "models/net/inputs", "-o", "models/net/outputs"});
  }

  Json report(std::vector<std::string> arguments, Exit code = kOk) {
    arguments.insert(arguments.begin(), "verify");
    arguments.push_back("--json");
    const Ended ended = relay(arguments);
    EXPECT_EQ(ended.exit_code, code) << ended.err;
    return Json::parse(ended.out);
  }
};

const std::vector<std::string> kFast = {"--engines", "interp,jit,graph", "--levels", "2"};

std::vector<std::string> with_fast(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kFast.begin(), kFast.end());
  return arguments;
}

TEST_F(Verify, FoldersOfTestsAndModelsTogether) {
  const Json j = report(with_fast({"tests", "models", "zero.relay"}));
  EXPECT_EQ(j.at("relay_verify"), 1);
  EXPECT_EQ(j.at("verdict"), "agrees");
  std::vector<std::string> programs;
  for (const Json& p : j.at("programs")) programs.push_back(p.at("program"));
  EXPECT_EQ(programs, (std::vector<std::string>{"tests/more/refused.relay", "tests/sum.relay",
                                                "tests/sum.relay", "models/net", "zero.relay"}));
  const Json& engines = j.at("summary").at("engines");
  ASSERT_EQ(engines.size(), 5u);
  EXPECT_EQ(engines[0],
            Json({{"engine", "check"}, {"agreed", 1}, {"differed", 0}, {"failed", 0}, {"skipped", 0}}));
  EXPECT_EQ(engines[1],
            Json({{"engine", "interp"}, {"agreed", 4}, {"differed", 0}, {"failed", 0}, {"skipped", 0}}));
  EXPECT_EQ(engines[3].at("engine"), "graph -O2");
  EXPECT_EQ(engines[3].at("skipped"), 1);  // a shape variable
  EXPECT_EQ(engines[4].at("engine"), "expected");
  const Json& skipped = j.at("summary").at("skipped");
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_EQ(skipped[0].at("engines"), Json({{"graph", 1}}));
  EXPECT_EQ(skipped[0].at("slug"), "dynamic-shape");
  EXPECT_NE(skipped[0].at("reason").get<std::string>().find("not constant"), std::string::npos);
}

TEST_F(Verify, TheFolderAtHandIsOneToo) {
  const Json j = report({".", "--engines", "interp"});
  EXPECT_EQ(j.at("programs").size(), 5u);
  EXPECT_EQ(j.at("programs")[0].at("program"), "models/net");
}

// The reference in float64 has the program's own kernels in float64.
TEST_F(Verify, AProgramWithKernels) {
  write("k.relay",
        "kernel @third(x: float32[n]) -> (y: float32[n]) {\n"
        "  for i in n { block y { spatial v in n = i; reads x[v]; writes y[v]; y[v] = x[v] / 3f; } }\n}\n"
        "def @main(%x: Tensor[(40), float32]) { exp(@third(add(%x, 1f))) }\n");
  const Json j = report({"k.relay", "--levels", "0,2", "--every-op"});
  for (const Json& row : j.at("programs")[0].at("engines")) {
    EXPECT_EQ(row.at("verdict"), "agrees") << row;
    EXPECT_GT(row.at("error").get<double>(), 0) << row;  // it rounds, the reference does not
  }
}

TEST_F(Verify, ForPeopleThereIsALineAFileAndASummary) {
  const std::string text = works(with_fast({"verify", "tests", "models"}));
  EXPECT_NE(text.find("tests/sum.relay: 5 agree, 1 skipped\n"), std::string::npos) << text;
  EXPECT_NE(text.find("models/net: 4 agree\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n4 programs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("skipped:\n      1  graph: [dynamic-shape] the shape of "), std::string::npos) << text;
}

TEST_F(Verify, EveryOperatorIsInTheReport) {
  const Json j = report(with_fast({"models/net", "--every-op"}));
  const Json& operators = j.at("programs")[0].at("operators");
  EXPECT_EQ(operators.at("evaluated"), 2);
  ASSERT_EQ(operators.at("list").size(), 2u);
  const Json& exp = operators.at("list")[0];
  EXPECT_EQ(exp.at("operator"), "exp");
  EXPECT_EQ(exp.at("at"), "models/net/model.relay:1:48");
  EXPECT_EQ(exp.at("arguments"), Json({"Tensor[(2), float32]"}));
  EXPECT_EQ(exp.at("compared"), 1);
  ASSERT_EQ(exp.at("engines").size(), 3u);
  for (const Json& row : exp.at("engines")) {
    EXPECT_EQ(row.at("verdict"), "agrees");
    EXPECT_LE(row.at("needed").get<double>(), 1);
    EXPECT_GT(row.at("bound").get<double>(), 0);
  }
  const std::string text = works(with_fast({"verify", "models/net", "--every-op"}));
  EXPECT_NE(text.find("every operator by itself: 2 calls, 2 that compile differently"), std::string::npos)
      << text;
}

TEST_F(Verify, EveryEngineComputesEveryOperator) {
  const Json j = report({"models/net", "--every-op", "--levels", "0,3"});
  for (const Json& o : j.at("programs")[0].at("operators").at("list")) EXPECT_EQ(o.at("engines").size(), 9u);
}

TEST_F(Verify, WhatDiffersIsShownAmongWhatAgrees) {
  write("tests/wrong.relay",
        "RUN exec\nSays what is not so.\n---- input\ndef @main(%x: int32) { add(%x, 1) }\n"
        "---- calls\n@main(1) == 2\n@main(1) == 3\n@main(1) traps \"never\"\n");
  const Json j = report(with_fast({"tests"}), kMismatch);
  EXPECT_EQ(j.at("verdict"), "differs");
  std::map<std::string, std::string> verdicts;
  for (const Json& p : j.at("programs")) {
    if (p.at("program") == "tests/wrong.relay") verdicts[p.at("call")] = p.at("verdict");
  }
  EXPECT_EQ(verdicts, (std::map<std::string, std::string>{{"@main(1) == 2", "agrees"},
                                                          {"@main(1) == 3", "differs"},
                                                          {"@main(1) traps \"never\"", "differs"}}));
  const Ended ended = relay(with_fast({"verify", "tests"}));
  EXPECT_EQ(ended.exit_code, kMismatch);
  for (const std::string part : {"tests/wrong.relay: 3 agree, 1 DIFFER, 1 FAILED", "@main(1) == 3",
                                 "got 2, wanted 3", "gives a value where the file says that it traps"}) {
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in:\n" << ended.out;
  }
}

TEST_F(Verify, OutputsOfAnotherProgramThatDifferAreAMismatch) {
  works({"run", "zero.relay", "-o", "models/net/outputs"});  // zeros where it gives -1
  const Json j = report(with_fast({"models/net"}), kMismatch);
  const Json& rows = j.at("programs")[0].at("engines");
  EXPECT_EQ(rows.back().at("engine"), "expected");
  EXPECT_EQ(rows.back().at("verdict"), "differs");
  EXPECT_EQ(rows.back().at("got"), 0.0);
  EXPECT_EQ(rows.front().at("verdict"), "agrees");
}

// --- what cannot be verified ---------------------------------------------------------------------

TEST_F(Verify, AFolderThatIsNotThereOrHasNoModelIsRefused) {
  refused({"verify", "nowhere"}, kUsage, {"nowhere", "no such file or folder"});
  refused({"verify", "tests", "nowhere"}, kUsage, {"nowhere", "no such file or folder"});
  fs::create_directories(path("empty/deep"));
  write("empty/deep/notes.txt", "nothing");
  refused({"verify", "empty"}, kUsage, {"empty", "no model and no exec test"});
}

TEST_F(Verify, TestsOfOtherCommandsAreNotTakenForPrograms) {
  write("golden.relay", "RUN opt --passes=fuse\n---- input\n---- output\n");
  refused({"verify", "golden.relay"}, kUsage, {"golden.relay", "a test of `opt --passes=fuse`", "`exec`"});
  write("tests/golden.relay", "RUN opt --passes=fuse\n---- input\n---- output\n");
  const Ended ended = relay(with_fast({"verify", "tests"}));
  EXPECT_EQ(ended.exit_code, kOk);
  EXPECT_NE(ended.err.find("1 tests of other commands are left out"), std::string::npos) << ended.err;
}

TEST_F(Verify, AnExecTestThatDoesNotParseIsRefused) {
  const auto exec = [&](const std::string& input, const std::string& calls) {
    write("bad.relay", "RUN exec\n---- input\n" + input + "\n---- calls\n" + calls + "\n");
  };
  const std::string good = "def @main(%x: int32) { %x }";
  exec("def @main(%x: int32) { add(%x, }", "@main(1) == 1");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay:1:", "[expected-expression]"});
  exec(good, "@main(1) = 1");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "@main(1) = 1", "expected =="});
  exec(good, "@main([1) == 1");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "expected `]`"});
  exec(good, "@main(" + std::string(100000, '('));
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "nested more than"});
  exec(good, "@main(1, 2) == 1");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "@main takes 1 arguments, not 2"});
  exec(good, "@other(1) == 1");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "there is no @other"});
  exec(good, "@main([1, 2]) == 1 // a vector");
  EXPECT_NE(relay({"verify", "bad.relay"}).exit_code, kOk);
  exec(good, "");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "there is no call"});
  write("bad.relay", "RUN exec\nNothing else.\n");
  refused({"verify", "bad.relay"}, kBadModel, {"bad.relay", "no section `input`"});
}

TEST_F(Verify, WhatCannotRunDoesNotKeepOthersFromIt) {
  write("broken.relay", "def @main(");
  const Ended ended = relay(with_fast({"verify", "broken.relay", "models"}));
  EXPECT_EQ(ended.exit_code, kBadModel);
  EXPECT_NE(ended.err.find("broken.relay:1:"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("broken.relay: not run\nmodels/net: 4 agree\n"), std::string::npos) << ended.out;
  const Json j = report(with_fast({"broken.relay", "models"}), kBadModel);
  EXPECT_EQ(j.at("programs")[0].at("verdict"), "not run");
  EXPECT_EQ(j.at("programs")[0].at("exit_code"), 3);
  EXPECT_EQ(j.at("summary").at("not_run"), 1);
}

TEST_F(Verify, OptionsOfOneModelAreRefusedForSeveral) {
  refused({"verify", "models", "zero.relay", "-i", "models/net/inputs"}, kUsage,
          {"--inputs", "one model", "2"});
  refused({"verify", "models", "zero.relay", "--expected", "x.npz"}, kUsage, {"--expected", "one model"});
  refused({"verify", "models", "zero.relay", "--function", "f"}, kUsage, {"--function", "one model"});
  refused({"verify", "tests/sum.relay", "--input-shapes", "x:[2]"}, kUsage,
          {"--input-shapes", "tests/sum.relay"});
}

}  // namespace
}  // namespace relay::tests
