#include "tools/ablation.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace relay::tools {
namespace {

bool contains(const passes::Pipeline& steps, const passes::Pass* pass) {
  return std::any_of(steps.begin(), steps.end(), [&](const passes::Step& s) { return s.pass == pass; });
}

passes::Pipeline without(passes::Pipeline steps, const passes::Pass* pass) {
  if (pass == &passes::kFuse) {
    for (passes::Step& s : steps) {
      if (s.pass == pass) s.values["max-ops"] = 1;
    }
  } else {
    std::erase_if(steps, [&](const passes::Step& s) { return s.pass == pass; });
  }
  return steps;
}

}  // namespace

std::vector<Ablation> ablations(const passes::Pipeline& steps, const passes::Pipeline& least,
                                const std::function<bool(std::string_view pass)>& changed) {
  std::vector<Ablation> out;
  for (const passes::Step& step : steps) {
    const passes::Pass* pass = step.pass;
    const bool is_needed = contains(least, pass) && pass != &passes::kFuse;
    const auto is_it = [&](const Ablation& a) { return a.pass == pass->name; };
    if (is_needed || std::any_of(out.begin(), out.end(), is_it) || !changed(pass->name)) continue;
    out.push_back({pass->name, without(steps, pass)});
  }
  return out;
}

double Contributions::share(const Timed& without_one) const {
  const double gain = least.median - all.median;
  return gain > 0 ? (without_one.median - all.median) / gain : 0;
}

std::string show(const Contributions& c) {
  std::string out =
      fmt::format("{:<34} {:>12} {:>8} {:>14}\n", "passes", "median ms", "kernels", "of the gain");
  const auto row = [&](const std::string& name, const Timed& t, const std::string& share) {
    out += fmt::format("{:<34} {:>12.3f} {:>8} {:>14}\n", name, t.median * 1e3, t.kernels, share);
  };
  row("all", c.all, "");
  row("-O0", c.least, "");
  std::vector<const Timed*> sorted;
  for (const Timed& t : c.without) sorted.push_back(&t);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Timed* a, const Timed* b) { return a->median > b->median; });
  for (const Timed* t : sorted) {
    if (t->refused.empty()) row("without " + t->name, *t, fmt::format("{:.1f} %", 100 * c.share(*t)));
  }
  for (const Timed* t : sorted) {
    if (!t->refused.empty())
      out += fmt::format("{:<34} the program cannot run: {}\n", "without " + t->name, t->refused);
  }
  return out + "passes that need each other count in each: the shares need not sum up to 100 %\n";
}

nlohmann::ordered_json json(const Contributions& c) {
  nlohmann::ordered_json j = {{"all", {{"median", c.all.median}, {"kernels", c.all.kernels}}},
                              {"O0", {{"median", c.least.median}, {"kernels", c.least.kernels}}},
                              {"without", nlohmann::ordered_json::array()}};
  for (const Timed& t : c.without) {
    nlohmann::ordered_json row = {{"pass", t.name}};
    if (t.refused.empty()) {
      row.update({{"median", t.median}, {"kernels", t.kernels}, {"share_of_gain", c.share(t)}});
    } else {
      row["refused"] = t.refused;
    }
    j["without"].push_back(std::move(row));
  }
  return j;
}

}  // namespace relay::tools
