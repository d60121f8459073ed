// The node tests of ONNX on the engines that compile, at -O0 and -O2, with one thread and with two.
//
// The interpreter gives what ONNX wants (node_test.cc), and each engine has to give what the
// interpreter gives, within the bounds of docs/semantics.md. Tests are compiled in batches
// (tools/verify/batches.h). What an engine may skip, and what it is known to compute
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
#include "driver/row.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "ir/builder.h"
#include "passes/reference.h"
#include "tests/conformance/models.h"
#include "tests/support/engine_skips.h"
#include "tools/model.h"
#include "tools/verify/batches.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// Tests that need what an engine is not for: 24 have an extent that depends on data, and 5
// have control flow.
size_t skips_of(std::string_view engine) { return engine == "graph" ? 29 : 0; }

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

struct NodeTest {
  std::string name;
  Module module;
  std::vector<Value> args;
  std::vector<Tensor> wanted;  // of the interpreter
  std::vector<Bound> bounds;
};

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

NodeTest load(const std::string& name, const Module& empty) {
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
const std::vector<NodeTest>& node_tests() {
  static const std::vector<NodeTest> all = [] {
    const Module empty;
    std::vector<NodeTest> out;
    for (const std::string& name : listed()) out.push_back(load(name, empty));
    return out;
  }();
  return all;
}

// One program whose @main takes the arguments of all tests, and gives the tensors of all
// results in a row.
Module joined(std::span<const NodeTest* const> tests) {
  Module out = tests[0]->module;
  Builder b(out.context());
  std::vector<const Var*> params;
  std::vector<Expr> results;
  for (const NodeTest* t : tests) {
    const Fn& main = *t->module.function("main");
    params.insert(params.end(), main.params.begin(), main.params.end());
    const auto* tuple = main.body->type->as<TupleType>();
    if (!tuple) results.push_back(main.body);
    for (uint32_t i = 0; tuple && i < tuple->fields.size(); ++i) results.push_back(b.proj(main.body, i));
  }
  out.set_function("main", b.fn(params, results.size() == 1 ? results[0] : b.tuple(results)));
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(out, diagnostics);
  if (!checked) throw std::runtime_error(diagnostics.render(out.context().sources()));
  return *checked;
}

// The row of each test of a batch. False if the batch has no result and must be taken apart.
bool run_batch(const driver::Engine& engine, const driver::Options& options,
               std::span<const NodeTest* const> tests, std::vector<driver::VerifyRow>& rows) {
  const bool alone = tests.size() == 1;
  const auto fail = [&](const std::string& why) {
    rows.push_back({.engine = std::string(engine.name), .failed = why, .ok = false});
    return true;
  };
  driver::Outcome outcome;
  driver::VerifyRow about{.engine = std::string(engine.name)};  // what is so of a test that is alone
  try {
    const driver::Prepared prepared = engine.prepare(joined(tests), "main", options);
    if (!alone && (!prepared.run || !prepared.refusal.all().empty())) return false;
    about.prepare(prepared);
    if (!prepared.run) {
      rows.push_back(about);
      return true;
    }
    std::vector<Value> args;
    for (const NodeTest* t : tests) args.insert(args.end(), t->args.begin(), t->args.end());
    outcome = prepared.run(args);
  } catch (const driver::CannotPrepare& e) {
    return alone ? fail(e.what()) : false;
  }
  if (outcome.kind != driver::Outcome::Kind::kValue) return alone ? fail(outcome.message) : false;
  if (!alone && outcome.interpreted_calls > 0) return false;
  about.interpreted_calls = outcome.interpreted_calls;
  const std::vector<Tensor> got = passes::tensors_of(outcome.value);
  size_t next = 0;
  for (const NodeTest* t : tests) {
    driver::VerifyRow row = about;
    for (size_t i = 0; i < t->wanted.size(); ++i, ++next)
      row.add(compare(got[next], t->wanted[i], t->bounds[i]), cat("output ", i), t->wanted[i].shape());
    rows.push_back(std::move(row));
  }
  return true;
}

struct Setting {
  std::string_view engine;
  int level, threads;
};

class NodeTestsOnEngines : public testing::TestWithParam<Setting> {};

TEST_P(NodeTestsOnEngines, AgreeWithTheInterpreter) {
  if (!fs::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  const auto& [engine, level, threads] = GetParam();
  std::vector<const NodeTest*> tests;
  for (const NodeTest& t : node_tests()) tests.push_back(&t);
  ASSERT_FALSE(tests.empty()) << "no test has `" << selection() << "` in its name";
  const Stopwatch watch;
  std::map<std::string, size_t> skipped;
  size_t agreed = 0;
  tools::run_in_batches(tests.size(), [&](size_t begin, size_t end) {
    const std::span batch = std::span(tests).subspan(begin, end - begin);
    std::vector<driver::VerifyRow> rows;
    if (!run_batch(*driver::find_engine(engine), {.opt_level = level, .threads = threads}, batch, rows))
      return false;
    for (size_t i = 0; i < batch.size(); ++i) {
      const driver::VerifyRow& row = rows[i];
      const std::string& name = batch[i]->name;
      if (!row.skipped.empty()) {
        ++skipped[row.slug];
        EXPECT_TRUE(may_skip(engine, row.slug))
            << name << " is skipped: [" << row.slug << "] " << row.skipped;
        continue;
      }
      agreed += row.ok;
      EXPECT_EQ(row.interpreted_calls, 0u) << name;
      EXPECT_EQ(row.weaker, "") << name << " is not lowered";
      if (is_known(engine, name)) {
        EXPECT_FALSE(row.ok) << name << " passes now: take it off the list of this file";
      } else {
        EXPECT_TRUE(row.ok) << name << ": " << row.trouble();
      }
    }
    return true;
  });
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
