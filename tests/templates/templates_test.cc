// The operator and the pass of `./dev new`, as they are written: they build, run on every engine,
// and keep the rules of their kind.
#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/registry.h"
#include "tools/test_files/literal.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"
#include "typecheck/check.h"

// The files themselves: their constants are in no registry of this program.
#include "tests/templates/op/nn/as_written.cc"        // NOLINT: see above
#include "tests/templates/passes/pass_as_written.cc"  // NOLINT

namespace relay::tests {
namespace {

constexpr const char* kWritten = "tests/templates/tests/";

// All operators, and the one that was written.
Operators with_written() {
  Operators out = op::operators();
  out.find = [](std::string_view name) {
    return name == op::kAsWritten.name ? &op::kAsWritten : op::find(name);
  };
  return out;
}

struct Checked {
  std::shared_ptr<Context> context;
  Diagnostics diagnostics;
  Result<Module> module = kReported;

  Checked(const std::string& name, const std::string& text) {
    ParseOptions options;
    context = options.into.shared_context();
    const Result<Module> parsed = parse(name, text, diagnostics, with_written(), options);
    if (parsed) module = typecheck::check(*parsed, diagnostics);
  }
};

TEST(Templates, TheOperatorRunsOnEveryEngine) {
  tools::ExecProgram program(std::string(kWritten) + "exec/op/nn.as_written.relay", {}, with_written());
  ASSERT_EQ(program.problem(), "");
  size_t rows = 0;
  for (const std::string& line : program.calls()) {
    for (const driver::VerifyRow& row : program.run(tools::parse_call(line), {})) {
      EXPECT_TRUE(row.ok) << line << ": " << row.failed;
      EXPECT_EQ(row.skipped, "") << line << ": tests/exec/skips.txt has no row for what is just written";
      ++rows;
    }
  }
  EXPECT_GE(rows, 5 * program.calls().size());
}

TEST(Templates, TheOperatorIsDocumentedAndComplete) {
  const op::OpDef& def = op::kAsWritten;
  EXPECT_EQ(def.name, "nn.as_written");
  EXPECT_GE(def.doc.size(), 3u);
  for (const op::Param& p : def.params) EXPECT_FALSE(p.doc.empty()) << p.name;
  EXPECT_TRUE(def.relate && def.evaluate && def.differentiate && def.lower);
}

TEST(Templates, TheOperatorRefusesWhatItsGoldenSays) {
  const tools::TestFile file =
      tools::read_test_file(std::string(kWritten) + "golden/typecheck/fail_nn.as_written_c1.relay");
  const Checked checked("fail_nn.as_written_c1.relay", *file.find("input"));
  EXPECT_FALSE(checked.module.ok());
  EXPECT_EQ(checked.diagnostics.render(checked.context->sources()), *file.find("output"));
}

TEST(Templates, ThePassDoesWhatItsGoldenSays) {
  const tools::TestFile file =
      tools::read_test_file(std::string(kWritten) + "golden/passes/pass_as_written.relay");
  const Module m = analysis::testing::checked(*file.find("input"));
  Diagnostics diagnostics;
  const target::Target target = target::baseline();
  const passes::PassContext context{diagnostics, {}, target, {}};
  const Module out = passes::kPassAsWritten.run(m, context);
  EXPECT_EQ(op::text_of(out), *file.find("output"));
  // Nothing is left to do, and that is seen by the pointers.
  EXPECT_TRUE(passes::kPassAsWritten.run(out, context).same(out));
  EXPECT_EQ(passes::kPassAsWritten.name, "pass-as-written");
}

}  // namespace
}  // namespace relay::tests
