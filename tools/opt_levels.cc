#include "tools/opt_levels.h"

#include <fmt/format.h>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "tools/median.h"

namespace relay::tools {
namespace {

double now(bool processor_time) {
  timespec t = {};
  clock_gettime(processor_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

std::vector<Level> time_levels(const std::vector<std::function<bool()>>& runs, int rounds, int warm_up,
                               bool processor_time) {
  std::vector<std::vector<double>> times(runs.size()), ratios(runs.size());
  for (int round = -warm_up; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]()) return {};
      if (round < 0) continue;
      const double begin = now(processor_time);
      if (!runs[i]()) return {};
      times[i].push_back(now(processor_time) - begin);
      ratios[i].push_back(i == 0 ? 1 : times[i].back() / times[i - 1].back());
    }
  }
  std::vector<Level> out;
  for (size_t i = 0; i < runs.size(); ++i)
    out.push_back({*std::min_element(times[i].begin(), times[i].end()), median(times[i]), median(ratios[i])});
  return out;
}

size_t first_slower(const std::vector<Level>& levels) {
  for (size_t i = 1; i < levels.size(); ++i) {
    if (levels[i].ratio > 1 + kLevelNoise) return i;
  }
  return 0;
}

std::string show(const std::vector<Level>& levels, bool processor_time) {
  std::string out = fmt::format("level {:>12} {:>12} {:>12}\n", "min ms", "median ms", "to the last");
  for (size_t i = 0; i < levels.size(); ++i) {
    out += fmt::format("-O{:<3} {:>12.3f} {:>12.3f} {:>12}\n", i, levels[i].least * 1e3,
                       levels[i].median * 1e3, i == 0 ? "-" : fmt::format("{:.3f}", levels[i].ratio));
  }
  out += processor_time ? "processor time of the one thread\n" : "time of the clock\n";
  const size_t slower = first_slower(levels);
  return out + (slower == 0 ? fmt::format("monotone: no level is more than {:.0f} % slower than the last\n",
                                          100 * kLevelNoise)
                            : fmt::format("not monotone: -O{} is {:.0f} % slower than -O{}\n", slower,
                                          100 * (levels[slower].ratio - 1), slower - 1));
}

nlohmann::ordered_json json(const std::vector<Level>& levels) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  j["levels"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < levels.size(); ++i) {
    j["levels"].push_back({{"opt_level", i},
                           {"min", levels[i].least},
                           {"median", levels[i].median},
                           {"ratio_to_last", levels[i].ratio}});
  }
  j["monotone"] = first_slower(levels) == 0;
  return j;
}

}  // namespace relay::tools
