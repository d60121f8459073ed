#include "tests/support/lowered_programs.h"

#include <regex>
#include <set>

#include "driver/engines.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/expand_grad.h"

namespace relay::tests {
namespace {

std::set<std::string> called(const std::string& calls) {
  std::set<std::string> out;
  static const std::regex call("@([A-Za-z0-9_.]+)\\(");
  for (auto it = std::sregex_iterator(calls.begin(), calls.end(), call); it != std::sregex_iterator(); ++it)
    out.insert((*it)[1]);
  return out;
}

}  // namespace

void for_each_lowered(const tools::TestFile& file, const target::Target& target,
                      const std::function<void(const std::string& function, const Module& lowered)>& f) {
  const std::string *input = file.find("input"), *calls = file.find("calls");
  if (!input || !calls) return;
  Diagnostics diagnostics;
  const Result<Module> parsed = parse(file.path, *input, diagnostics, op::operators(), ParseOptions());
  const Result<Module> checked = parsed ? passes::checked(*parsed, diagnostics) : Result<Module>(kReported);
  if (!checked) return;
  for (const std::string& name : called(*calls)) {
    if (!checked->function(name)) continue;
    Diagnostics refused;
    const Result<Module> lowered = driver::optimise(*checked, name, {.target = target}, refused);
    if (lowered) f(name, *lowered);
  }
}

}  // namespace relay::tests
