// Deep and long programs (nests.h) on engines that compile. `jit` runs all of them, and `graph`
// those that are static dataflow, with the interpreter's result and in linear time. `aot-cpp` runs
// shorter ones. `vta` has no layers in such programs, and runs them as `jit` does.
#include <gtest/gtest.h>

#include <ctime>

#include "base/file.h"
#include "driver/artifact.h"
#include "driver/emitted.h"
#include "driver/engines.h"
#include "interp/machine.h"
#include "tests/property/nests.h"
#include "tests/property/run.h"
#include "tests/support/joined_artifacts.h"

namespace relay::property {
namespace {

class DeepOnEngines : public testing::TestWithParam<Nest> {};

struct Timed {
  std::string result;  // what is inside; empty if the engine skips the program
  std::string skipped;
  std::string slug;  // of what refused it; empty if no pass did
  double seconds = 0;
};

Timed run(std::string_view engine, const Module& typed, int level) {
  driver::Options options;
  options.opt_level = level;
  options.target = target::target_of("sse2");
  Timed out;
  const std::clock_t start = std::clock();
  const driver::Prepared prepared = driver::find_engine(engine)->prepare(typed, "main", options);
  if (prepared.run) {
    const driver::Outcome outcome = prepared.run({});
    EXPECT_EQ(outcome.kind, driver::Outcome::Kind::kValue) << engine << ": " << outcome.message;
    out.result = outcome.kind == driver::Outcome::Kind::kValue ? inside(outcome.value) : "none";
    EXPECT_EQ(outcome.interpreted_calls, 0u) << engine << " at -O" << level;
  }
  out.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  out.skipped = prepared.skipped;
  if (!prepared.refusal.all().empty()) out.slug = prepared.refusal.all().front().slug().name();
  return out;
}

// A program of a part of the length takes about that part of the time. Quadratic time is eight
// times more than that.
constexpr int kPart = 8;
constexpr double kMostTimes = 3 * kPart, kNoise = 1;  // seconds that say nothing

Result<Module> typed_nest(const Nest& nest, int times) {
  std::string wrong;
  Result<Module> typed = checked(program_of(nest, times), wrong);
  EXPECT_TRUE(typed.ok()) << wrong.substr(0, 2000);
  return typed;
}

TEST_P(DeepOnEngines, JitRunsIt) {
  const Nest& nest = GetParam();
  const Result<Module> whole = typed_nest(nest, nest.times), part = typed_nest(nest, nest.times / kPart);
  ASSERT_TRUE(whole && part);
  const std::string expected = inside(interp::Machine(*whole).call("main", {}));
  for (const int level : {0, 2, 3}) {
    const double before = run("jit", *part, level).seconds;
    const Timed got = run("jit", *whole, level);
    EXPECT_EQ(got.result, expected) << "at -O" << level << got.skipped;
    EXPECT_EQ(got.slug, "") << "it runs in a weaker form at -O" << level;
    EXPECT_LT(got.seconds, kMostTimes * before + kNoise) << "at -O" << level;
  }
}

TEST_P(DeepOnEngines, GraphRunsItOrSaysWhyNot) {
  const Nest& nest = GetParam();
  const Result<Module> whole = typed_nest(nest, nest.times), part = typed_nest(nest, nest.times / kPart);
  ASSERT_TRUE(whole && part);
  const std::string expected = inside(interp::Machine(*whole).call("main", {}));
  for (const int level : {0, 2, 3}) {
    const double before = run("graph", *part, level).seconds;
    const Timed got = run("graph", *whole, level);
    EXPECT_LT(got.seconds, kMostTimes * before + kNoise) << "at -O" << level;
    if (got.result.empty()) {
      EXPECT_FALSE(nest.is_graph) << "at -O" << level << ": " << got.skipped;
      EXPECT_EQ(got.slug, "not-static-dataflow") << "at -O" << level << ": " << got.skipped;
    } else {
      EXPECT_EQ(got.result, expected) << "at -O" << level;
    }
  }
}

// A compiler takes seconds for what engines in this process take milliseconds for. So these are a
// tenth as long, and a hundredth where control nests in the code (aot/limits.h). All are in one
// library.
int compiled_times(const Nest& nest) { return nest.times / (nest.has_code ? 10 : 100); }

TEST(DeepAheadOfTime, LibraryRunsThem) {
  struct Item {
    const char* name;
    std::string expected;
    driver::Emitted emitted;
  };
  std::vector<Item> items;
  size_t without_result = 0;
  for (const Nest& nest : nests()) {
    const Result<Module> typed = typed_nest(nest, compiled_times(nest));
    ASSERT_TRUE(typed.ok());
    driver::Options options;
    options.opt_level = 0;
    options.target = target::target_of("sse2");
    driver::Emitted emitted = driver::emit_aot(*typed, "main", options);
    if (emitted.program) {
      items.push_back({nest.name, inside(interp::Machine(*typed).call("main", {})), std::move(emitted)});
      continue;
    }
    // Functions and cells are no results of artifacts.
    ++without_result;
    EXPECT_EQ(emitted.refusal.all().front().slug().name(), "not-ahead-of-time") << nest.name;
  }
  EXPECT_EQ(without_result, 4u);
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string library = folder.path() + "/model.so";
  std::vector<const aot::Sources*> sources;
  for (const Item& item : items) sources.push_back(&item.emitted.sources);
  ASSERT_EQ(tests::build_unoptimised(tests::joined(sources, kernel::print::kCppDialect), library), "");
  for (size_t i = 0; i < items.size(); ++i) {
    driver::Artifact artifact;
    ASSERT_EQ(artifact.open(library, 1, tests::joined_entry(i)), "") << items[i].name;
    EXPECT_EQ(inside(artifact.run(*items[i].emitted.program, {})), items[i].expected) << items[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DeepOnEngines, testing::ValuesIn(nests()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::property
