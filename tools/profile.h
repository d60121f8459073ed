// Profile: where the time of runs goes, kernel by kernel, and how close each comes to what
// the machine can do.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "passes/plan_memory.h"
#include "target/target.h"
#include "tools/roofs.h"

namespace relay::tools {

// What a kernel, or everything, took in one run: the sum over its calls of each one's median.
struct ProfileRow {
  // "k3_nn_conv2d_add"; of its first call "conv1_out" and "1x64x56x56"; "nn.conv2d + add"
  std::string kernel, name, result, origin;
  size_t calls = 0;
  double seconds = 0;
  double flops = 0, bytes = 0;  // of all calls, counted from the kernel's own loops (kernel/count.h)
  double roof_seconds = 0;      // no machine of these roofs is faster; 0: they are not known
  bool by_memory = false;       // it is memory that limits it, not arithmetic
};

class Profile {
 public:
  // The plan must outlive it. `names`: of its steps (tools/steps.h). Without roofs, shares of
  // them are left out.
  Profile(const passes::Plan& plan, std::vector<std::string> names, const Roofs* roofs,
          const target::Target& target, unsigned threads);

  void begin_run();
  // A step of the run ended just now.
  void step(const passes::PlanStep& s, double seconds);
  void end_run();

  std::vector<ProfileRow> rows() const;  // the longest first
  ProfileRow total() const;
  double run_seconds() const;  // the median of whole runs, with what passes between kernels

  // A table of so many columns and at most so many kernels; the rest is summed up in a row.
  std::string table(size_t width, size_t most_rows) const;
  nlohmann::ordered_json json() const;
  // Every step of every run, for chrome://tracing and ui.perfetto.dev.
  nlohmann::ordered_json trace() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Event {
    size_t step;
    double begin, seconds;  // since the first run began
  };
  struct StepCost {
    double flops = 0, bytes = 0, roof_seconds = 0;
    bool by_memory = false;
  };
  StepCost cost_of(const passes::PlanStep& s, const Roofs* roofs, const target::Target& target,
                   unsigned threads) const;
  std::string kernel_of(const passes::PlanStep& s) const;
  double since_start() const;

  const passes::Plan& plan_;
  std::vector<std::string> names_;  // of steps
  bool has_roofs_;
  double constant_bytes_ = 0;
  std::vector<StepCost> costs_;               // by step
  std::vector<std::vector<double>> seconds_;  // by step, of each run
  std::vector<Event> events_, runs_;
  Clock::time_point start_ = {};
};

}  // namespace relay::tools
