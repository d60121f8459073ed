// Every operator as the reference of a network runs it: each sum in float32, one term after the
// other (op/sums.h). The errors of such runs are what networks may be away, so a mistake there
// would widen every bound. Here the operator's own tolerance holds it.
#include <gtest/gtest.h>

#include <set>

#include "base/cat.h"
#include "op/apply.h"
#include "op/bounds.h"
#include "passes/reference.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"
#include "tools/verify/recorded_calls.h"

namespace relay::tests {
namespace {

// Compares one call, as it was recorded.
void compare_sums(Context& context, const tools::RecordedCall& c, const std::string& where) {
  const std::vector<Value>& args = c.runs[0].args;
  const std::vector<Tensor> want = passes::tensors_of(op::evaluate(context, *c.op, args, c.attrs));
  const std::vector<Tensor> got =
      passes::tensors_of(op::evaluate(context, *c.op, args, c.attrs, op::Sums::kSingle));
  ASSERT_EQ(got.size(), want.size()) << where;
  const std::vector<Bound> bounds = op::bounds(context, *c.op, args, c.attrs, want);
  for (size_t i = 0; i < want.size(); ++i) {
    const Comparison found = compare(got[i], want[i], bounds[i]);
    EXPECT_TRUE(found.ok) << where << ": " << show(found, want[i].shape());
  }
}

TEST(Ops, SumsInFloat32AreWithinTheTolerance) {
  std::set<std::string> compared;
  for (const std::string& path : tools::test_files_beneath("tests/exec/op")) {
    const tools::ExecProgram program(path);
    if (!program.problem().empty()) continue;
    for (const std::string& line : program.calls()) {
      const tools::CallLine call = tools::parse_call(line);
      if (call.assertion == "rejected") continue;
      const std::vector<Value> given = program.arguments(call, 0);
      for (const tools::RecordedCall& c : tools::record_calls(program.module(), call.function, given).calls) {
        if (!c.op || c.op->tolerance.kind != op::Tolerance::Kind::kReduction) continue;
        compare_sums(program.module().context(), c, cat(path, ": ", line, ": `", c.op->name, "`"));
        compared.insert(c.op->name);
      }
    }
  }
  EXPECT_GT(compared.size(), 30u) << "operators that add up";
}

}  // namespace
}  // namespace relay::tests
