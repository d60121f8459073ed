// The rules of this folder, as they are built into the program.
#include "base/cat.h"
#include "passes/rule_texts.inc"
#include "passes/rules/rule.h"

namespace relay::passes::rules {

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  const auto add = [&](std::string_view name, std::string_view text) {
    Diagnostics diagnostics;
    Result<std::vector<Rule>> some = read_rules(name, text, diagnostics);
    CHECK(some.ok(), cat("passes/rules/", name, " cannot be read:\n", diagnostics.render(SourceMap())));
    for (Rule& rule : *some) all.push_back(std::move(rule));
  };
  add("integers.rules", texts::kIntegers);
  add("booleans.rules", texts::kBooleans);
  add("comparisons.rules", texts::kComparisons);
  add("floats.rules", texts::kFloats);
  add("casts.rules", texts::kCasts);
  add("shapes.rules", texts::kShapes);
  add("slices.rules", texts::kSlices);
  add("networks.rules", texts::kNetworks);
  return all;
}

}  // namespace relay::passes::rules
