// Runs node cases of the `onnx` wheel on engines, and prints a line of JSON for each verdict.
//
//   run_cases [--open] SETTING,... FOLDER...      settings: interp, jit:0, aot-cpp:2, ...
//   {"case": "test_abs", "setting": "jit:2", "verdict": "pass"}
//
// `./dev conformance` (tests/conformance/cases) starts it and reads the lines. If it dies, the
// caller halves the list of folders until the case to blame is alone.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "base/json_text.h"
#include "base/stopwatch.h"
#include "driver/engines.h"
#include "driver/tolerance.h"
#include "tests/conformance/engine_batch.h"
#include "tests/conformance/node_case.h"
#include "tests/support/engine_skips.h"
#include "tests/support/own_cache.h"

namespace relay::tests {
namespace {

struct Setting {
  std::string text;
  const driver::Engine* engine = nullptr;
  int level = 0;
};

// What is said of one case on one engine. A refusal has a slug.
struct Said {
  std::string_view verdict;
  std::string slug = {}, reason = {};
  bool blames_model = false, weaker = false;
};

void print(const nlohmann::ordered_json& line) {
  std::printf("%s\n", json_text(line).c_str());
  std::fflush(stdout);  // the lines before a crash count
}

void tell(const std::string& name, std::string_view setting, const Said& said) {
  nlohmann::ordered_json line = {{"case", name}, {"setting", setting}, {"verdict", said.verdict}};
  if (!said.slug.empty()) line["slug"] = said.slug;
  if (!said.reason.empty()) line["reason"] = said.reason;
  if (said.blames_model) line["blames_model"] = true;
  if (said.weaker) line["weaker"] = true;
  print(line);
}

// A case that was imported, and what the interpreter gives.
struct Loaded {
  NodeCase wanted;
  EngineTest test;
};

// What engines have to give. Where there is no reference, as for a program that reaches a limit in
// float64, the interpreter's result to the bit.
driver::Wanted wanted_of(const NodeCase& c, const Value& result) {
  try {
    return driver::wanted_of(c.module, "main", c.args, result);
  } catch (const Trap&) {
  } catch (const Exhausted&) {
  }
  return driver::Wanted::exact(result);
}

// Tells what the interpreter does. Returns nullopt if it has no result for the engines to compare.
std::optional<Loaded> interpret(const std::string& name, NodeCase c) {
  const driver::Outcome outcome = driver::find_engine("interp")->prepare(c.module, "main", {}).run(c.args);
  if (outcome.kind != driver::Outcome::Kind::kValue) {
    tell(name, "interp", {"wrong", "", outcome.message});
    return std::nullopt;
  }
  driver::Wanted wanted = wanted_of(c, outcome.value);
  const std::string wrong = wrong_result(c, wanted.own, wanted.bounds);
  tell(name, "interp", {wrong.empty() ? "pass" : "wrong", "", wrong});
  Loaded out{std::move(c), {}};
  out.test = {name, out.wanted.module, out.wanted.args, std::move(wanted)};
  return out;
}

std::vector<Loaded> load(std::span<const std::string> folders, bool is_open) {
  std::vector<Loaded> out;
  const Module empty;
  for (const std::string& folder : folders) {
    const std::string name = std::filesystem::path(folder).filename().string();
    CaseRefusal why;
    std::optional<NodeCase> read;
    try {
      read = load_case(folder, empty, is_open, why);
    } catch (const std::runtime_error& e) {  // a trap of the extents, or a folder that is none of ours
      tell(name, "import", {"wrong", "", e.what()});
      continue;
    }
    if (!read) {
      tell(name, "import", {"refused", why.slug, why.reason, why.blames_model});
      continue;
    }
    if (std::optional<Loaded> loaded = interpret(name, std::move(*read))) out.push_back(std::move(*loaded));
  }
  return out;
}

// An engine is right if it gives what ONNX wants, and what the interpreter gives.
Said said_of(const NodeCase& wanted, const EngineTest& test, const driver::VerifyRow& row,
             std::span<const Tensor> got) {
  const bool weaker = !row.weaker.empty() || row.interpreted_calls > 0;
  if (!row.skipped.empty())
    return {may_skip(row.engine, row.slug) ? "skipped" : "refused", row.slug, row.skipped};
  if (!row.ok) return {"wrong", "", row.trouble()};
  const std::string wrong = wrong_result(wanted, {got.begin(), got.end()}, test.wanted.bounds);
  return {wrong.empty() ? "pass" : "wrong", "", wrong, false, weaker};
}

void run_setting(const Setting& setting, std::span<const Loaded> cases) {
  const Stopwatch watch;
  std::vector<EngineTest> tests;
  for (const Loaded& c : cases) tests.push_back(c.test);
  run_on_engine(*setting.engine, {.opt_level = setting.level}, tests,
                [&](const EngineTest& test, const driver::VerifyRow& row, std::span<const Tensor> got) {
                  const auto at = std::find_if(cases.begin(), cases.end(),
                                               [&](const Loaded& c) { return c.test.name == test.name; });
                  tell(test.name, setting.text, said_of(at->wanted, test, row, got));
                });
  print({{"setting", setting.text}, {"seconds", watch.seconds()}});
}

// "jit:2" or "interp". Nothing if there is no such engine or level.
std::optional<Setting> setting_of(const std::string& text) {
  const size_t colon = text.find(':');
  Setting out{text, driver::find_engine(text.substr(0, colon))};
  if (!out.engine) return std::nullopt;
  if (colon == std::string::npos) return out;
  if (text.size() != colon + 2 || text[colon + 1] < '0' || text[colon + 1] > '3') return std::nullopt;
  out.level = text[colon + 1] - '0';
  return out;
}

int run(std::span<const std::string> words) {
  const bool is_open = !words.empty() && words[0] == "--open";
  if (is_open) words = words.subspan(1);
  if (words.size() < 2) {
    std::fprintf(stderr, "usage: run_cases [--open] SETTING,... FOLDER...\n");
    return 2;
  }
  std::vector<Setting> settings;
  for (size_t begin = 0; begin <= words[0].size();) {
    const size_t end = std::min(words[0].find(',', begin), words[0].size());
    const std::optional<Setting> setting = setting_of(words[0].substr(begin, end - begin));
    if (!setting) {
      std::fprintf(stderr, "run_cases: no engine or level in `%s`\n", words[0].c_str());
      return 2;
    }
    settings.push_back(*setting);
    begin = end + 1;
  }
  const Stopwatch watch;
  const std::vector<Loaded> cases = load(words.subspan(1), is_open);
  print({{"setting", "interp"}, {"seconds", watch.seconds()}});
  for (const Setting& s : settings) {
    if (s.engine->compiles) run_setting(s, cases);
  }
  return 0;
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  relay::tests::keep_what_is_compiled();  // `graph` runs the kernels of `jit`
  return relay::tests::run(words);
}
