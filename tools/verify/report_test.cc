// What the report says of a model that differs, though each of its operators agrees by itself.
#include "tools/verify/report.h"

#include <gtest/gtest.h>

namespace relay::tools {
namespace {

driver::VerifyRow row(const std::string& engine, std::optional<int> level, bool ok) {
  driver::VerifyRow out;
  out.engine = engine;
  out.level = level;
  out.ok = ok;
  return out;
}

std::string text_of(std::vector<driver::VerifyRow> rows, std::vector<std::string> notes = {}) {
  ProgramReport program;
  program.program = "net.onnx";
  program.rows = std::move(rows);
  program.notes = std::move(notes);
  program.operators.emplace();
  VerifyReport report;
  report.add(std::move(program));
  return report.text();
}

bool blames_a_pass(const std::string& text) { return text.find("a pass makes") != std::string::npos; }

TEST(VerifyReport, NamesTheCommandThatFindsThePass) {
  const std::string text = text_of({row("interp", {}, true), row("jit", 0, true), row("jit", 3, false)});
  EXPECT_NE(text.find("`relay opt net.onnx -O3 --verify=semantics` names it"), std::string::npos) << text;
}

TEST(VerifyReport, BlamesNoPassForWhatThePassesDidNotDo) {
  EXPECT_FALSE(blames_a_pass(text_of({row("interp", {}, true), row("jit", 2, true)})));
  // The program itself is at fault if the interpreter differs from itself in float64.
  EXPECT_FALSE(blames_a_pass(text_of({row("interp", {}, false), row("jit", 2, false)})));
  EXPECT_FALSE(blames_a_pass(text_of({row("jit", 2, false)}, {"y: leaves the range of its dtype"})));
  // The outputs of another program say nothing of passes.
  const driver::VerifyRow theirs = row(std::string(driver::kExpected), {}, false);
  EXPECT_FALSE(blames_a_pass(text_of({row("jit", 2, true), theirs})));
  EXPECT_TRUE(blames_a_pass(text_of({row("jit", 2, false), theirs})));
}

}  // namespace
}  // namespace relay::tools
