// What runs are compared with can fail: results that are wrong by little are seen.
#include "tests/property/expected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/testing.h"
#include "base/cat.h"
#include "passes/runner.h"
#include "tests/property/approximations.h"

namespace relay::property {
namespace {

using analysis::testing::checked;

// The value with its last element moved.
Value off_by(const Value& v, double by) {
  if (!v.is_tensor()) {
    std::vector<Value> fields = v.fields();
    fields.front() = off_by(fields.front(), by);
    return Value::tuple(std::move(fields));
  }
  Tensor t = v.tensor().copy();
  t.set(t.size() - 1, t.get(t.size() - 1) + by);
  return Value(t);
}

Run off_by(Run run, double by) {
  run.value = off_by(run.value, by);
  return run;
}

class Network : public testing::Test {
 protected:
  Network()
      : m_(checked("def @main(%x: Tensor[(1, 3), float32]) {"
                   "  exp(nn.dense(tanh(%x), tensor([[0.5, 0.25, -0.5], [0.25, 0.75, 0.5]], float32))) }")),
        args_{Value(Tensor::of<double>(kFloat32, {1, 3}, std::vector<double>{0.5, -0.25, 0.75}))},
        want_(m_, args_, interpret(m_, args_), true) {}

  // What the pass keeps of the network where its result is moved.
  std::string differs_after(const std::string& step, double by) {
    Diagnostics diagnostics;
    const Result<passes::Pipeline> steps = passes::parse_pipeline(step, diagnostics);
    const Result<Module> after = passes::run_pipeline(m_, *steps, {}, diagnostics);
    EXPECT_TRUE(after && !after->same(m_)) << step << diagnostics.render(m_.context().sources());
    std::vector<Value> args = args_;
    if (step == "forward-gradient") args.push_back(args[0]);
    if (step == "change-batch{to=2}")
      args = {Value(
          Tensor::of<double>(kFloat32, {2, 3}, std::vector<double>{0.5, -0.25, 0.75, 0.5, -0.25, 0.75}))};
    const Kept kept = kept_by(steps->front(), want_, args_, off_by(interpret(*after, args), by), 0);
    EXPECT_TRUE(kept.compared) << step;
    return kept.differs;
  }

  Module m_;
  std::vector<Value> args_;
  Expected want_;
};

TEST_F(Network, IsHeldToTheBoundsOfTheReference) {
  EXPECT_FALSE(want_.run().exact);
  EXPECT_TRUE(want_.comparable());
  EXPECT_EQ(want_.difference(off_by(want_.run(), 1e-7)), "");
  EXPECT_NE(want_.difference(off_by(want_.run(), 1e-5)), "");
  EXPECT_EQ(want_.difference(off_by(want_.run(), 1e-5), kWinogradShare), "");
  EXPECT_NE(want_.difference(off_by(want_.run(), 1e-3), kWinogradShare), "");
}

TEST_F(Network, OtherProgramsAreHeldToBits) {
  const Expected rough(m_, args_, want_.run(), false);
  EXPECT_FALSE(rough.comparable());
  EXPECT_NE(rough.difference(off_by(want_.run(), 1e-7)), "");
}

TEST_F(Network, KeepsSomethingAfterEachPassThatApproximates) {
  struct {
    std::string step;
    double least;  // that is seen
  } const kSteps[] = {{"change-batch{to=2}", 1e-3}, {"fast-math", 1e-5},
                      {"forward-gradient", 1e-5},   {"gradient", 1e-5},
                      {"mixed-precision", 0.1},     {"quantise-global{scale=2}", 1}};
  for (const auto& [step, least] : kSteps) {
    EXPECT_EQ(differs_after(step, 0), "") << step;
    EXPECT_NE(differs_after(step, least), "") << step;
  }
}

TEST(Approximations, AreThoseOfTheRegistry) {
  std::set<std::string_view> all;
  for (const passes::Pass* pass : passes::all_passes()) {
    if (pass->approximates) all.insert(pass->name);
  }
  const std::vector<std::string_view> known = passes_with_approximations();
  EXPECT_EQ(all, std::set<std::string_view>(known.begin(), known.end()));
}

}  // namespace
}  // namespace relay::property
