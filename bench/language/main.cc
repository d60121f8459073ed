// Times reading, checking and printing of large texts, and counts what the module and its
// types take of memory.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
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
};

size_t expressions(const Module& m) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  return post_order(roots).size();
}

Row measure(const Text& text, int nodes, int rounds) {
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

int run(int argc, char** argv) {
  tools::CommandLine line("How long large texts take to be read, checked and printed.");
  tools::Command app = line.program();
  std::vector<int> sizes{10'000, 100'000, 1'000'000};
  int rounds = 5;
  bool json = false;
  app.option("--nodes", &sizes, "about how many expressions")
      .separated_by_commas()
      .check(tools::count(100, 10'000'000));
  app.option("--rounds", &rounds, "of which the median counts").check(tools::count(1, 1000)).shows_default();
  app.flag("--json", &json, "the rows as JSON");
  if (const std::optional<int> code = line.parse_or_report(argc, argv)) return *code;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json) {
    fmt::print("{:<18}{:>9}{:>9}{:>10}{:>10}{:>10}{:>12}{:>12}\n", "text", "nodes", "MB", "parse s",
               "check s", "print s", "us a node", "bytes a node");
  }
  for (const Text& text : texts()) {
    for (int nodes : sizes) {
      const Row r = measure(text, nodes, rounds);
      const double both = r.parse + r.check, n = static_cast<double>(r.nodes);
      if (json) {
        rows.push_back({{"text", r.name},
                        {"nodes", r.nodes},
                        {"bytes", r.bytes},
                        {"parse_s", r.parse},
                        {"check_s", r.check},
                        {"print_s", r.print},
                        {"memory", r.memory}});
        continue;
      }
      fmt::print("{:<18}{:>9}{:>9.2f}{:>10.3f}{:>10.3f}{:>10.3f}{:>12.2f}{:>12.0f}\n", r.name, r.nodes,
                 static_cast<double>(r.bytes) / 1e6, r.parse, r.check, r.print, both / n * 1e6,
                 static_cast<double>(r.memory) / n);
      std::fflush(stdout);
    }
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
