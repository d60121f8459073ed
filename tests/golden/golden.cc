// Runs tests/golden: the text of an input against the text that is expected of it. `--update` rewrites expectations.
//
// Commands (the RUN line): parse, check, opt --passes=..., lower [-O N], plan [-O N], and on a section `pattern`:
// match and partition, with the input, and pattern, without. What is compared is the printed module, or the
// diagnostics if there are errors; names of inputs that must fail begin with fail_.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/diagnostics.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "pattern/partition.h"
#include "pattern/text.h"
#include "tests/support/test_file.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

bool update = false;

struct Command {
  std::string name, passes;
  int opt_level = 2;
};

Command command_of(const TestFile& file) {
  std::istringstream words(file.command);
  Command c;
  words >> c.name;
  for (std::string w; words >> w;) {
    if (w.starts_with("--passes=")) c.passes = w.substr(9);
    if (w.starts_with("-O")) c.opt_level = std::atoi(w.c_str() + 2);
  }
  return c;
}

std::string kernels_of(const Module& m) {
  std::string out;
  for (const auto& [name, kernel] : m.kernels()) out += show(*kernel) + "\n";
  return out;
}

// The expressions of @main that match, by their texts in the source, and what each name is bound to.
std::string matches_of(const Module& m, const pattern::Pattern& p) {
  const SourceMap& sources = m.context().sources();
  const auto source = [&](Expr e) {
    return std::string(sources.text(e->span.file).substr(e->span.begin, e->span.end - e->span.begin));
  };
  std::string out;
  const pattern::Graph graph(m.function("main"));
  pattern::Matcher matcher(p, graph);
  for (Expr e : graph.order()) {
    const std::optional<pattern::Match> found = matcher.match(e);
    if (!found) continue;
    out += source(e) + "\n";
    for (const pattern::Match::Binding& b : found->bindings()) {
      if (!b.part->name.empty()) out += "  %" + b.part->name + ": " + source(b.e) + "\n";
    }
  }
  return out;
}

// The commands about patterns, on a module that was checked.
std::string run_pattern(const Command& c, const Module& m, const std::string& text,
                        Diagnostics& diagnostics) {
  ParseOptions options;
  options.into = m;
  const Result<pattern::Pattern> p = pattern::parse("pattern", text, diagnostics, options);
  if (!p) return "";
  return c.name == "match" ? matches_of(m, *p) : op::text_of(pattern::partition(m, *p));
}

std::string reprinted(const std::string& name, const std::string& text, const ParseOptions& options,
                      Diagnostics& diagnostics) {
  const Result<pattern::Pattern> p = pattern::parse(name, text, diagnostics, options);
  if (!p) return "";
  const std::string printed = pattern::print(*p);
  Diagnostics none;
  const Result<pattern::Pattern> again = pattern::parse("printed", printed, none, options);
  EXPECT_TRUE(again && pattern::print(*again) == printed) << name << ": does not survive printing:\n"
                                                          << printed;
  return printed + "\n";
}

// The text that the command prints; errors go to `diagnostics`.
std::string run(const Command& c, const TestFile& file, const std::string& input, Diagnostics& diagnostics,
                const SourceMap*& sources) {
  const std::string& path = file.path;
  ParseOptions options;
  sources = &options.into.context().sources();
  static std::vector<Module> keep;  // the sources that diagnostics point into must outlive them
  keep.push_back(options.into);
  const std::string name = std::filesystem::path(path).filename();
  if (c.name == "pattern") return reprinted(name, input, options, diagnostics);
  Result<Module> m = parse(name, input, diagnostics, op::operators(), options);
  if (!m) return "";
  if (c.name == "parse") {
    const std::string printed = op::text_of(*m, {});
    Diagnostics again;
    Result<Module> reparsed = parse("printed", printed, again, op::operators(), {});
    EXPECT_TRUE(reparsed && alpha_equal(*m, *reparsed)) << path << ": does not survive printing:\n"
                                                        << printed;
    return printed;
  }
  if (c.name == "check") {
    Result<Module> checked = typecheck::check(*m, diagnostics);
    return checked ? op::text_of(*checked) : "";
  }
  if (c.name == "match" || c.name == "partition") {
    const std::string* pattern = file.find("pattern");
    const Result<Module> checked = typecheck::check(*m, diagnostics);
    EXPECT_TRUE(pattern) << path << ": has no section `pattern`";
    return pattern && checked ? run_pattern(c, *checked, *pattern, diagnostics) : "";
  }
  passes::RunnerOptions run_options;
  run_options.verify = passes::Verify::kTypes;
  run_options.target.parallel = false;
  run_options.target.opt_level = c.opt_level;
  const std::string pipeline = c.name == "opt" ? c.passes : passes::default_pipeline(c.opt_level);
  Result<Module> done = passes::run_pipeline(*m, pipeline, run_options, diagnostics);
  if (!done) return "";
  if (c.name == "opt") return op::text_of(*done);
  if (c.name == "lower") return kernels_of(*done);
  if (c.name == "plan") {
    Result<passes::Plan> plan = passes::plan_memory(*done, "main", diagnostics);
    return plan ? passes::show(*plan) : "";
  }
  ADD_FAILURE() << path << ": there is no command `" << c.name << "`";
  return "";
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    TestFile file = read_test_file(path_);
    const std::string section = command_of(file).name == "pattern" ? "pattern" : "input";
    const std::string* input = file.find(section);
    ASSERT_NE(input, nullptr) << path_ << ": has no section `" << section << "`";
    Diagnostics diagnostics;
    const SourceMap* sources = nullptr;
    std::string got = run(command_of(file), file, *input, diagnostics, sources);
    const bool must_fail = std::filesystem::path(path_).filename().string().starts_with("fail_");
    EXPECT_EQ(diagnostics.has_errors(), must_fail) << path_ << ":\n" << diagnostics.render(*sources);
    if (!diagnostics.all().empty()) got = diagnostics.render(*sources) + got;
    const std::string* want = file.find("output");
    if (want && *want == got) return;
    if (update) {
      file.set("output", got);
      std::ofstream(path_) << file.text();
      return;
    }
    EXPECT_EQ(got, want ? *want : "") << path_ << ": run `./dev update` and read the difference";
  }

 private:
  std::string path_;
};

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) relay::tests::update |= std::string_view(argv[i]) == "--update";
  // Under `bazel run` the files to rewrite are those of the checkout.
  if (const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY"))
    std::filesystem::current_path(workspace);
  for (const std::string& path : relay::tests::test_files_beneath("tests/golden")) {
    const std::filesystem::path p(path);
    testing::RegisterTest(p.parent_path().filename().c_str(), p.stem().c_str(), nullptr, nullptr, __FILE__,
                          __LINE__,
                          [path]() -> testing::Test* { return new relay::tests::GoldenTest(path); });
  }
  return RUN_ALL_TESTS();
}
