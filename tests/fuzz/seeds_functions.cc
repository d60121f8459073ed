// Seeds that are run: each function of the tests' programs by itself, so that a mutation which is
// refused takes no other one with it.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/diagnostics.h"
#include "ir/function_graph.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/expand_grad.h"
#include "tests/fuzz/readers.h"
#include "tools/test_files/test_file.h"

namespace relay::fuzz {
namespace {

constexpr size_t kMostBytes = 4000;

// The module without the functions that the one at `root` does not reach.
Module with_only(const Module& m, const FunctionGraph& graph, size_t root) {
  std::set<size_t> reached;
  std::vector<size_t> pending{root};
  while (!pending.empty()) {
    const size_t at = pending.back();
    pending.pop_back();
    if (!reached.insert(at).second) continue;
    pending.insert(pending.end(), graph.mentions[at].begin(), graph.mentions[at].end());
  }
  Module out = m;
  for (size_t i = 0; i < graph.names.size(); ++i) {
    if (!reached.contains(i)) out.remove_function(graph.names[i].text());
  }
  return out;
}

void add_functions(const std::string& text, std::set<std::string>& out) {
  Diagnostics diagnostics;
  const Result<Module> m = parse("seed.relay", text, diagnostics, op::operators(), {});
  if (!m || !passes::checked(*m, diagnostics)) return;
  const FunctionGraph graph = function_graph(*m);
  for (size_t i = 0; i < graph.names.size(); ++i) {
    const std::string one = op::text_of(with_only(*m, graph, i), {});
    if (one.size() <= kMostBytes) out.insert(one);
  }
}

}  // namespace

const Seeds& function_seeds() {
  static const Seeds seeds = [] {
    std::set<std::string> all;
    for (const char* folder : {"tests/exec", "tests/golden"}) {
      for (const std::string& path : tools::test_files_beneath(folder)) {
        const tools::TestFile file = tools::read_test_file(path);
        if (const std::string* input = file.find("input")) add_functions(*input, all);
      }
    }
    CHECK(!all.empty(), "the programs of the tests are not there");
    return Seeds(all.begin(), all.end());
  }();
  return seeds;
}

}  // namespace relay::fuzz
