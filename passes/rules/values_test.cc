#include "passes/rules/values.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace relay::passes::rules {
namespace {

// Of conditions, tests/rules holds the same.
TEST(Values, EachIsUsedByARule) {
  const std::vector<Rule> rules = all_rules();
  std::set<std::string_view> used;
  for (const Rule& rule : rules) {
    std::vector<const Template*> pending{&rule.right};
    while (!pending.empty()) {
      const Template& t = *pending.back();
      pending.pop_back();
      for (const Template& child : t.children) pending.push_back(&child);
      for (const NewAttribute& a : t.attrs) {
        if (const auto* use = std::get_if<Use>(&a.value)) used.insert(use->name);
      }
    }
  }
  for (const Value& v : all_values()) EXPECT_TRUE(used.contains(v.name)) << v.name;
}

}  // namespace
}  // namespace relay::passes::rules
