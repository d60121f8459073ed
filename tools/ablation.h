// What each pass of a level contributes: the program runs with all of them, and without each one.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"

namespace relay::tools {

// A pipeline of which one pass is left out.
struct Ablation {
  std::string_view pass;
  passes::Pipeline steps;
};

// One for each pass that `steps` has and `least`, the pipeline of -O0, has not, in the order in
// which the passes come first. `fuse` is in both: without it, each operator is a kernel of its own.
// Those for which `changed` is false make no difference, and have none.
std::vector<Ablation> ablations(const passes::Pipeline& steps, const passes::Pipeline& least,
                                const std::function<bool(std::string_view pass)>& changed);

// A pipeline whose runs were timed. Not timed: the program cannot run after it, and
// `refused` says why.
struct Timed {
  std::string name;   // of what was left out
  double median = 0;  // seconds of a run
  size_t kernels = 0;
  std::string refused = {};
};

// What a level gains over -O0, and what of it goes without each pass. Passes that need each other
// have the same part of the gain each, so the shares may sum up to more than the whole.
struct Contributions {
  Timed all, least;  // with all passes of the level, and at -O0
  std::vector<Timed> without;

  // Of the gain; 0 if there is none.
  double share(const Timed& without_one) const;
};

std::string show(const Contributions& c);
nlohmann::ordered_json json(const Contributions& c);

}  // namespace relay::tools
