// The bound of a network is the interpreter's: an engine that is wrong does not loosen it. How many
// engines work at once changes nothing that is reported.
#include "driver/verifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "analysis/testing.h"
#include "driver/driver.h"
#include "interp/machine.h"
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

// The engine `graph` at -O0 with another factor in one kernel.
Prepared prepare_with_factor(const Module& m, std::string_view function, const Options& options,
                             std::string_view factor, std::string_view wrong) {
  Diagnostics diagnostics;
  const Result<Module> lowered = passes::run_pipeline(m, passes::default_pipeline(0), {}, diagnostics);
  EXPECT_TRUE(lowered.ok());
  std::string text = op::text_of(*lowered);
  const size_t at = text.find(factor);
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, factor.size(), wrong);
  return find_engine("graph")->prepare(checked(text), function, options);
}

// The factor is wrong by a share of 1e-3.
Prepared prepare_planted(const Module& m, std::string_view function, const Options& options) {
  return prepare_with_factor(m, function, options, "0.75f", "0.75075f");
}
// By a share of 1e-9.
Prepared prepare_planted_wide(const Module& m, std::string_view function, const Options& options) {
  return prepare_with_factor(m, function, options, "0.75f64", "0.75000000075f64");
}

constexpr Engine kPlanted{"planted", "", true, prepare_planted},
    kPlantedWide{"planted", "", true, prepare_planted_wide};

Model network() { return {.module = checked(kNetwork), .function = "main", .output_names = {"y"}}; }

std::vector<Value> inputs() {
  Tensor x(kFloat32, {2, 3});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, 0.1 * static_cast<double>(i + 1));
  return {Value(x)};
}

std::vector<VerifyRow> verify(const std::vector<EngineAt>& engines, unsigned at_once = 0) {
  return Verifier(network(), engines, {.at_once = at_once}).run(inputs());
}

Prepared prepare_trapping(const Module&, std::string_view, const Options&) {
  return {[](const std::vector<Value>&) { return Outcome{Outcome::Kind::kTrap, {}, "it fell"}; }};
}
Prepared prepare_skipping(const Module&, std::string_view, const Options&) { return {{}, "not for this"}; }
Prepared prepare_nothing(const Module&, std::string_view, const Options& options) {
  Diagnostics why;
  why.error(Span::none(), "cannot-load", "there is no machine at -O" + std::to_string(options.opt_level));
  throw CannotPrepare(why);
}

constexpr Engine kTrapping{"trapping", "", true, prepare_trapping},
    kSkipping{"skipping", "", true, prepare_skipping}, kMissing{"missing", "", true, prepare_nothing};

// The report without its times.
std::string report(std::vector<VerifyRow> rows) {
  for (VerifyRow& row : rows) row.seconds = 0;
  return show(rows);
}

TEST(Verifier, ASmallBugOfTheUnoptimisedEngineIsFound) {
  const std::vector<VerifyRow> rows = verify({{find_engine("graph"), 0}, {&kPlanted, 0}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].ok) << rows[0].trouble();
  EXPECT_FALSE(rows[1].ok);
  EXPECT_GT(rows[1].worst.needed, 100);
}

// No run is wider than one in float64, so that no run tells the error of its sums. Engines add in
// other orders than the interpreter.
TEST(Verifier, SumsOfFloat64MayBeInAnyOrderAndMayNotBeWrong) {
  const Model model{.module = checked(R"(
def @main(%x: Tensor[(8, 512), float64]) {
  let %y = multiply(%x, 0.75f64);
  (nn.relu(nn.dense(%y, %x)), negative(mean(%y)))
}
)")};
  for (int seed = 1; seed <= 5; ++seed) {
    Tensor x(kFloat64, {8, 512});
    for (int64_t i = 0; i < x.size(); ++i) x.set(i, std::sin(static_cast<double>(seed + i * i)));
    const std::vector<VerifyRow> rows = Verifier(model,
                                                 {{find_engine("graph"), 0},
                                                  {find_engine("graph"), 2},
                                                  {find_engine("jit"), 2},
                                                  {&kPlantedWide, 0}},
                                                 {})
                                            .run({Value(x)});
    ASSERT_EQ(rows.size(), 4u);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(rows[i].ok) << seed << ": " << rows[i].trouble();
    EXPECT_FALSE(rows[3].ok) << seed;
    EXPECT_GT(rows[3].worst.needed, 10) << seed;
  }
}

TEST(Verifier, OneWrongEngineChangesNoOtherBound) {
  const std::vector<VerifyRow> alone = verify({{find_engine("jit"), 2}});
  const std::vector<VerifyRow> beside = verify({{&kPlanted, 0}, {find_engine("jit"), 2}});
  EXPECT_EQ(alone[0].worst.bound, beside[1].worst.bound);
}

TEST(Verifier, TheReportIsTheSameForAnyNumberOfEnginesAtOnce) {
  const std::vector<EngineAt> engines{
      {find_engine("interp")}, {find_engine("jit"), 0},   {&kTrapping, 1},           {find_engine("jit"), 2},
      {&kPlanted, 0},          {find_engine("graph"), 0}, {find_engine("graph"), 2}, {&kSkipping, 3}};
  const std::string one = report(verify(engines, 1));
  for (const char* word : {"interp", "FAILED: it fell", "DIFFERS", "skipped: not for this"})
    EXPECT_NE(one.find(word), std::string::npos) << word << "\n" << one;
  for (const unsigned at_once : {2u, 8u}) EXPECT_EQ(report(verify(engines, at_once)), one);
}

TEST(Verifier, TheFirstOfSeveralEnginesThatCannotBePreparedIsNamed) {
  for (const unsigned at_once : {1u, 4u}) {
    std::string said;
    try {
      verify({{find_engine("graph"), 2}, {&kMissing, 1}, {&kMissing, 2}, {&kMissing, 3}}, at_once);
    } catch (const CannotPrepare& e) {
      said = e.what();
    }
    EXPECT_EQ(said, "there is no machine at -O1");
  }
}

TEST(Verifier, AFailureOfTheReferenceIsThrown) {
  const Model model{.module = checked(R"(
def @main(%x: Tensor[(2), int32]) { divide(1, %x) }
)")};
  EXPECT_THROW(Verifier(model, {{find_engine("jit"), 2}, {&kTrapping, 0}}, {.at_once = 2})
                   .run({Value(Tensor(kInt32, {2}))}),
               Trap);
}

TEST(Verifier, EveryStepIsToldOnce) {
  std::multiset<std::string> steps;
  Verifier verifier(network(), {{find_engine("interp")}, {&kTrapping, 1}}, {.at_once = 2},
                    [&](std::string_view step) { steps.emplace(step); });
  EXPECT_EQ(steps, (std::multiset<std::string>{"preparing interp", "preparing trapping -O1"}));
  steps.clear();
  verifier.run(inputs());
  EXPECT_EQ(steps.count("interp"), 1u);
  EXPECT_EQ(steps.count("the reference, and what float32 does to it"), 1u);
}

TEST(Verifier, EndlessRunsEndWhenItIsCancelled) {
  const Model endless{.module = checked("def @main(%x: int64) -> int64 { @main(add(%x, 1i64)) }"),
                      .output_names = {"y"}};
  for (const char* engine : {"interp", "jit", "aot-cpp"}) {
    std::atomic<bool> cancel = false;
    Verifier verifier(endless, {.engines = {engine}, .levels = {0}, .at_once = 2, .cancel = &cancel});
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cancel = true;
    });
    EXPECT_THROW(verifier.run({Value(Tensor::scalar_int(kInt64, 1))}), Exhausted) << engine;
    other.join();
  }
}

TEST(Verifier, NothingIsPreparedOnceItIsCancelled) {
  const std::atomic<bool> cancel = true;
  std::vector<std::string> steps;
  EXPECT_THROW(Verifier(network(), {.engines = {"interp", "jit"}, .cancel = &cancel},
                        [&](std::string_view step) { steps.emplace_back(step); }),
               Exhausted);
  EXPECT_TRUE(steps.empty());
}

// An engine knows constructors by their address, and each engine has a module of its own. A result
// outlives the verifier.
TEST(Verifier, DataValuesGoInAndComeOut) {
  const Model model{.module = checked(R"(
type List { Cons(Tensor[(2), float32], List), Nil }
def @main(%l: List) -> List { match (%l) { Cons(%x, %rest) => Cons(add(%x, 1.0f), @main(%rest)), Nil => Nil } }
)")};
  const auto cell = [&](const char* name, std::vector<Value> fields) {
    return Value::data(model.module.constructor(name), std::move(fields));
  };
  const Value list = cell("Cons", {Value(Tensor(kFloat32, {2})), cell("Nil", {})});
  const std::vector<VerifyRow> rows =
      verify(model, {list}, {.engines = {"interp", "jit"}, .levels = {0, 2}, .at_once = 2});
  ASSERT_EQ(rows.size(), 3u);
  const std::string want = interp::show(interp::Machine(model.module).call("main", {list}));
  for (const VerifyRow& row : rows) {
    EXPECT_TRUE(row.ok) << row.label() << ": " << row.trouble();
    EXPECT_EQ(interp::show(row.result), want) << row.label();
  }
}

}  // namespace
}  // namespace relay::driver
