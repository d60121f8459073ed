// Times reading, checking and printing of large texts and the pipelines of the levels, and counts
// what the module and its types take of memory.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/json_text.h"
#include "bench/language/texts.h"
#include "ir/module.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/traverse.h"
#include "op/operators.h"
#include "passes/pipeline.h"
#include "passes/runner.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "typecheck/check.h"

namespace relay::bench {
namespace {

// Of the processor, so that what else the machine does counts less.
double seconds(const std::function<void()>& f) {
  const std::clock_t start = std::clock();
  f();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// What the allocator has given out.
int64_t in_use() {
  const struct mallinfo2 m = ::mallinfo2();
  return static_cast<int64_t>(m.uordblks + m.hblkhd);
}

struct Row {
  std::string name;
  size_t nodes = 0, bytes = 0;
  double parse = 0, check = 0, print = 0;  // seconds, the median
  int64_t memory = 0;                      // bytes of the first round, module and types together
  std::vector<double> passes;              // seconds of each level's pipeline, once; empty: not run
};

// The pipelines whose times are shown.
constexpr int kLevels[] = {2, 3};

size_t expressions(const Module& m) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  return post_order(roots).size();
}

double seconds_of_pipeline(const Module& m, int level) {
  Diagnostics diagnostics;
  Result<Module> passed = kReported;
  const double s =
      seconds([&] { passed = passes::run_pipeline(m, passes::default_pipeline(level), {}, diagnostics); });
  if (!passed) {
    throw std::runtime_error(
        cat("-O", level, ": ", diagnostics.all().empty() ? "" : diagnostics.all().front().message()));
  }
  return s;
}

Row measure(const Text& text, int nodes, int rounds, int most_passed) {
  const std::string source = text.make(nodes);
  Row row{std::string(text.name), 0, source.size()};
  std::vector<double> parse_s, check_s, print_s;
  for (int i = 0; i < rounds; ++i) {
    const int64_t before = in_use();
    Diagnostics diagnostics;
    Result<Module> parsed = kReported, checked = kReported;
    parse_s.push_back(
        seconds([&] { parsed = parse("bench.relay", source, diagnostics, op::operators(), {}); }));
    if (parsed) check_s.push_back(seconds([&] { checked = typecheck::check(*parsed, diagnostics); }));
    if (!checked)
      throw std::runtime_error(cat("the text `", text.name, "` is wrong: ",
                                   diagnostics.all().empty() ? "" : diagnostics.all().front().message()));
    if (i == 0) row.memory = in_use() - before;
    std::string printed;
    print_s.push_back(seconds([&] { printed = op::text_of(*checked); }));
    row.nodes = expressions(*checked);
    if (i > 0 || nodes > most_passed) continue;
    for (const int level : kLevels) row.passes.push_back(seconds_of_pipeline(*checked, level));
  }
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  row.parse = median(parse_s);
  row.check = median(check_s);
  row.print = median(print_s);
  return row;
}

// Time grows with the nodes to this power, from the smallest row that has it to the largest.
std::string exponent(const std::vector<Row>& rows, const std::function<double(const Row&)>& time_of) {
  std::vector<const Row*> timed;
  for (const Row& r : rows) {
    if (time_of(r) > 0) timed.push_back(&r);
  }
  if (timed.size() < 2) return "-";
  const Row &first = *timed.front(), &last = *timed.back();
  return fmt::format("{:.2f}",
                     std::log(time_of(last) / time_of(first)) /
                         std::log(static_cast<double>(last.nodes) / static_cast<double>(first.nodes)));
}

double passes_of(const Row& r, size_t level) { return level < r.passes.size() ? r.passes[level] : 0; }

void print_heads() {
  fmt::print("{:<18}{:>9}{:>9}{:>10}{:>10}{:>10}", "text", "nodes", "MB", "parse s", "check s", "print s");
  for (const int level : kLevels) fmt::print("{:>10}", cat("-O", level, " s"));
  fmt::print("{:>12}{:>14}\n", "us a node", "bytes a node");
}

void print_row(const Row& r) {
  const double n = static_cast<double>(r.nodes);
  fmt::print("{:<18}{:>9}{:>9.2f}{:>10.3f}{:>10.3f}{:>10.3f}", r.name, r.nodes,
             static_cast<double>(r.bytes) / 1e6, r.parse, r.check, r.print);
  for (size_t k = 0; k < std::size(kLevels); ++k) {
    fmt::print("{:>10}", r.passes.empty() ? "-" : fmt::format("{:.3f}", r.passes[k]));
  }
  fmt::print("{:>12.2f}{:>14.0f}\n", (r.parse + r.check) / n * 1e6, static_cast<double>(r.memory) / n);
  std::fflush(stdout);
}

// 1 is linear.
void print_exponents(const std::vector<Row>& rows) {
  fmt::print("{:<18}{:>9}{:>9}{:>10}{:>10}{:>10}", "  exponent", "", "",
             exponent(rows, [](const Row& r) { return r.parse; }),
             exponent(rows, [](const Row& r) { return r.check; }),
             exponent(rows, [](const Row& r) { return r.print; }));
  for (size_t k = 0; k < std::size(kLevels); ++k) {
    fmt::print("{:>10}", exponent(rows, [k](const Row& r) { return passes_of(r, k); }));
  }
  fmt::print("\n");
}

nlohmann::ordered_json json_of(const Row& r) {
  nlohmann::ordered_json out{{"text", r.name},     {"nodes", r.nodes},   {"bytes", r.bytes},
                             {"parse_s", r.parse}, {"check_s", r.check}, {"print_s", r.print},
                             {"memory", r.memory}};
  for (size_t k = 0; k < r.passes.size(); ++k) out[cat("o", kLevels[k], "_s")] = r.passes[k];
  return out;
}

int run(int argc, char** argv) {
  tools::CommandLine line("How long large texts take to be read, checked, printed and optimised.");
  tools::Command app = line.program();
  std::vector<int> sizes{10'000, 100'000, 1'000'000};
  int rounds = 5, most_passed = 100'000;
  bool json = false;
  app.option("--nodes", &sizes, "about how many expressions")
      .separated_by_commas()
      .check(tools::count(100, 10'000'000));
  app.option("--rounds", &rounds, "of which the median counts").check(tools::count(1, 1000)).shows_default();
  app.option("--most-passed", &most_passed,
             "no pipeline runs on a text with more expressions; once on others")
      .check(tools::count(0, 10'000'000))
      .shows_default();
  app.flag("--json", &json, "the rows as JSON");
  if (const std::optional<int> code = line.parse_or_report(argc, argv)) return *code;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json) print_heads();
  for (const Text& text : texts()) {
    std::vector<Row> of_text;
    for (int nodes : sizes) {
      of_text.push_back(measure(text, nodes, rounds, most_passed));
      if (json)
        rows.push_back(json_of(of_text.back()));
      else
        print_row(of_text.back());
    }
    if (!json) print_exponents(of_text);
  }
  if (json) fmt::print("{}\n", json_text(rows, 2));
  return 0;
}

}  // namespace
}  // namespace relay::bench

int main(int argc, char** argv) {
  try {
    return relay::bench::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "language: %s\n", e.what());
    return 1;
  }
}
