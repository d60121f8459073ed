// Levels of optimisation against each other: is each at least as fast as the one before?
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace relay::tools {

struct Level {
  double least = 0, median = 0;  // seconds of a run
  double ratio = 1;              // by the level before: the median of the quotients of single rounds
};

// A level that is slower than the one before by more than this counts as slower, not as noise.
inline constexpr double kLevelNoise = 0.03;

// Runs every level in turn, so that whatever disturbs the machine for a while disturbs all of them;
// before each timed run the level runs once untimed, with its own data. Seconds are of the calling
// thread's processor time or of the clock. Empty as soon as a run gives false.
std::vector<Level> time_levels(const std::vector<std::function<bool()>>& runs, int rounds, int warm_up,
                               bool processor_time);

// The first level that is slower than the one before; 0 if none is.
size_t first_slower(const std::vector<Level>& levels);
std::string show(const std::vector<Level>& levels, bool processor_time);
nlohmann::ordered_json json(const std::vector<Level>& levels);

}  // namespace relay::tools
