// Engines that are wrong on purpose, by less than a tolerance of 1 ULP would see.
#include "tools/verify/exec_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/cat.h"
#include "interp/machine.h"
#include "op/op_def.h"

namespace relay::tools {
namespace {

using Wrong = double (*)(double x, double y);

// Evaluates the operator `op` by `wrong`, each operation rounded to float32.
driver::Prepared prepare_wrong(const Module& m, const std::string& function, std::string_view op,
                               Wrong wrong) {
  return {[m, function, op, wrong](const std::vector<Value>& args) {
    interp::Options options;
    options.run_operator = [op, wrong](const op::OpDef& def, std::span<const Value> with,
                                       const Attrs&) -> std::optional<Value> {
      if (def.name != op) return std::nullopt;
      Tensor out = with[0].tensor().copy();
      const Tensor& y = with[with.size() - 1].tensor();
      for (int64_t i = 0; i < out.size(); ++i) out.set(i, wrong(out.get(i), y.get(i)));
      return Value(out);
    };
    return driver::outcome_of([&] { return interp::Machine(m, options).call(function, args); });
  }};
}

double correct(double x, double) { return std::fabs(x); }
double negative_zero(double x, double) { return x == 0 ? -0.0 : std::fabs(x); }
double divided(double x, double y) { return x / y; }
double times_reciprocal(double x, double y) { return x * static_cast<float>(1 / y); }

// The row of such an engine for one call of @f.
driver::VerifyRow row_of(const std::string& program, const std::string& call, std::string_view op,
                         Wrong wrong) {
  const std::string path = testing::TempDir() + "planted.relay";
  std::ofstream(path) << cat("RUN exec\n---- input\n", program, "\n---- calls\n", call, "\n");
  ExecProgram exec(path);
  EXPECT_EQ(exec.problem(), "");
  exec.prepare_by([&](const driver::EngineAt&, const std::string& function, const driver::Options&) {
    return prepare_wrong(exec.module(), function, op, wrong);
  });
  const std::vector<driver::VerifyRow> rows =
      exec.run(parse_call(call), {.engines = {"interp", "jit"}, .levels = {2}});
  EXPECT_TRUE(rows[0].ok) << rows[0].trouble();
  EXPECT_EQ(rows.size(), 2u);
  return rows.back();
}

TEST(ExecProgram, AnEngineMayNotChangeTheSignOfAZero) {
  const std::string program = "def @f(%x: Tensor[(3), float32]) { abs(%x) }";
  EXPECT_TRUE(row_of(program, "@f([-1, 0, 2]) == [1, 0, 2]", "abs", correct).ok);
  const driver::VerifyRow row = row_of(program, "@f([-1, 0, 2]) == [1, 0, 2]", "abs", negative_zero);
  EXPECT_EQ(row.verdict(), driver::Verdict::kDiffers);
  EXPECT_NE(row.trouble().find("worst at [1]"), std::string::npos) << row.trouble();
  EXPECT_NE(row.trouble().find("the signs of two zeros differ"), std::string::npos) << row.trouble();
}

TEST(ExecProgram, AQuotientIsNoProductWithAReciprocal) {
  const std::string program =
      "def @f(%x: Tensor[(64), float32], %y: Tensor[(64), float32]) { divide(%x, %y) }";
  const std::string call = "@f(random(seed=1), random(seed=2)) agrees";
  EXPECT_TRUE(row_of(program, call, "divide", divided).ok);
  const driver::VerifyRow row = row_of(program, call, "divide", times_reciprocal);
  EXPECT_EQ(row.verdict(), driver::Verdict::kDiffers);
  EXPECT_LE(row.worst.ulps, 1) << "a bound of 1 ULP would not see it";
  EXPECT_EQ(row.worst.bound, 0);
}

// In float32 the 3 is lost beside 2^27.
TEST(ExecProgram, ABoundWithoutACapIsNamed) {
  const auto uncapped = [](const std::string& large) {
    return row_of(
               cat("def @f(%x: Tensor[(1), float32]) { abs(subtract(add(%x, ", large, "), ", large, ")) }"),
               "@f([3]) agrees", "abs", correct)
        .uncapped;
  };
  EXPECT_EQ(uncapped("134217728f"), "ill-conditioned");
  EXPECT_EQ(uncapped("64f"), "");
}

}  // namespace
}  // namespace relay::tools
