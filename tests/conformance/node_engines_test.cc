// The node tests of ONNX on the engines that compile, at -O0 and -O2, with one thread and with two.
//
// The interpreter gives what ONNX wants (node_test.cc), and each engine has to give what the
// interpreter gives, within the bounds of docs/semantics.md. Tests are compiled in batches
// (engine_batch.h). What an engine may skip, and what it is known to compute
// wrongly, is listed here.
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

#include "base/cat.h"
#include "base/stopwatch.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "passes/reference.h"
#include "tests/conformance/engine_batch.h"
#include "tests/conformance/models.h"
#include "tests/support/engine_skips.h"
#include "tools/model.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// Tests that need what an engine is not for: 36 have an extent that depends on data, and 89 have
// control flow, most of them because an axis is an input.
size_t skips_of(std::string_view engine) { return engine == "graph" ? 125 : 0; }

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

EngineTest load(const std::string& name, const Module& empty) {
  const std::string folder = cat(kNodeTests, "/", name), data = folder + "/test_data_set_0";
  Verdict why;
  std::optional<ModelTest> read = load_test(folder + "/model.onnx", data, data, empty, {}, why);
  if (!read) throw std::runtime_error(cat(name, ": ", why.reason));
  // Compiled engines are given constant shapes, as by `relay verify`.
  tools::Session session;
  const Result<driver::Model> model =
      tools::specialise({.module = read->module, .function = "main"}, read->args, session);
  if (!model) throw std::runtime_error(cat(name, ": its shape variables cannot be bound"));
  const Value want = interp::Machine(model->module).call("main", read->args);
  std::vector<Bound> bounds = driver::bounds_for(model->module, "main", read->args, want);
  return {name, model->module, std::move(read->args), passes::tensors_of(want), std::move(bounds)};
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
  if (!fs::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  const auto& [engine, level, threads] = GetParam();
  const std::vector<EngineTest>& tests = node_tests();
  ASSERT_FALSE(tests.empty()) << "no test has `" << selection() << "` in its name";
  const Stopwatch watch;
  std::map<std::string, size_t> skipped;
  size_t agreed = 0;
  const auto judge = [&](const EngineTest& test, const driver::VerifyRow& row, std::span<const Tensor>) {
    if (!row.skipped.empty()) {
      ++skipped[row.slug];
      EXPECT_TRUE(may_skip(engine, row.slug))
          << test.name << " is skipped: [" << row.slug << "] " << row.skipped;
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
  run_on_engine(*driver::find_engine(engine), {.opt_level = level, .threads = threads}, tests, judge);
  std::printf("%.*s -O%d, %d threads: %zu of %zu agree, in %.1f s\n", static_cast<int>(engine.size()),
              engine.data(), level, threads, agreed, tests.size(), watch.seconds());
  size_t all_skipped = 0;
  for (const auto& [slug, count] : skipped) {
    std::printf("  skipped %zu  %s\n", count, slug.c_str());
    all_skipped += count;
  }
  if (selection().empty()) {
    EXPECT_EQ(all_skipped, skips_of(engine));
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const std::string_view engine : {"jit", "graph", "aot-cpp", "aot-cuda"}) {
    for (const int level : {0, 2}) {
      out.push_back({engine, level, 1});
      if (engine != "aot-cuda") out.push_back({engine, level, 2});  // a GPU has threads of its own
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, NodeTestsOnEngines, testing::ValuesIn(settings()), [](const auto& info) {
  std::string name = cat(info.param.engine, "_O", info.param.level, "_threads", info.param.threads);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace relay::tests
