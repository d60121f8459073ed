// The bound of a network is the interpreter's: an engine that is wrong does not loosen it.
#include "driver/verifier.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::driver {
namespace {

using analysis::testing::checked;

constexpr std::string_view kNetwork = R"(
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = nn.relu(multiply(%x, 0.75f));
  sum(tanh(%0), axis=[1])
}
)";

// The engine `graph` at -O0, where one kernel multiplies by a factor that is wrong by
// a share of 1e-3.
Prepared prepare_planted(const Module& m, std::string_view function, const Options& options) {
  Diagnostics diagnostics;
  const Result<Module> lowered = passes::run_pipeline(m, passes::default_pipeline(0), {}, diagnostics);
  EXPECT_TRUE(lowered.ok());
  std::string text = op::text_of(*lowered);
  const size_t at = text.find("0.75f");
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, 5, "0.75075f");
  return find_engine("graph")->prepare(checked(text), function, options);
}

constexpr Engine kPlanted{"planted", "", true, prepare_planted};

std::vector<VerifyRow> verify(std::vector<EngineAt> engines) {
  Model model{.module = checked(kNetwork), .function = "main", .output_names = {"y"}};
  Tensor x(kFloat32, {2, 3});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, 0.1 * static_cast<double>(i + 1));
  return Verifier(model, engines, {}).run({Value(x)});
}

TEST(Verifier, ASmallBugOfTheUnoptimisedEngineIsFound) {
  const std::vector<VerifyRow> rows = verify({{find_engine("graph"), 0}, {&kPlanted, 0}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].ok) << rows[0].trouble();
  EXPECT_FALSE(rows[1].ok);
  EXPECT_GT(rows[1].worst.needed, 100);
}

TEST(Verifier, OneWrongEngineChangesNoOtherBound) {
  const std::vector<VerifyRow> alone = verify({{find_engine("jit"), 2}});
  const std::vector<VerifyRow> beside = verify({{&kPlanted, 0}, {find_engine("jit"), 2}});
  EXPECT_EQ(alone[0].worst.bound, beside[1].worst.bound);
}

}  // namespace
}  // namespace relay::driver
