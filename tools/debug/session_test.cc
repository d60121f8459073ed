// What sessions as texts (tests/debug) cannot show: speed, depth, memory, interrupts, completion.
#include "tools/debug/session.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tools/debug/testing.h"

namespace relay::tools::debug {
namespace {

constexpr const char* kLoop = R"(
def @main() {
  let %loop = fn (%i: int32, %sum: int32) -> int32 {
    if (equal(%i, 0)) { %sum } else {
      %0 = add(%sum, %i);
      %loop(subtract(%i, 1), %0)
    }
  };
  %loop(COUNT, 0)
}
)";

std::string loop(const std::string& count) {
  std::string text = kLoop;
  return text.replace(text.find("COUNT"), 5, count);
}

int64_t peak_kilobytes() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

TEST(Session, ALoopOfAMillionTurnsIsFlatInMemory) {
  auto small = session_of(loop("10000"));
  small->execute("break subtract if min < 0");
  EXPECT_NE(small->execute("continue").find("the program ended with"), std::string::npos);
  const int64_t before = peak_kilobytes();
  auto session = session_of(loop("1000000"));
  session->execute("break subtract if min == 3");
  const std::string stop = session->execute("continue");
  EXPECT_NE(stop.find("breakpoint 1: subtract if min == 3\n"), std::string::npos) << stop;
  EXPECT_NE(stop.find("Tensor[(), int32] 3"), std::string::npos) << stop;
  // A trail of one frame a turn would be hundreds of megabytes.
  EXPECT_LT(peak_kilobytes() - before, 32 * 1024);
  const std::string frames = session->execute("backtrace");
  EXPECT_NE(frames.find("#0 "), std::string::npos) << frames;
  EXPECT_EQ(frames.find("#1 "), std::string::npos) << frames;
  session->execute("delete 1");
  EXPECT_NE(session->execute("finish").find("the program ended with\n  Tensor[(), int32] 1784293664"),
            std::string::npos);
}

TEST(Session, ProgramsLookAtTheValuesThemselves) {
  auto session = session_of("def @main() { let %a = add(1, 2); multiply(%a, 3) }");
  session->execute("break multiply");
  session->execute("continue");
  EXPECT_EQ(session->refusal(), "");
  size_t count = 0;
  const std::vector<Execution::Place> frames = session->execution().frames(1, count);
  ASSERT_EQ(frames.size(), 1u);
  const std::vector<Session::Named> names = session->names(frames[0]);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].name, "%a");
  EXPECT_EQ(names[0].value.tensor().as<int32_t>()[0], 3);
  EXPECT_EQ(session->breakpoints().all()[0].hits, 1u);
  session->execute("print %b");
  EXPECT_TRUE(session->refused());
  EXPECT_NE(session->refusal().find("there is no variable `%b` here"), std::string::npos);
  session->execute("where");
  EXPECT_FALSE(session->refused());
}

TEST(Session, AMillionFramesAreNoRecursion) {
  auto session = session_of(R"(
def @main() { @down(1000000) }
def @down(%i: int32) -> int32 { if (equal(%i, 0)) { 0 } else { add(1, @down(subtract(%i, 1))) } }
)");
  session->execute("break equal if max > 0");
  session->execute("continue");
  const std::string all = session->execute("backtrace 2");
  EXPECT_NE(all.find("  and 999999 more\n"), std::string::npos) << all;
  EXPECT_NE(session->execute("up 1000000").find("frame 1000000: "), std::string::npos);
  session->execute("down 1000000");
  session->execute("delete 1");
  EXPECT_NE(session->execute("continue").find("Tensor[(), int32] 1000000\n"), std::string::npos);
}

TEST(Session, WhatIsInterruptedStandsSomewhereAndGoesOn) {
  std::atomic<bool> interrupt = true;
  Session session(module_of(loop("1000")), false, "main", {}, {}, &interrupt);
  const std::string stop = session.execute("continue");
  EXPECT_TRUE(stop.starts_with("interrupted\nbefore ")) << stop;
  EXPECT_FALSE(interrupt);
  EXPECT_NE(session.execute("continue").find("the program ended with\n  Tensor[(), int32] 500500\n"),
            std::string::npos);
}

TEST(Session, ATraceThatWasInterruptedIsNone) {
  std::atomic<bool> interrupt = true;
  Session session(module_of(loop("1000")), false, "main", {}, {}, &interrupt);
  const std::string path = testing::TempDir() + "interrupted.jsonl";
  EXPECT_NE(session.execute("record " + path).find("refused: the run was interrupted"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  session.execute("record " + path);
  EXPECT_FALSE(session.refused());
  interrupt = true;
  EXPECT_NE(session.execute("replay " + path).find("refused: the run was interrupted; 0 values"),
            std::string::npos);
  EXPECT_NE(session.execute("replay " + path).find("no difference: "), std::string::npos);
}

TEST(Session, VerdictsAreWhatAScriptMustKnow) {
  using Verdict = Session::Verdict;
  auto fine = session_of("def @main() { add(1, 2) }");
  fine->execute("continue");
  EXPECT_EQ(fine->verdict(), Verdict::kFine);
  fine->execute("nonsense");
  fine->execute("restart");
  EXPECT_EQ(fine->verdict(), Verdict::kRefused);
  auto trap = session_of("def @main() { floor_divide(1, 0) }");
  trap->execute("continue");
  EXPECT_EQ(trap->verdict(), Verdict::kTrapped);
  trap->execute("restart");
  EXPECT_EQ(trap->verdict(), Verdict::kFine);
  auto limit = session_of("def @main() { add(1, 2) }", {}, {{.fuel = 2}});
  limit->execute("continue");
  EXPECT_EQ(limit->verdict(), Verdict::kExhausted);
}

TEST(Session, AProgramThatRefusesItsInputsHasNoFrames) {
  auto session = session_of("def @main(%x: Tensor[(3), float32]) { %x }", {Value(Tensor(kFloat32, {2}))});
  EXPECT_TRUE(session->greeting().starts_with(
      "trap in the call of @main\n  wrong shape: expected Tensor[(3), float32]"))
      << session->greeting();
  for (const std::string line : {"step", "env", "backtrace", "up", "down", "finish", "print x"}) {
    session->execute(line);
    EXPECT_TRUE(session->refused()) << line;
  }
  EXPECT_NE(session->execute("list").find("    1 | def @main"), std::string::npos);
  EXPECT_EQ(session->verdict(), Session::Verdict::kRefused);
}

using Words = std::vector<std::string>;

TEST(Session, WhatIsRecordedIsReplayed) {
  // The tensors of one value fill more than a mebibyte of the trace.
  auto session = session_of(R"(
def @main() { let %parts = split(zeros(shape=[9000], dtype="float32"), indices_or_sections=9000); %parts.7 }
)");
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "long_line.jsonl").string();
  const std::string recorded = session->execute("record " + path);
  EXPECT_NE(recorded.find("recorded 2 values"), std::string::npos) << recorded;
  EXPECT_GT(std::filesystem::file_size(path), size_t{1} << 20);
  const std::string replayed = session->execute("replay " + path);
  EXPECT_NE(replayed.find("no difference: 2 values"), std::string::npos) << replayed;
  std::filesystem::remove(path);
}

TEST(Session, WhatATerminalWouldObeyIsWritten) {
  auto session = session_of("def @main() {\tadd(1, 2) /* \x1b]0;title\x07 */ }\n");
  EXPECT_NE(session->greeting().find("def @main() {\tadd(1, 2) /* \\x1b]0;title\\x07 */"), std::string::npos)
      << session->greeting();
  for (const char* command : {"list", "step", "", "where", "print \x1b[1m", "\x1b[1m"}) {
    const std::string said = session->execute(command);
    EXPECT_FALSE(said.empty()) << command;
    EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
  }
  // Names come from traces too.
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "hostile.jsonl").string();
  std::ofstream(path) << R"({"relay_trace": 1})"
                      << "\n"
                      << R"({"operator": "\u001b[2J", "span": "\u001b[2J", "tensors": []})"
                      << "\n";
  const std::string said = session->execute("replay " + path);
  EXPECT_NE(said.find("`\\x1b[2J`"), std::string::npos) << said;
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
  std::filesystem::remove(path);
}

TEST(Completion, IsOfCommandsOperatorsAndGlobals) {
  auto session = session_of(R"(
def @main() { let %sum = add(1, 2); let %some = @helper(%sum); multiply(%some, 2) }
def @helper(%x: int32) { add(%x, 1) }
)");
  EXPECT_EQ(session->complete("", "st"), (Words{"step", "statistics"}));
  EXPECT_EQ(session->complete("", "conti"), Words{"continue"});
  EXPECT_EQ(session->complete("", "zzz"), Words{});
  EXPECT_EQ(session->complete("break ", ""), (Words{"@helper", "@main", "add", "multiply", "some", "sum"}));
  EXPECT_EQ(session->complete("br ", "@h"), Words{"@helper"});
  EXPECT_EQ(session->complete("list ", ""), (Words{"@helper", "@main"}));
  EXPECT_EQ(session->complete("help ", "rep"), Words{"replay"});
  EXPECT_EQ(session->complete("print ", ""), Words{});
  session->execute("break multiply");
  session->execute("continue");
  EXPECT_EQ(session->complete("print ", ""), (Words{"%some", "%sum", "some", "sum"}));
  EXPECT_EQ(session->complete("print ", "%su"), Words{"%sum"});
}

TEST(Commands, EachIsFoundByEveryUniqueBeginning) {
  for (const Command& c : commands()) {
    EXPECT_EQ(&find_command(c.name), &c);
    for (size_t n = 1; n < c.name.size(); ++n) {
      const std::string_view part = c.name.substr(0, n);
      if (commands_beginning(part).size() == 1) {
        EXPECT_EQ(find_command(part).name, c.name) << part;
      }
    }
    EXPECT_NE(help_for_all().find("  " + std::string(c.name)), std::string::npos) << c.name;
    EXPECT_FALSE(c.summary.empty()) << c.name;
  }
}

TEST(Commands, LettersMeanOneCommandEach) {
  for (const Command& c : commands()) {
    const auto same = std::count_if(commands().begin(), commands().end(), [&](const Command& other) {
      return !c.letters.empty() && (other.letters == c.letters || other.name == c.letters);
    });
    EXPECT_EQ(same, c.letters.empty() ? 0 : 1) << c.name;
  }
}

}  // namespace
}  // namespace relay::tools::debug
