// The node tests of ONNX on the engines that compile, at -O0 and -O2, and at -O2 with two threads,
// which share all loops that they can: by themselves the tensors are too small. At -O0 no kernel
// has a loop to share.
//
// The interpreter gives what ONNX wants (node_test.cc), and each engine has to give what the
// interpreter gives, within the bounds of docs/semantics.md. Tests are compiled in batches
// (engine_batch.h). What an engine skips is in node_skips.txt; what it is known to compute
// wrongly is listed here.
//
// RELAY_NODE_TESTS=softmax runs the tests with this in their names.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/cat.h"
#include "base/stopwatch.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "tests/conformance/engine_batch.h"
#include "tests/conformance/node_data.h"
#include "tests/support/engine_skips.h"
#include "tests/support/own_cache.h"
#include "tests/support/parallel_kernels.h"
#include "tests/support/uncapped.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// The tests that an engine is not for, by "engine test", with the slug that says why.
constexpr const char* kSkipsList = "tests/conformance/node_skips.txt";
using Skips = std::map<std::string, std::string>;

// Lines like "graph not-static-dataflow node/test_if".
const Skips& listed_skips() {
  static const Skips all = [] {
    Skips out;
    std::ifstream in(kSkipsList);
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string engine, slug, test;
      words >> engine >> slug >> test;
      EXPECT_TRUE(may_skip(engine, slug)) << kSkipsList << ": " << line;
      EXPECT_TRUE(out.emplace(cat(engine, " ", test), slug).second)
          << kSkipsList << " has it twice: " << line;
    }
    return out;
  }();
  return all;
}

// What an engine is known to compute wrongly, with the reason. A test that passes
// must leave the list.
struct Known {
  std::string_view engine, test, reason;
};
constexpr std::array<Known, 0> kKnown = {};

bool is_known(std::string_view engine, std::string_view test) {
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](const Known& k) { return k.engine == engine && k.test == test; });
}

std::string selection() {
  const char* given = std::getenv("RELAY_NODE_TESTS");
  return given ? given : "";
}

std::vector<std::string> listed() {
  std::vector<std::string> out;
  std::ifstream in(kNodeTestsList);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#' && line.find(selection()) != std::string::npos) out.push_back(line);
  }
  return out;
}

// Compiled engines are given constant shapes, as by `relay verify`.
EngineTest load(const std::string& name, const Module& empty) {
  CaseRefusal why;
  std::optional<NodeCase> test = load_node_test(name, empty, /*is_open=*/false, why);
  if (!test) throw std::runtime_error(cat(name, ": ", why.reason));
  const Value want = interp::Machine(test->module).call("main", test->args);
  driver::Wanted wanted = driver::wanted_of(test->module, "main", test->args, want);
  return {name, test->module, std::move(test->args), std::move(wanted)};
}

// All that are listed, in one context, so that several can be made one program.
const std::vector<EngineTest>& node_tests() {
  static const std::vector<EngineTest> all = [] {
    const Module empty;
    std::vector<EngineTest> out;
    for (const std::string& name : listed()) out.push_back(load(name, empty));
    return out;
  }();
  return all;
}

struct Setting {
  std::string_view engine;
  int level, threads;
};

class NodeTestsOnEngines : public testing::TestWithParam<Setting> {};

TEST_P(NodeTestsOnEngines, AgreeWithTheInterpreter) {
  // `graph` runs the kernels of `jit`.
  [[maybe_unused]] static const bool kept = (keep_what_is_compiled(), true);
  if (!fs::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  const auto& [engine, level, threads] = GetParam();
  const std::vector<EngineTest>& tests = node_tests();
  ASSERT_FALSE(tests.empty()) << "no test has `" << selection() << "` in its name";
  const Stopwatch watch;
  std::map<std::string, size_t> skipped;
  size_t agreed = 0;
  const auto judge = [&](const EngineTest& test, const driver::VerifyRow& row, std::span<const Tensor>) {
    const auto skip = listed_skips().find(cat(engine, " ", test.name));
    const std::string slug = skip == listed_skips().end() ? "" : skip->second;
    EXPECT_EQ(row.skipped.empty() ? "" : row.slug, slug)
        << "why the engine skips " << test.name << ": if that is right, " << kSkipsList << " needs the line\n"
        << (row.skipped.empty() ? "(none)" : cat(engine, " ", row.slug, " ", test.name)) << "\n"
        << row.skipped;
    if (!row.skipped.empty()) {
      ++skipped[row.slug];
      return;
    }
    agreed += row.ok;
    EXPECT_EQ(row.interpreted_calls, 0u) << test.name;
    EXPECT_EQ(row.weaker, "") << test.name << " is not lowered";
    if (is_known(engine, test.name)) {
      EXPECT_FALSE(row.ok) << test.name << " passes now: take it off the list of this file";
    } else {
      EXPECT_TRUE(row.ok) << test.name << ": " << row.trouble();
    }
  };
  ParallelKernels kernels;
  run_on_engine(*driver::find_engine(engine), on_threads({.opt_level = level}, threads, kernels), tests,
                judge,
                [&](const EngineTest& test) { return listed_skips().contains(cat(engine, " ", test.name)); });
  std::printf("%.*s -O%d, %d threads: %zu of %zu agree, in %.1f s\n", static_cast<int>(engine.size()),
              engine.data(), level, threads, agreed, tests.size(), watch.seconds());
  if (threads > 1) {
    std::printf("  %zu of %zu kernels have a parallel loop\n", kernels.parallel(), kernels.all());
    EXPECT_TRUE(kernels.parallel() > 0 || !selection().empty());
  }
  for (const auto& [slug, count] : skipped) std::printf("  skipped %zu  %s\n", count, slug.c_str());
}

// A name that no test has would never be noticed above.
TEST(NodeSkips, AreOfTestsThatAreRun) {
  std::set<std::string> names;
  std::ifstream in(kNodeTestsList);
  for (std::string line; std::getline(in, line);) names.insert(line);
  EXPECT_FALSE(listed_skips().empty());
  for (const auto& [key, slug] : listed_skips())
    EXPECT_TRUE(names.contains(key.substr(key.find(' ') + 1))) << kSkipsList << ": " << key;
}

// node_uncapped.txt names the tests whose bounds have no cap.
TEST(NodeBounds, AreCapped) {
  if (!fs::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  UncappedList list("tests/conformance/node_uncapped.txt");
  for (const EngineTest& test : node_tests()) {
    for (const std::string_view why : test.wanted.uncapped) list.saw(test.name, why);
  }
  if (selection().empty()) list.finish("");
}

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const std::string_view engine : {"jit", "graph", "aot-cpp", "aot-cuda"}) {
    for (const int level : {0, 2}) out.push_back({engine, level, 1});
  }
  // A GPU has threads of its own. GoogleTest deals settings out to two shards one by one: `graph`
  // finds what `jit` compiled.
  for (const std::string_view engine : {"jit", "aot-cpp", "graph"}) out.push_back({engine, 2, 2});
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, NodeTestsOnEngines, testing::ValuesIn(settings()), [](const auto& info) {
  std::string name = cat(info.param.engine, "_O", info.param.level, "_threads", info.param.threads);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace relay::tests
