#include "tools/ablation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace relay::tools {
namespace {

passes::Pipeline level(int opt_level) {
  return passes::default_pipeline(opt_level, target::target_of("cpu:avx2"));
}

TEST(Ablation, EachPassThatMayBeLeftOutIsLeftOutOnce) {
  const std::vector<Ablation> all = ablations(level(2), level(0), [](std::string_view) { return true; });
  for (const Ablation& a : all) {
    const auto same = [&](const Ablation& b) { return b.pass == a.pass; };
    EXPECT_EQ(std::count_if(all.begin(), all.end(), same), 1) << a.pass;
    const auto is_it = [&](const passes::Step& s) { return s.pass->name == a.pass; };
    if (a.pass == "fuse") {
      const auto fuse = std::find_if(a.steps.begin(), a.steps.end(), is_it);
      ASSERT_NE(fuse, a.steps.end());
      EXPECT_EQ(fuse->values.at("max-ops"), 1);
    } else {
      EXPECT_TRUE(std::none_of(a.steps.begin(), a.steps.end(), is_it)) << a.pass;
      EXPECT_LT(a.steps.size(), level(2).size()) << a.pass;
    }
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const Ablation& a) { return a.pass == name; });
  };
  EXPECT_TRUE(has("fuse") && has("simplify") && has("block-channels"));
  EXPECT_FALSE(has("lower") || has("expand-operators")) << "-O0 cannot do without them";
}

TEST(Ablation, WhatChangesNothingIsNotLeftOut) {
  const std::vector<Ablation> some =
      ablations(level(2), level(0), [](std::string_view pass) { return pass == "inline"; });
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].pass, "inline");
}

TEST(Ablation, SharesAreOfTheGain) {
  Contributions c{{"", 1.0, 3}, {"", 3.0, 9}, {}};
  c.without.push_back({"inline", 1.5, 4});
  c.without.push_back({"fuse", 2.0, 7});
  c.without.push_back({"dead-code", 0, 0, "it has a branch"});
  EXPECT_DOUBLE_EQ(c.share(c.without[0]), 0.25);
  const std::string text = show(c);
  EXPECT_LT(text.find("without fuse"), text.find("without inline")) << text;
  EXPECT_NE(text.find("50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("cannot run: it has a branch"), std::string::npos) << text;
  const nlohmann::json j = json(c);
  EXPECT_EQ(j["without"][1]["share_of_gain"], 0.5);
  EXPECT_EQ(j["without"][2]["refused"], "it has a branch");
  c.least.median = 0.5;  // nothing was gained
  EXPECT_EQ(c.share(c.without[0]), 0);
}

}  // namespace
}  // namespace relay::tools
